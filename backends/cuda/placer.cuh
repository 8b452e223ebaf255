// Places elements in a layout, by their width.
// Words: to, from, the first element's number, how many; sizes; steps in the layout, elements.

typedef unsigned long long pl_word;
template <int K> struct pl_words { pl_word v[K]; };
template <class T> __device__ __forceinline__ void pl_place(const pl_words<20>& w) {
  T* const to = (T*)w.v[0];
  const T* const from = (const T*)w.v[1];
  const pl_word count = w.v[3], stride = (pl_word)gridDim.x * blockDim.x;
  for (pl_word i = (pl_word)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride) {
    pl_word rest = w.v[2] + i, at = 0;
    for (int d = 7; d >= 0; --d) {
      at += rest % w.v[4 + d] * w.v[12 + d];
      rest /= w.v[4 + d];
    }
    to[at] = from[i];
  }
}
extern "C" __global__ void pl_place_1(const pl_words<20> w) { pl_place<unsigned char>(w); }
extern "C" __global__ void pl_place_2(const pl_words<20> w) { pl_place<unsigned short>(w); }
extern "C" __global__ void pl_place_4(const pl_words<20> w) { pl_place<unsigned>(w); }
extern "C" __global__ void pl_place_8(const pl_words<20> w) { pl_place<pl_word>(w); }
