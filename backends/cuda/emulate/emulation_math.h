// Functions that CUDA C++ has without an include, for text that a C++ compiler takes: see
// emulation.h. Each rounds as the device's does; those that do not are not here.
#pragma once

extern "C" {
float sqrtf(float);
float fabsf(float);
float floorf(float);
float ceilf(float);
float truncf(float);
float rintf(float);
float roundf(float);
float fminf(float, float);
float fmaxf(float, float);
float fmodf(float, float);
float copysignf(float, float);
float fmaf(float, float, float);
float ldexpf(float, int);
double sqrt(double);
double fabs(double);
double floor(double);
double ceil(double);
double trunc(double);
double rint(double);
double round(double);
double fmin(double, double);
double fmax(double, double);
double fmod(double, double);
double copysign(double, double);
double fma(double, double, double);
double ldexp(double, int);
void* memcpy(void*, const void*, __SIZE_TYPE__);
void* memset(void*, int, __SIZE_TYPE__);
}

template <class To, class From>
static inline To pl_same_bits(From value) {
  static_assert(sizeof(To) == sizeof(From), "sizes differ");
  To out;
  __builtin_memcpy(&out, &value, sizeof(To));
  return out;
}

static inline int __float_as_int(float x) { return pl_same_bits<int>(x); }
static inline unsigned __float_as_uint(float x) { return pl_same_bits<unsigned>(x); }
static inline float __int_as_float(int x) { return pl_same_bits<float>(x); }
static inline float __uint_as_float(unsigned x) { return pl_same_bits<float>(x); }
static inline long long __double_as_longlong(double x) { return pl_same_bits<long long>(x); }
static inline double __longlong_as_double(long long x) { return pl_same_bits<double>(x); }

static inline float __fadd_rn(float a, float b) { return a + b; }
static inline float __fsub_rn(float a, float b) { return a - b; }
static inline float __fmul_rn(float a, float b) { return a * b; }
static inline float __fdiv_rn(float a, float b) { return a / b; }
static inline float __fsqrt_rn(float a) { return sqrtf(a); }
static inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
static inline double __dadd_rn(double a, double b) { return a + b; }
static inline double __dmul_rn(double a, double b) { return a * b; }
static inline double __ddiv_rn(double a, double b) { return a / b; }
static inline double __dsqrt_rn(double a) { return sqrt(a); }
static inline double __fma_rn(double a, double b, double c) { return fma(a, b, c); }

static inline int __float2int_rn(float x) { return (int)rintf(x); }
static inline int __float2int_rz(float x) { return (int)x; }
static inline float __int2float_rn(int x) { return (float)x; }
static inline float __double2float_rn(double x) { return (float)x; }

static inline bool isnan(float x) { return __builtin_isnan(x); }
static inline bool isnan(double x) { return __builtin_isnan(x); }
static inline bool isinf(float x) { return __builtin_isinf(x); }
static inline bool isinf(double x) { return __builtin_isinf(x); }
static inline bool signbit(float x) { return __builtin_signbit(x); }
static inline bool signbit(double x) { return __builtin_signbit(x); }

static inline unsigned __umulhi(unsigned a, unsigned b) {
  return (unsigned)(((unsigned long long)a * b) >> 32);
}
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned long long)(((unsigned __int128)a * b) >> 64);
}
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz((unsigned)x); }
static inline int __clzll(long long x) {
  return x == 0 ? 64 : __builtin_clzll((unsigned long long)x);
}
static inline int __ffs(int x) { return __builtin_ffs(x); }

static inline int min(int a, int b) { return a < b ? a : b; }
static inline int max(int a, int b) { return a > b ? a : b; }
static inline unsigned min(unsigned a, unsigned b) { return a < b ? a : b; }
static inline unsigned max(unsigned a, unsigned b) { return a > b ? a : b; }
static inline long min(long a, long b) { return a < b ? a : b; }
static inline long max(long a, long b) { return a > b ? a : b; }
static inline long long min(long long a, long long b) { return a < b ? a : b; }
static inline long long max(long long a, long long b) { return a > b ? a : b; }
static inline unsigned long long min(unsigned long long a, unsigned long long b) {
  return a < b ? a : b;
}
static inline unsigned long long max(unsigned long long a, unsigned long long b) {
  return a > b ? a : b;
}
static inline float min(float a, float b) { return fminf(a, b); }
static inline float max(float a, float b) { return fmaxf(a, b); }
static inline double min(double a, double b) { return fmin(a, b); }
static inline double max(double a, double b) { return fmax(a, b); }

// One thread at a time: nothing comes between.
static inline int atomicAdd(int* to, int value) {
  const int old = *to;
  *to = old + value;
  return old;
}
static inline unsigned atomicAdd(unsigned* to, unsigned value) {
  const unsigned old = *to;
  *to = old + value;
  return old;
}
static inline int atomicOr(int* to, int value) {
  const int old = *to;
  *to = old | value;
  return old;
}
static inline unsigned atomicOr(unsigned* to, unsigned value) {
  const unsigned old = *to;
  *to = old | value;
  return old;
}
static inline void __threadfence() {}
static inline void __threadfence_block() {}

template <class T>
static inline T __ldg(const T* at) {
  return *at;
}
template <class T>
static inline T __ldcs(const T* at) {
  return *at;
}
template <class T>
static inline void __stcs(T* at, T value) {
  *at = value;
}

struct __attribute__((aligned(8))) float2 {
  float x, y;
};
struct __attribute__((aligned(16))) float4 {
  float x, y, z, w;
};
struct __attribute__((aligned(16))) double2 {
  double x, y;
};
struct __attribute__((aligned(8))) int2 {
  int x, y;
};
struct __attribute__((aligned(16))) int4 {
  int x, y, z, w;
};
struct __attribute__((aligned(8))) uint2 {
  unsigned x, y;
};
struct __attribute__((aligned(16))) uint4 {
  unsigned x, y, z, w;
};
static inline float2 make_float2(float x, float y) { return {x, y}; }
static inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
static inline double2 make_double2(double x, double y) { return {x, y}; }
static inline int2 make_int2(int x, int y) { return {x, y}; }
static inline int4 make_int4(int x, int y, int z, int w) { return {x, y, z, w}; }
static inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
static inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) {
  return {x, y, z, w};
}
