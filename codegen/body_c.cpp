// What the statements of a kernel in C read and write.
#include "codegen/body_c.h"

#include <algorithm>

#include "base/at.h"
#include "base/text.h"
#include "loop/statements.h"
#include "loop/sum_blocks.h"

namespace plait::codegen {
namespace {

using loop::KernelOperand;
using loop::Let;
using loop::Level;
using loop::Reduce;

// Steps of an inner loop, of an open kernel, that stand in its text.
constexpr std::int64_t kShort = 32;

/// What a guard of the row lets through, without a branch in the loop (gcc does not vectorise a
/// choice by a condition that stays the same): masked bits, with those of the other value put in.
std::string chosen_text(DType held, const std::string& loaded, const std::string& key) {
  if (held == DType::f64) {
    return str("pl_from_bits_d((pl_bits_d(", loaded, ") & m", key, ") | r", key, ")");
  }
  if (is_float(held)) {
    return str("pl_from_bits_f((pl_bits_f(", loaded, ") & m", key, ") | r", key, ")");
  }
  return str("((", loaded, " & m", key, ") | r", key, ")");
}

}  // namespace

Body::Body(const loop::Kernel& kernel, Parameters& parameters, int first_buffer)
    : Statements(kernel, parameters, {.index_type = "int64_t", .hides_guards = true}, first_buffer),
      kept_of_(kernel.lets.size(), -1),
      column_of_(kernel.lets.size(), -1) {
  int columns = 0;
  for (std::size_t i = 0; i < k_.lets.size(); ++i) {
    if (k_.lets[i].kept) kept_of_[i] = kept_++;
    if (k_.lets[i].column) column_of_[i] = columns++;
  }
  for (const loop::KernelIndex& x : k_.inner) {
    // A short loop is not left open: it would be one of single steps.
    const bool is_short = k_.open && x.extent.is_const() && x.extent.value() <= kShort;
    extents_.push_back(is_short ? str(x.extent.value()) : n_.text(x.extent));
  }
}

std::vector<Dim> Body::column_sizes() const {
  std::vector<Dim> sizes;
  for (const Let& let : k_.lets) {
    if (!let.column) continue;
    const Dim size = let.level == Level::kInner ? inner_count(k_) : Dim(1);
    sizes.push_back(loop::is_blocked_column(k_, let) ? size * Dim(2) : size);
  }
  return sizes;
}

Dim Body::most_columns() const {
  Dim most = 0;
  for (const Let& let : k_.lets) {
    if (let.column) most = max(most, let.level == Level::kInner ? inner_count(k_) : Dim(1));
  }
  return most;
}

/// The number of the inner point, counted over all inner indices.
std::string Body::inner_number() const {
  std::string text = "0";
  for (std::size_t i = 0; i < k_.inner.size(); ++i) {
    const std::string name = index_name(k_.inner[i].symbol);
    text = i == 0 ? name : str("(", text, ") * ", extents_[i], " + ", name);
  }
  return text;
}

/// Whether an element is read only for some of the inner indices. No pointer is set up for it: at
/// the others it may lead out of the buffer.
bool Body::is_partial(const KernelOperand& o) const { return !o.guards.empty() && !is_hoisted(o); }

/// An operand in the inner loop whose guards hold or fail for the whole row, so that the loop has
/// no branch. A load then reads from the buffer's start where they fail.
bool Body::is_hoisted(const KernelOperand& o) const {
  if (o.guards.empty()) return false;
  for (const loop::Guard& g : o.guards) {
    for (const Dim* d : {&g.index, &g.lo, &g.hi}) {
      if (level_of(k_, *d) == Level::kInner) return false;
    }
  }
  if (o.kind == KernelOperand::kLet) return k_.lets[at(o.let)].level == Level::kInner;
  if (o.kind != KernelOperand::kLoad) return false;
  if (level_of(k_, o.load.offset) != Level::kInner) return false;
  DimBindings none;
  for (const loop::KernelIndex& x : k_.inner) {
    const loop::Linear l = loop::coefficient_of(o.load.offset, x.symbol);
    if (!l.is_linear || l.coefficient.lo() < 0) return false;
    none.emplace(x.symbol, Dim(0));
  }
  return level_of(k_, o.load.offset.substitute(none)) != Level::kInner;
}

std::string Body::kept_text(int let) const {
  return str("s", kept_of_[at(let)], "[", inner_number(), "]");
}

std::string Body::operand_text(int i, int j, bool inside) {
  const Let& let = k_.lets[at(i)];
  const KernelOperand& o = let.operands[at(j)];
  const std::string key = str(i, "_", j);
  std::string text = tile_;
  if (o.kind == KernelOperand::kLet) {
    const Let& from = k_.lets[at(o.let)];
    text = from.kept && from.stage != let.stage ? kept_text(o.let) : str("v", o.let);
  } else if (o.kind == KernelOperand::kLoad) {
    text =
        loaded_text(dtype_of(o), inside && !is_partial(o) ? placed_element(o.load, "q" + key)
                                                          : element(o.load.buffer, o.load.offset));
  }
  if (!inside || let.level != Level::kInner || !is_hoisted(o)) return guarded_text(o, text);
  return all_hold_ ? text : chosen_text(dtype_of(o), text, key);
}

void Body::column_step(Lines& out, int i, const std::string& term) {
  const Let& let = k_.lets[at(i)];
  const std::string slot =
      str("c", column_of_[at(i)], "[", let.level == Level::kInner ? inner_number() : "0", "]");
  out.add(str(slot, " = ", combined_text(let.reduce, let.compute, slot, term), ";"));
}

void Body::stores(Lines& out, int stage, Level level) {
  for (std::size_t j = 0; j < k_.stores.size(); ++j) {
    const loop::KernelStore& s = k_.stores[j];
    if (is_column_store(k_, s) || store_level(k_, s) != level) continue;
    if (level != Level::kCall && store_stage(k_, s) != stage) continue;
    store(out, s, placed_element({s.buffer, s.offset}, str("z", j)));
  }
}

}  // namespace plait::codegen
