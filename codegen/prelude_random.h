// Prelude: the random numbers of base/philox.h, bit for bit.
#pragma once

#include <stdint.h>

typedef struct {
  uint32_t a, b, c, d;
} pl_philox_t;

/// Philox4x32-10 of a counter and a key.
static inline pl_philox_t pl_philox(pl_philox_t x, uint32_t key0, uint32_t key1) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = (uint64_t)0xD2511F53u * x.a, p1 = (uint64_t)0xCD9E8D57u * x.c;
    x.a = (uint32_t)(p1 >> 32) ^ x.b ^ key0;
    x.c = (uint32_t)(p0 >> 32) ^ x.d ^ key1;
    x.b = (uint32_t)p1;
    x.d = (uint32_t)p0;
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return x;
}

/// random_bits: a draw is identified by seed, step, stream and element.
static inline pl_philox_t pl_random_bits(uint64_t seed, uint64_t step, uint32_t stream,
                                         uint64_t element) {
  const pl_philox_t counter = {(uint32_t)element, (uint32_t)(element >> 32), stream,
                               (uint32_t)step};
  return pl_philox(counter, (uint32_t)seed,
                   (uint32_t)((seed >> 32) ^ (step >> 32) * (uint64_t)0x9E3779B9u));
}

/// Uniform in [0, 1), 24 bits.
static inline float pl_uniform(uint64_t seed, uint64_t step, uint32_t stream, uint64_t element) {
  const uint32_t top = pl_random_bits(seed, step, stream, element).a >> 8;
  return (float)(int32_t)top * 0x1p-24f;
}

/// Standard normal, Box-Muller in double with libm's log and cos.
static inline double pl_normal(uint64_t seed, uint64_t step, uint32_t stream, uint64_t element) {
  const pl_philox_t bits = pl_random_bits(seed, step, stream, element);
  const double radius = __builtin_sqrt(-2.0 * __builtin_log((bits.a + 1.0) * 0x1p-32));
  return radius * __builtin_cos(2.0 * 3.141592653589793 * (bits.b * 0x1p-32));
}
