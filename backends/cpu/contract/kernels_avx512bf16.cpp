// The contraction kernels for AVX-512 with products of bf16 (BF16); the code is in micro.h.
#include "backends/cpu/contract/half_kernels.h"
#include "backends/cpu/contract/micro.h"
#include "backends/cpu/contract/vec_avx512.h"

namespace plait::cpu {
namespace {

struct DotVec : Vec {
  using Pair = __m512bh;
  static Pair load_pairs(const std::uint16_t* p) {
    return reinterpret_cast<Pair>(_mm512_loadu_si512(p));
  }
  static Pair broadcast_pair(const std::uint16_t* p) {
    int both;
    __builtin_memcpy(&both, p, sizeof both);
    return reinterpret_cast<Pair>(_mm512_set1_epi32(both));
  }
  static Reg dot(Pair a, Pair b, Reg sum) { return _mm512_dpbf16_ps(sum, a, b); }
};

}  // namespace

const Kernels& avx512bf16_kernels() {
  static constexpr TileShape shapes[] = {shape_of<Pairs<DotVec>, 14, 2>(),
                                         shape_of<Pairs<DotVec>, 8, 3>(),
                                         shape_of<Pairs<DotVec>, 6, 4>()};
  static constexpr Kernels kernels =
      half_kernels<DotVec>(shapes, static_cast<int>(sizeof shapes / sizeof shapes[0]));
  return kernels;
}

}  // namespace plait::cpu
