// Addresses in a kernel's inner loop in C: pointers that do not move but for its own indices, what
// keeps them inside of their buffers, and what is fetched ahead.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "base/at.h"
#include "base/text.h"
#include "codegen/body_c.h"
#include "loop/unroll.h"

namespace plait::codegen {
namespace {

using loop::KernelOperand;
using loop::Let;
using loop::Level;

/// The mask and the other value's bits, once per row.
std::string mask_text(DType held, double otherwise, const std::string& key) {
  const std::string other = other_text(held, otherwise);
  if (held == DType::f64) {
    return str("const uint64_t m", key, " = -(uint64_t)h", key, ", r", key, " = ~m", key,
               " & pl_bits_d(", other, ");");
  }
  if (is_float(held)) {
    return str("const uint32_t m", key, " = -(uint32_t)h", key, ", r", key, " = ~m", key,
               " & pl_bits_f(", other, ");");
  }
  const std::string type = register_type(held);
  return str("const ", type, " m", key, " = -(", type, ")h", key, ", r", key, " = ~m", key, " & ",
             other, ";");
}

}  // namespace

/// Guards of a stage's inner operands that hold or fail for a whole row, each once.
std::vector<std::string> Body::row_guards(int stage) {
  std::vector<std::string> out;
  for (const Let& let : k_.lets) {
    if (let.stage != stage || let.level != Level::kInner) continue;
    for (const KernelOperand& o : let.operands) {
      if (!is_hoisted(o)) continue;
      for (const loop::Guard& g : o.guards) {
        const std::string text = guard_text({g});
        if (text != "1" && std::find(out.begin(), out.end(), text) == out.end()) {
          out.push_back(text);
        }
      }
    }
  }
  return out;
}

/// An element through a pointer that was set up before the inner loop, where there is one.
std::string Body::placed_element(const loop::KernelLoad& load, const std::string& key) {
  const bool moves = level_of(k_, load.offset) == Level::kInner;
  const auto place = moves ? places_.find(key) : places_.end();
  if (place == places_.end()) return element(load.buffer, load.offset);
  Dim inside = place->second.distance;
  for (const loop::KernelIndex& x : k_.inner) {
    inside = inside + loop::coefficient_of(load.offset, x.symbol).coefficient *
                          Dim::symbol(x.symbol, 0, std::max<std::int64_t>(x.extent.hi() - 1, 0));
  }
  return str(place->second.pointer, "[", inside.is(0) ? "0" : index_text(inside, n_), "]");
}

/// The address of an element at the inner loop's origin; those not far from another's are counted
/// from that, so that the compiler sees how they lie to each other.
void Body::place(Lines& out, const loop::KernelLoad& load, const std::string& key, bool constant,
                 const std::string& when) {
  constexpr std::int64_t kNear = 8, kFar = 1 << 24;
  if (level_of(k_, load.offset) != Level::kInner) return;
  DimBindings none;
  for (const loop::KernelIndex& x : k_.inner) {
    if (!loop::coefficient_of(load.offset, x.symbol).is_linear) return;
    none.emplace(x.symbol, Dim(0));
  }
  const Dim base = load.offset.substitute(none);
  if (level_of(k_, base) == Level::kInner) return;
  for (const auto& [other, p] : places_) {
    const Dim distance = base - p.base;
    if (p.buffer != load.buffer || p.when != when || p.constant != constant) continue;
    if (p.distance != 0 || !distance.is_const()) continue;
    if (std::abs(distance.value()) >= (n_.is_fixed() ? kFar : kNear)) continue;
    places_[key] = {p.pointer, distance.value(), load.buffer, base, when, constant};
    return;
  }
  places_[key] = {key, 0, load.buffer, base, when, constant};
  const std::string at_base = index_text(base, n_);
  out.add(str(constant ? "const " : "", memory_type(k_.buffers[at(load.buffer)].dtype), "* const ",
              key, " = b", load.buffer + first_, " + ",
              when.empty() ? at_base : str("(", when, " ? ", at_base, " : 0)"), ";"));
}

/// Addresses that do not move in the inner loop but for its own index, and masks for what guards of
/// the row hold back.
void Body::pointers(Lines& out, int stage) {
  places_.clear();
  for (std::size_t i = 0; i < k_.lets.size(); ++i) {
    const Let& let = k_.lets[i];
    if (let.stage != stage || let.level != Level::kInner) continue;
    for (std::size_t j = 0; j < let.operands.size(); ++j) {
      const KernelOperand& o = let.operands[j];
      const bool is_load = o.kind == KernelOperand::kLoad;
      const std::string holds = is_hoisted(o) && !all_hold_ ? str("h", i, "_", j) : "";
      if (!holds.empty()) {
        out.add(str("const int ", holds, " = ", guard_text(o.guards), ";"));
        out.add(mask_text(dtype_of(o), o.otherwise, str(i, "_", j)));
      }
      if (is_load && !is_partial(o)) place(out, o.load, str("q", i, "_", j), true, holds);
    }
  }
  for (std::size_t j = 0; j < k_.stores.size(); ++j) {
    const loop::KernelStore& s = k_.stores[j];
    if (is_inner_store(s, stage)) place(out, {s.buffer, s.offset}, str("z", j), false, "");
  }
}

/// Rows that read windows of an image walk along too many streams for a processor to see what they
/// read next: it is asked for, a page ahead, where each operand's window ends.
void Body::prefetches(Lines& out, int stage) {
  constexpr std::int64_t kAhead = 4096, kLine = 64;
  if (k_.rows.empty() || k_.epilogue || !loop::reads_windows(k_)) return;
  std::map<int, Dim> last;
  for (const Let& let : k_.lets) {
    if (let.stage != stage || let.level != Level::kInner) continue;
    for (const KernelOperand& o : let.operands) {
      if (o.kind != KernelOperand::kLoad || k_.buffers[at(o.load.buffer)].written) continue;
      if (level_of(k_, o.load.offset) != Level::kInner) continue;
      const auto [it, fresh] = last.emplace(o.load.buffer, o.load.offset);
      if (!fresh && o.load.offset.hi() > it->second.hi()) it->second = o.load.offset;
    }
  }
  DimBindings none;
  for (const loop::KernelIndex& x : k_.inner) none.emplace(x.symbol, Dim(0));
  for (const auto& [buffer, offset] : last) {
    const loop::Linear step = loop::coefficient_of(offset, k_.rows.back().symbol);
    const Dim base = offset.substitute(none);
    if (!step.is_linear || step.coefficient.lo() <= 0) continue;
    if (level_of(k_, base) == Level::kInner) continue;
    const auto size = static_cast<std::int64_t>(size_of(k_.buffers[at(buffer)].dtype));
    out.add(str("for (int64_t ahead_ = ", kAhead / size, "; ahead_ < ", kAhead / size, " + ",
                n_.text(step.coefficient), "; ahead_ += ", kLine / size, ") __builtin_prefetch(b",
                buffer + first_, " + ", index_text(base, n_), " + ahead_);"));
  }
}

}  // namespace plait::codegen
