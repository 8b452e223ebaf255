// The peak of one thread's 512-bit fma units.
#include <immintrin.h>

#include "bench/contract_lab.h"

namespace plait::lab {

double peak_avx512() {
  constexpr int kSteps = 50'000;
  const __m512 factor = _mm512_set1_ps(0.999f), term = _mm512_set1_ps(1e-3f);
  __m512 a = _mm512_set1_ps(1), b = _mm512_set1_ps(2), c = _mm512_set1_ps(3);
  __m512 d = _mm512_set1_ps(4), e = _mm512_set1_ps(5), f = _mm512_set1_ps(6);
  __m512 g = _mm512_set1_ps(7), h = _mm512_set1_ps(8), i = _mm512_set1_ps(9);
  __m512 j = _mm512_set1_ps(10);
  const double start = thread_seconds();
  for (int step = 0; step < kSteps; ++step) {  // ten chains hide the latency
    a = _mm512_fmadd_ps(a, factor, term);
    b = _mm512_fmadd_ps(b, factor, term);
    c = _mm512_fmadd_ps(c, factor, term);
    d = _mm512_fmadd_ps(d, factor, term);
    e = _mm512_fmadd_ps(e, factor, term);
    f = _mm512_fmadd_ps(f, factor, term);
    g = _mm512_fmadd_ps(g, factor, term);
    h = _mm512_fmadd_ps(h, factor, term);
    i = _mm512_fmadd_ps(i, factor, term);
    j = _mm512_fmadd_ps(j, factor, term);
  }
  const double seconds = thread_seconds() - start;
  float kept[16];
  _mm512_storeu_ps(kept, a + b + c + d + e + f + g + h + i + j);
  volatile float keep = kept[0];
  (void)keep;
  return 2.0 * 16 * 10 * kSteps / seconds;
}

}  // namespace plait::lab
