// The tile of products in registers, for any way M to multiply vectors: MR rows by NV vectors of
// columns. Rows of a are read by broadcast with any two steps, b from a panel of NR columns per
// step of k.
#pragma once

#include "backends/cpu/contract/ahead.h"
#include "backends/cpu/contract/kernels.h"
#include "backends/cpu/contract/unrolled.h"

namespace plait::cpu {
namespace {

/// Vectors V of f32, one step of k at a time.
template <class V>
struct Singles {
  using Vec = V;
  using Element = float;
  static constexpr int kDepth = 1;
  static typename V::Reg column(const float* b) { return V::load(b); }
  static typename V::Reg value(const float* a) { return V::broadcast(a); }
  static typename V::Reg multiply(typename V::Reg a, typename V::Reg b, typename V::Reg sum) {
    return V::fma(a, b, sum);
  }
};

/// Vectors V of pairs of 16-bit elements, two steps of k at a time.
template <class V>
struct Pairs {
  using Vec = V;
  using Element = std::uint16_t;
  static constexpr int kDepth = 2;
  static typename V::Pair column(const std::uint16_t* b) { return V::load_pairs(b); }
  static typename V::Pair value(const std::uint16_t* a) { return V::broadcast_pair(a); }
  static typename V::Reg multiply(typename V::Pair a, typename V::Pair b, typename V::Reg sum) {
    return V::dot(a, b, sum);
  }
};

template <class M, int MR, int NV, int NR>
void micro(std::int64_t k, const typename M::Element* a, std::int64_t row_step, std::int64_t k_step,
           const typename M::Element* b, float* c, std::int64_t ldc, bool add) {
  using V = typename M::Vec;
  using Reg = typename V::Reg;
  constexpr int kGroup = 3;  // rows per pointer: the others are its multiples of one step away
  constexpr int kPointers = (MR + kGroup - 1) / kGroup;
  Reg acc[MR][NV];
  each<MR * NV>([&](auto i) __attribute__((always_inline)) { acc[i / NV][i % NV] = V::zero(); });
  const typename M::Element* rows[kPointers];
  each<kPointers>([&](auto p)
                      __attribute__((always_inline)) { rows[p] = a + p * kGroup * row_step; });
  for (; k > 0; k -= M::kDepth) {
    decltype(M::column(b)) column[NV];
    each<NV>([&](auto j) __attribute__((always_inline)) {
      column[j] = M::column(b + j * V::kLanes * M::kDepth);
    });
    each<MR>([&](auto r) __attribute__((always_inline)) {
      const auto value = M::value(rows[r / kGroup] + (r % kGroup) * row_step);
      each<NV>([&](auto j) __attribute__((always_inline)) {
        acc[r][j] = M::multiply(value, column[j], acc[r][j]);
      });
    });
    each<kPointers>([&](auto p) __attribute__((always_inline)) { rows[p] += M::kDepth * k_step; });
    b += NR * M::kDepth;
  }
  if (add) {
    each<MR * NV>([&](auto i) __attribute__((always_inline)) {
      constexpr int r = i / NV, j = i % NV;
      acc[r][j] = V::add(V::load(c + r * ldc + j * V::kLanes), acc[r][j]);
    });
  }
  each<MR * NV>([&](auto i) __attribute__((always_inline)) {
    V::store(c + (i / NV) * ldc + (i % NV) * V::kLanes, acc[i / NV][i % NV]);
  });
}

template <class M>
using Micro = void (*)(std::int64_t k, const typename M::Element* a, std::int64_t row_step,
                       std::int64_t k_step, const typename M::Element* b, float* c,
                       std::int64_t ldc, bool add);

/// Every height up to MR and every width up to NV, so that no edge falls back to a slow loop.
template <class M, int MR, int NV>
struct MicroTable {
  Micro<M> of[MR][NV];
  template <int R, int J>
  constexpr void fill() {
    of[R - 1][J - 1] = &micro<M, R, J, NV * M::Vec::kLanes>;
    if constexpr (J > 1) {
      fill<R, J - 1>();
    } else if constexpr (R > 1) {
      fill<R - 1, NV>();
    }
  }
  constexpr MicroTable() : of{} { fill<MR, NV>(); }
};

/// The part of a block that one call of the micro-kernel makes.
template <class M, int MR, int NV>
[[gnu::always_inline]] inline void tile(const BlockArgs& args, std::int64_t row, int height,
                                        std::int64_t col) {
  using V = typename M::Vec;
  using Element = typename M::Element;
  static constexpr MicroTable<M, MR, NV> table{};
  constexpr int kNr = NV * V::kLanes;
  const std::int64_t width = args.cols - col < kNr ? args.cols - col : kNr;
  const int vectors = static_cast<int>((width + V::kLanes - 1) / V::kLanes);
  const Micro<M> kernel = table.of[height - 1][vectors - 1];
  const Element* a = static_cast<const Element*>(args.a) + row * args.row_step;
  const Element* b = static_cast<const Element*>(args.b) + col / kNr * args.panel_step;
  float* c = args.c + row * args.ldc + col;
  if (args.padded || width == vectors * V::kLanes) {
    kernel(args.k, a, args.row_step, args.k_step, b, c, args.ldc, args.add);
    return;
  }
  float edge[MR * kNr];
  kernel(args.k, a, args.row_step, args.k_step, b, edge, kNr, false);
  for (int r = 0; r < height; ++r) {
    for (std::int64_t j = 0; j < width; ++j) {
      float& to = c[r * args.ldc + j];
      to = args.add ? to + edge[r * kNr + j] : edge[r * kNr + j];
    }
  }
}

/// One block: the rows of a in equal parts of at most MR, by the panels of b. A few panels stay in
/// the nearest cache while the rows stream past; otherwise the rows pass each panel in turn.
template <class M, int MR, int NV>
void block(const BlockArgs& args) {
  constexpr int kNr = NV * M::Vec::kLanes;
  const std::int64_t parts = (args.rows + MR - 1) / MR;
  const std::int64_t panels = (args.cols + kNr - 1) / kNr;
  const bool rows_outside = panels <= 2;
  AheadWalk ahead(args.next, parts * panels);
  for (std::int64_t i = 0; i < parts * panels; ++i) {
    const std::int64_t part = rows_outside ? i / panels : i % parts;
    const std::int64_t panel = rows_outside ? i % panels : i / parts;
    const std::int64_t row = part * args.rows / parts;
    const int height = static_cast<int>((part + 1) * args.rows / parts - row);
    ahead.some();
    tile<M, MR, NV>(args, row, height, panel * kNr);
  }
}

template <class M, int MR, int NV>
constexpr TileShape shape_of() {
  return {MR, NV * M::Vec::kLanes, &block<M, MR, NV>};
}

}  // namespace
}  // namespace plait::cpu
