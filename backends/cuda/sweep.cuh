// Reads more than the cache holds, all of it zeros: what was there before is gone.
// Words: the data, how many words it has.

extern "C" __global__ void __launch_bounds__(256) k_sweep(const pl_words<2> w) {
  pl_begin();
  pl_word* const data = (pl_word*)w.v[0];
  pl_word all = 0;
#pragma unroll 8
  for (pl_word i = blockIdx.x * 256 + threadIdx.x; i < w.v[1]; i += gridDim.x * 256) {
    all |= data[i];
  }
  if (all != 0) data[0] = all;  // never: they are zeros
}
