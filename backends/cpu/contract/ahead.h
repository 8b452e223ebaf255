// Asking for what the next block reads while this one is multiplied, a few lines at a time.
#pragma once

#include "backends/cpu/contract/kernels.h"

namespace plait::cpu {
namespace {

class AheadWalk {
 public:
  /// `calls` of some() cover everything.
  AheadWalk(const Ahead& ahead, std::int64_t calls)
      : row_(static_cast<const char*>(ahead.at)),
        rows_(ahead.rows),
        row_bytes_(ahead.row_bytes),
        lines_(ahead.lines),
        each_(calls > 0 ? (ahead.rows * ahead.lines + calls - 1) / calls : 0) {}

  [[gnu::always_inline]] void some() {
    for (std::int64_t i = 0; i < each_ && rows_ > 0; ++i) {
      __builtin_prefetch(row_ + line_ * 64, 0, 2);
      if (++line_ < lines_) continue;
      line_ = 0;
      --rows_;
      row_ += row_bytes_;
    }
  }

 private:
  const char* row_;
  std::int64_t rows_, row_bytes_, lines_, each_, line_ = 0;
};

}  // namespace
}  // namespace plait::cpu
