// Prelude of CUDA units, first part: types, limits and the compiler's own functions under the names
// by which the prelude of codegen/ knows them. Where PL_EMULATED stands, the text is compiled for
// the CPU.
#pragma once

#ifdef PL_EMULATED
#include <stdint.h>
#else
#pragma nv_diag_suppress 177
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
#define INT64_C(x) x##LL
#define INT32_MAX 2147483647
#define INT64_MAX 9223372036854775807LL
#define INT64_MIN (-INT64_MAX - 1)

__device__ __forceinline__ void __builtin_memcpy(uint32_t* to, const float* from, uint64_t) {
  *to = __float_as_uint(*from);
}
__device__ __forceinline__ void __builtin_memcpy(float* to, const uint32_t* from, uint64_t) {
  *to = __uint_as_float(*from);
}
__device__ __forceinline__ void __builtin_memcpy(uint64_t* to, const double* from, uint64_t) {
  *to = (uint64_t)__double_as_longlong(*from);
}
__device__ __forceinline__ void __builtin_memcpy(double* to, const uint64_t* from, uint64_t) {
  *to = __longlong_as_double((int64_t)*from);
}
__device__ __forceinline__ float __builtin_inff() { return __uint_as_float(0x7f800000u); }
__device__ __forceinline__ float __builtin_nanf(const char*) {
  return __uint_as_float(0x7fc00000u);
}
__device__ __forceinline__ double __builtin_inf() {
  return __longlong_as_double(0x7ff0000000000000LL);
}
__device__ __forceinline__ double __builtin_nan(const char*) {
  return __longlong_as_double(0x7ff8000000000000LL);
}
__device__ __forceinline__ float __builtin_fabsf(float x) { return fabsf(x); }
__device__ __forceinline__ float __builtin_sqrtf(float x) { return __fsqrt_rn(x); }
__device__ __forceinline__ float __builtin_floorf(float x) { return floorf(x); }
__device__ __forceinline__ float __builtin_ceilf(float x) { return ceilf(x); }
__device__ __forceinline__ float __builtin_truncf(float x) { return truncf(x); }
__device__ __forceinline__ float __builtin_nearbyintf(float x) { return rintf(x); }
__device__ __forceinline__ float __builtin_fmodf(float a, float b) { return fmodf(a, b); }
__device__ __forceinline__ float __builtin_copysignf(float a, float b) {
  return __uint_as_float((__float_as_uint(a) & 0x7fffffffu) | (__float_as_uint(b) & 0x80000000u));
}
__device__ __forceinline__ double __builtin_fabs(double x) { return fabs(x); }
__device__ __forceinline__ double __builtin_sqrt(double x) { return __dsqrt_rn(x); }
__device__ __forceinline__ double __builtin_floor(double x) { return floor(x); }
__device__ __forceinline__ double __builtin_ceil(double x) { return ceil(x); }
__device__ __forceinline__ double __builtin_trunc(double x) { return trunc(x); }
__device__ __forceinline__ double __builtin_nearbyint(double x) { return rint(x); }
__device__ __forceinline__ double __builtin_rint(double x) { return rint(x); }
__device__ __forceinline__ double __builtin_fmod(double a, double b) { return fmod(a, b); }
__device__ __forceinline__ double __builtin_copysign(double a, double b) {
  return __longlong_as_double((__double_as_longlong(a) & INT64_MAX) |
                              (__double_as_longlong(b) & INT64_MIN));
}
__device__ __forceinline__ double __builtin_log(double x) { return log(x); }
__device__ __forceinline__ double __builtin_log1p(double x) { return log1p(x); }
__device__ __forceinline__ double __builtin_sinh(double x) { return sinh(x); }
__device__ __forceinline__ double __builtin_cosh(double x) { return cosh(x); }
__device__ __forceinline__ double __builtin_erf(double x) { return erf(x); }
__device__ __forceinline__ double __builtin_erfc(double x) { return erfc(x); }
__device__ __forceinline__ double __builtin_sin(double x) { return sin(x); }
__device__ __forceinline__ double __builtin_cos(double x) { return cos(x); }
__device__ __forceinline__ double __builtin_tan(double x) { return tan(x); }
__device__ __forceinline__ double __builtin_asin(double x) { return asin(x); }
__device__ __forceinline__ double __builtin_acos(double x) { return acos(x); }
__device__ __forceinline__ double __builtin_atan(double x) { return atan(x); }
__device__ __forceinline__ double __builtin_pow(double a, double b) { return pow(a, b); }
__device__ __forceinline__ double __builtin_atan2(double a, double b) { return atan2(a, b); }
#endif

/// An argument of a kernel, and all of them.
typedef unsigned long long pl_word;
template <int K>
struct pl_words {
  pl_word v[K];
};

/// Halves have instructions here, and so have limits: what the prelude of codegen/ makes of them
/// steps aside.
#define pl_exp_f pl_plain_exp_f
#define pl_f16_to_f pl_plain_f16_to_f
#define pl_f_to_f16 pl_plain_f_to_f16
#define pl_f_to_bf16 pl_plain_f_to_bf16
#define pl_round_f16 pl_plain_round_f16
#define pl_round_bf16 pl_plain_round_bf16
