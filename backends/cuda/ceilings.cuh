// A copy, and a fill with halves and floats of moderate size, whichever way they are read. A block
// of 256 threads does 1024 lines of 16 bytes.

extern "C" __global__ void plait_ceiling_copy(const pl_words<2> w) {
  typedef pl_piece<16>::type line;
  const int64_t first = (int64_t)blockIdx.x * 4 * blockDim.x + threadIdx.x;
  const line* const from = (const line*)w.v[0] + first;
  line* const to = (line*)w.v[1] + first;
  const line a = from[0], b = from[256], c = from[512], d = from[768];
  to[0] = a;
  to[256] = b;
  to[512] = c;
  to[768] = d;
}
extern "C" __global__ void plait_ceiling_fill(const pl_words<1> w) {
  uint32_t* const to = (uint32_t*)w.v[0];
  for (int i = 0; i < 16; ++i) {
    const int64_t at = ((int64_t)blockIdx.x * 16 + i) * blockDim.x + threadIdx.x;
    uint32_t draw = (uint32_t)at * 2654435761u + 12345u;
    draw = (draw ^ (draw >> 15)) * 2246822519u;
    to[at] = (draw & 0x83ff83ffu) | 0x38003800u;
  }
}
