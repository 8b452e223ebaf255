// What every hand kernel begins with: places of elements and of threads. Given before it: T, W,
// widen and narrow (parts.cpp).
template <class P>
__device__ __forceinline__ P* at(pl_word address) {
  return (P*)address;
}

/// number = quotient * by + rest, for numbers that are not negative.
struct Parted {
  int64_t quotient, rest;
};
__device__ __forceinline__ Parted part(int64_t number, int64_t by) {
  if ((((pl_word)number | (pl_word)by) >> 32) == 0) {
    const unsigned quotient = (unsigned)number / (unsigned)by;
    return {(int64_t)quotient, (int64_t)((unsigned)number - quotient * (unsigned)by)};
  }
  const int64_t quotient = number / by;
  return {quotient, number - quotient * by};
}

/// The thread's number in the whole launch.
__device__ __forceinline__ int64_t item() {
  return (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
}
