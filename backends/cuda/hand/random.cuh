// Random draws of base/philox.h, an element a thread, with the CPU's bits. Given before it: T, W,
// narrow (parts.cpp); NAME is the kernel's own.

// Words of all: key [2]: seed, step; out; elements; stream; two numbers.
__device__ __forceinline__ pl_philox_t draw(const pl_words<6>& w) {
  const int64_t* key = at<const int64_t>(w.v[0]);
  return pl_random_bits((uint64_t)key[0], (uint64_t)key[1], (uint32_t)w.v[3], (uint64_t)item());
}

#ifdef PL_OP_uniform
// The numbers: lo; hi - lo.
extern "C" __global__ void NAME(const pl_words<6> w) {
  if (item() >= (int64_t)w.v[2]) return;
  const double unit = (double)(int32_t)(draw(w).a >> 8) * 0x1p-24;
  const double low = pl_from_bits_d(w.v[4]), range = pl_from_bits_d(w.v[5]);
  at<T>(w.v[1])[item()] = narrow(low + range * unit);
}
#endif

#ifdef PL_OP_normal
// The numbers: mean; std. The cosine by quarters of the circle, each from -1/8 to 1/8 of a turn.
/// cos(2 pi x 2^-32).
__device__ __forceinline__ double cos_of_turn(uint32_t x) {
  const uint64_t wide = x, quarter = (wide + 0x20000000) >> 30;
  const double turn = ((double)(int64_t)wide - (double)(int64_t)(quarter << 30)) * 0x1p-32;
  const double t = turn * (2 * 3.141592653589793), q = t * t;
  double sine = -1.0 / 1307674368000;  // 1/15!, every other one down to 1/3!
  sine = sine * q + 1.0 / 6227020800;
  sine = sine * q - 1.0 / 39916800;
  sine = sine * q + 1.0 / 362880;
  sine = sine * q - 1.0 / 5040;
  sine = sine * q + 1.0 / 120;
  sine = sine * q - 1.0 / 6;
  sine = sine * q * t + t;
  double cosine = 1.0 / 20922789888000;  // 1/16!, every other one down to 1/2!
  cosine = cosine * q - 1.0 / 87178291200;
  cosine = cosine * q + 1.0 / 479001600;
  cosine = cosine * q - 1.0 / 3628800;
  cosine = cosine * q + 1.0 / 40320;
  cosine = cosine * q - 1.0 / 720;
  cosine = cosine * q + 1.0 / 24;
  cosine = cosine * q - 1.0 / 2;
  cosine = cosine * q + 1;
  // Quarters 0 to 3: cos, -sin, -cos, sin; 4 is 0 again.
  const double size = quarter & 1 ? sine : cosine;
  return ((quarter + 1) & 2) != 0 ? -size : size;
}

extern "C" __global__ void NAME(const pl_words<6> w) {
  if (item() >= (int64_t)w.v[2]) return;
  const pl_philox_t bits = draw(w);
  const double radius = pl_sqrt_d(-2 * pl_log_d(((double)bits.a + 1) * 0x1p-32));
  const double mean = pl_from_bits_d(w.v[4]), deviation = pl_from_bits_d(w.v[5]);
  at<T>(w.v[1])[item()] = narrow(mean + deviation * (radius * cos_of_turn(bits.b)));
}
#endif

#ifdef PL_OP_bernoulli
// The first number: below which of 2^24 it is true.
extern "C" __global__ void NAME(const pl_words<6> w) {
  if (item() >= (int64_t)w.v[2]) return;
  at<T>(w.v[1])[item()] = (draw(w).a >> 8) < (uint32_t)w.v[4];
}
#endif

#ifdef PL_OP_attention_keep
// Words: key; out; pairs; stream; below which of 2^16 a pair is dropped; queries; keys.
extern "C" __global__ void NAME(const pl_words<7> w) {
  if (item() >= (int64_t)w.v[2]) return;
  const int64_t* random = at<const int64_t>(w.v[0]);
  const uint64_t queries = w.v[5], keys = w.v[6];
  const uint64_t key = (uint64_t)item() % keys, row = (uint64_t)item() / keys;
  const uint64_t query = row % queries;
  const uint64_t tile = (row / queries * ((queries + 15) / 16) + query / 16) * ((keys + 15) / 16) + key / 16;
  const pl_philox_t bits = pl_random_bits((uint64_t)random[0], (uint64_t)random[1], (uint32_t)w.v[3],
                                          tile * 32 + query % 8 * 4 + key % 8 / 2);
  const uint32_t low = query / 8 % 2 ? bits.b : bits.a, high = query / 8 % 2 ? bits.d : bits.c;
  const uint32_t word = key / 8 % 2 ? high : low;
  at<T>(w.v[1])[item()] = (key % 2 ? word >> 16 : word & 0xffff) >= (uint32_t)w.v[4];
}
#endif
