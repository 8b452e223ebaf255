// A contraction as it is defined: terms outside of the image are left out. The engine's kernels
// multiply a zero there instead, which is the same but for what is not finite: infinity times zero
// is NaN. Such results are rare, and computed again from here, term by term.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/cpu/contract/walk.h"

namespace plait::cpu {

class Definition {
 public:
  Definition(const Problem& problem, const Kernels& kernels);

  /// Results [m0, m1) x [n0, n1) of one batch index, (m, n) at
  /// tile[(m - m0) * m_step + (n - n0) * n_step].
  struct Tile {
    std::int64_t batch, m0, m1, n0, n1;
    float* at;
    std::int64_t m_step, n_step;
  };
  /// Puts in the place of each NaN what the definition gives, which may be NaN: where some terms
  /// are outside of the image, or everywhere.
  void mend_border(const Tile& tile, const void* a, const void* b) const;
  void mend_all(const Tile& tile, const void* a, const void* b) const;

 private:
  /// Neighbours m that all have terms outside of the image, of one period.
  struct Run {
    std::int64_t begin, end;
  };
  void find_border(const Problem& problem);
  void mend_rows(const Tile& tile, std::int64_t m0, std::int64_t m1, const void* a,
                 const void* b) const;
  float sum_of(std::int64_t batch, std::int64_t m, std::int64_t n, const void* a,
               const void* b) const;

  const Kernels& kernels_;
  DType dtype_;
  bool guarded_;
  std::int64_t height_, width_;
  Point origin_{0, 0, 0};  // of A
  std::int64_t b0_;
  Walk a_batch_, a_m_, a_k_, b_batch_, b_n_, b_k_;
  std::int64_t period_ = 1;  // of m, after which the image is another one
  std::vector<Run> border_;  // ascending
};

}  // namespace plait::cpu
