// Attention's passes for AVX-512 with conversions to bf16 (BF16).
#include "backends/cpu/hand/attention_avx512.h"

namespace plait::cpu {
namespace {

struct Lanes : WideLanes {
  static void narrow_bf16(std::uint16_t* p, Reg r) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p),
                        reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(r)));
  }
  static void store_words(std::uint16_t* p, Reg low, Reg high) {
    const __m512i both = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low));
    const __m512i order =
        _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                         21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    _mm512_storeu_si512(p, _mm512_permutexvar_epi16(order, both));
  }
};

}  // namespace

const AttentionLanes& attention_lanes_avx512bf16() { return kAttentionLanes<Lanes>; }

}  // namespace plait::cpu
