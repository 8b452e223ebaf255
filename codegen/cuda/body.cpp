// What the statements of a kernel in CUDA C++ read and write, and when.
#include "codegen/cuda/body.h"

#include <algorithm>

#include "base/at.h"
#include "base/error.h"

namespace plait::codegen::cuda {
namespace {

using loop::KernelOperand;
using loop::Let;
using loop::Level;
using loop::Reduce;

}  // namespace

Dialect dialect_of(const Schedule& schedule) {
  return {.index_type = schedule.wide ? "int64_t" : "int", .any_zero = true};
}

Body::Body(const loop::Kernel& kernel, const Schedule& schedule, int lanes, Parameters& parameters,
           std::string tile)
    : Statements(kernel, parameters, dialect_of(schedule), 0), s_(schedule), lanes_(lanes) {
  tile_ = std::move(tile);
  find_reads();
  find_fixed();
  find_rounded();
}

/// Halves that go to memory in vectors, and nowhere else, are rounded on the way.
void Body::find_rounded() {
  rounded_by_store_.assign(k_.lets.size(), false);
  for (const loop::KernelStore& s : k_.stores) {
    const Let& let = k_.lets[at(s.let)];
    rounded_by_store_[at(s.let)] = is_packed(s) && let.dtype == DType::bf16 && !let.kept &&
                                   let.compute == DType::f32 && !as_is_[at(s.let)];
  }
  for (const loop::KernelStore& s : k_.stores) {
    if (!is_packed(s)) rounded_by_store_[at(s.let)] = false;
  }
  for (const Let& let : k_.lets) {
    for (const KernelOperand& o : let.operands) {
      if (o.kind == KernelOperand::kLet) rounded_by_store_[at(o.let)] = false;
    }
  }
  for (std::size_t i = 0; i < k_.lets.size(); ++i) as_is_[i] |= rounded_by_store_[i];
}

std::string Body::load_text(const KernelOperand& o) {
  const std::string loaded = loaded_text(dtype_of(o), element(o.load.buffer, o.load.offset));
  return guarded_text(o, loaded, rowless_ ? "live_" : "");
}

std::string Body::read_text(int stage, int number) {
  const Read& read = reads_[at(stage)][at(number)];
  const std::string name = str(stage, "_", number);
  const KernelOperand& o = *read.operand;
  const DType held = k_.buffers[at(o.load.buffer)].dtype;
  if (read.reach == Read::kRow || read.reach == Read::kOnce) return "h" + name;
  if (read.reach == Read::kLane) {
    return load_text(o);
  }
  const std::string vector = str("q", name, split_ && read.place < 0 ? "[c_]" : "");
  const std::string loaded = held == DType::bf16 && lanes_ > 1
                                 ? str("pl_lane_bf16(", vector, ", l_)")
                                 : loaded_text(held, str(vector, "[", lane(), "]"));
  if (o.guards.empty() || is_filled(read)) return loaded;
  return str("(g", name, " ? ", loaded, " : ", other_text(held, o.otherwise), ")");
}

std::string Body::kept_text(int let) const {
  int number = 0;
  for (int i = 0; i < let; ++i) number += k_.lets[at(i)].kept;
  if (s_.kept == Schedule::kRegisters) return str("k", number, "[c_][", lane(), "]");
  const std::string place = lanes_ == 1 ? "v_" : str("l_ * vectors_ + v_");
  return s_.by_columns ? str("k", number, "[(", place, ") * ", s_.rows, "]")
                       : str("k", number, "[", place, "]");
}

std::string Body::operand_text(int i, int j, bool inside) {
  const Let& let = k_.lets[at(i)];
  const KernelOperand& o = let.operands[at(j)];
  if (o.kind == KernelOperand::kLoad) {
    const int read = inside ? read_of_[at(i)][at(j)] : -1;
    return read < 0 ? load_text(o) : read_text(let.stage, read);
  }
  if (o.kind != KernelOperand::kLet) return guarded_text(o, tile_);
  const Let& from = k_.lets[at(o.let)];
  const std::string value = str("v", o.let);
  return guarded_text(o, from.kept && from.stage != let.stage ? kept_text(o.let)
                         : fixed_[at(o.let)]                  ? str(value, "[", lane(), "]")
                                                              : value);
}

std::string Body::value_text(int let) const {
  return fixed_[at(let)] ? str("v", let, "[", lane(), "]") : Statements::value_text(let);
}

void Body::column_step(Lines& out, int i, const std::string& term) {
  const Let& let = k_.lets[at(i)];
  std::string place = str("r", i);
  if (let.level == Level::kInner) {
    place = s_.accumulators > 0 ? str("c", i, s_.whole_rows ? "[c_][" : "[0][", lane(), "]")
                                : str("m", i, "[v_ * ", lanes_, " + ", lane(), "]");
  }
  const std::string next = combined_text(let.reduce, let.compute, place, term);
  out.add(str(s_.whole_rows && !s_.even ? "if (live_) " : "", place, " = ", next, ";"));
}

void Body::call(Lines& out, const std::string& once) {
  for (std::size_t i = 0; i < k_.lets.size(); ++i) {
    if (k_.lets[i].level == Level::kCall) let(out, static_cast<int>(i));
  }
  for (const loop::KernelStore& s : k_.stores) {
    if (is_column_store(k_, s) || store_level(k_, s) != Level::kCall) continue;
    store(out, s, element(s.buffer, s.offset), str("if (", once, ") "));
  }
}

void Body::declare_kept(Lines& out) {
  if (s_.kept != Schedule::kRegisters) return;
  int number = 0;
  for (const Let& let : k_.lets) {
    if (!let.kept) continue;
    out.add(str(register_type(let.dtype), " k", number++, "[", s_.steps, "][", lanes_, "];"));
  }
}

void Body::row(Lines& out, int stage, const std::string& once) {
  for (int i : sums(stage - 1)) finish(out, i, str("a", i));
  for (std::size_t i = 0; i < k_.lets.size(); ++i) {
    const Let& l = k_.lets[i];
    if (l.stage == stage && l.level == Level::kRow && !l.column) let(out, static_cast<int>(i));
  }
  row_stores(out, stage, once);
  for (std::size_t r = 0; r < reads_[at(stage)].size(); ++r) {
    const Read& read = reads_[at(stage)][r];
    if (read.reach != Read::kRow) continue;
    const KernelOperand& o = *read.operand;
    const DType held = k_.buffers[at(o.load.buffer)].dtype;
    out.add(str("const ", register_type(held), " h", stage, "_", r, " = ", load_text(o), ";"));
  }
}

/// One thread of the row stores. Where the element may lie where the row's threads have just read,
/// they all have to have read it.
void Body::row_stores(Lines& out, int stage, const std::string& once) {
  for (const loop::KernelStore& s : k_.stores) {
    if (is_column_store(k_, s) || store_level(k_, s) != Level::kRow) continue;
    if (store_stage(k_, s) != stage) continue;
    const bool meets = std::any_of(k_.lets.begin(), k_.lets.end(), [&](const Let& l) {
      return std::any_of(l.operands.begin(), l.operands.end(), [&](const KernelOperand& o) {
        return o.kind == KernelOperand::kLoad && o.load.offset == s.offset &&
               size_of(k_.buffers[at(o.load.buffer)].dtype) ==
                   size_of(k_.buffers[at(s.buffer)].dtype);
      });
    });
    if (meets && s_.along > 1) row_barrier(out, s_);
    store(out, s, element(s.buffer, s.offset), str("if (", once, ") "));
  }
}

void Body::row_columns(Lines& out, int stage, const std::string& live) {
  for (std::size_t i = 0; i < k_.lets.size(); ++i) {
    const Let& l = k_.lets[i];
    if (!l.column || l.level != Level::kRow || l.stage != stage) continue;
    out.open(live.empty() ? "" : str("if (", live, ")"));
    let(out, static_cast<int>(i));
    out.close();
  }
}

void Body::declare_sums(Lines& out, int stage) {
  for (int i : sums(stage)) {
    const Let& l = k_.lets[at(i)];
    out.add(str(register_type(l.compute), " a", i, " = ", identity_text(l.reduce, l.compute), ";"));
  }
}

bool Body::loads_stored(int stage) const {
  for (const Let& let : k_.lets) {
    if (let.stage != stage) continue;
    for (const KernelOperand& o : let.operands) {
      if (o.kind != KernelOperand::kLoad) continue;
      for (const loop::KernelStore& s : k_.stores) {
        if (s.buffer == o.load.buffer && store_stage(k_, s) < stage) return true;
      }
    }
  }
  return false;
}

}  // namespace plait::codegen::cuda
