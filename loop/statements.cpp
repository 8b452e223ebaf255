// Questions about a kernel's statements.
#include "loop/statements.h"

#include <algorithm>

#include "base/at.h"

namespace plait::loop {

Level store_level(const Kernel& k, const KernelStore& s) {
  const Let& let = k.lets[at(s.let)];
  const Level known = let.reduce == Reduce::kNone ? let.level : Level::kRow;
  return std::max({known, level_of(k, s.offset), let.stage > 0 ? Level::kRow : Level::kCall});
}

int store_stage(const Kernel& k, const KernelStore& s) {
  const Let& let = k.lets[at(s.let)];
  return let.reduce == Reduce::kNone ? let.stage : let.stage + 1;
}

bool is_column_store(const Kernel& k, const KernelStore& s) { return k.lets[at(s.let)].column; }

bool has_inner(const Kernel& k, int stage) {
  for (const Let& let : k.lets) {
    if (let.stage == stage && let.level == Level::kInner) return true;
  }
  return std::any_of(k.stores.begin(), k.stores.end(), [&](const KernelStore& s) {
    return !is_column_store(k, s) && store_level(k, s) == Level::kInner &&
           store_stage(k, s) == stage;
  });
}

bool rounds_first(const Kernel& epilogue, DType dtype) {
  for (const Let& let : epilogue.lets) {
    for (const KernelOperand& o : let.operands) {
      if (o.kind != KernelOperand::kTile) continue;
      const std::vector<Tape::Step> steps = flatten(let.body).steps;
      const bool plain = steps.size() == 1 && steps[0].op == ScalarOp::kLoad;
      if (!plain || let.dtype != dtype || let.reduce != Reduce::kNone) return false;
    }
  }
  return true;
}

int kept_count(const Kernel& k) {
  return static_cast<int>(
      std::count_if(k.lets.begin(), k.lets.end(), [](const Let& l) { return l.kept; }));
}

}  // namespace plait::loop
