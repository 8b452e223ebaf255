// The inner points of a kernel in CUDA C++: vectors, their lanes, stores.
#include <algorithm>

#include "base/at.h"
#include "codegen/cuda/body.h"

namespace plait::codegen::cuda {
namespace {

using loop::KernelOperand;
using loop::Let;
using loop::Level;

/// Bytes of loads that a thread may hold before it computes.
constexpr int kSplitBytes = 128, kBatchBytes = 256;

}  // namespace

/// Where a thread has vectors of several rows: what depends on columns alone.
void Body::find_fixed() {
  fixed_.assign(k_.lets.size(), false);
  for (std::size_t i = 0; i < k_.lets.size() && s_.down && lanes_ == s_.lanes; ++i) {
    const Let& let = k_.lets[i];
    if (let.level != Level::kInner || !let.index.empty()) continue;
    bool is_fixed = std::none_of(k_.stores.begin(), k_.stores.end(),
                                 [&](const auto& s) { return at(s.let) == i; });
    for (const loop::Tape::Step& s : loop::flatten(let.body).steps) {
      is_fixed &= s.op != loop::ScalarOp::kIndex;
    }
    for (std::size_t j = 0; j < let.operands.size(); ++j) {
      const KernelOperand& o = let.operands[j];
      if (o.kind == KernelOperand::kLet) {
        is_fixed &= fixed_[at(o.let)] || k_.lets[at(o.let)].level == Level::kCall;
      } else if (o.kind == KernelOperand::kLoad) {
        is_fixed &= reads_[0][at(read_of_[i][j])].reach == Read::kVector && is_known(o) &&
                    !mentions_rows(k_, o.load.offset);
      }
      is_fixed &= o.guards.empty();
    }
    fixed_[i] = is_fixed;
  }
}

void Body::fixed(Lines& out, const Walk& walk) {
  if (std::count(fixed_.begin(), fixed_.end(), true) == 0) return;
  for (std::size_t i = 0; i < k_.lets.size(); ++i) {
    if (!fixed_[i]) continue;
    out.add(str(register_type(k_.lets[i].dtype), " v", i, "[", lanes_, "];"));
  }
  out.open("");
  walk.still(out);
  std::vector<bool> needed(reads_[0].size(), false);
  for (std::size_t i = 0; i < k_.lets.size(); ++i) {
    for (int read : read_of_[i]) {
      if (fixed_[i] && read >= 0) needed[at(read)] = true;
    }
  }
  for (std::size_t r = 0; r < needed.size(); ++r) {
    if (needed[r]) vector_load(out, 0, r, false);
  }
  open_lanes(out);
  for (std::size_t i = 0; i < k_.lets.size(); ++i) {
    if (fixed_[i]) let(out, static_cast<int>(i));
  }
  out.close();
  out.close();
}

bool Body::has_inner_stores(int stage) const {
  return std::any_of(k_.stores.begin(), k_.stores.end(),
                     [&](const loop::KernelStore& s) { return is_inner_store(s, stage); });
}

bool Body::is_vector_store(const loop::KernelStore& s) const {
  return lanes_ > 1 && is_vector(k_, s.offset, lanes_);
}

/// Whether a store takes floats and makes halves of them, two at a time.
bool Body::is_packed(const loop::KernelStore& s) const {
  const Let& let = k_.lets[at(s.let)];
  return k_.buffers[at(s.buffer)].dtype == DType::bf16 && let.dtype == DType::bf16 &&
         let.reduce == loop::Reduce::kNone && let.level == Level::kInner &&
         store_level(k_, s) == Level::kInner && is_vector_store(s);
}

/// Arrays for what a stage stores, of one vector or of `steps` of them.
void Body::rooms(Lines& out, int stage, int steps) {
  for (std::size_t j = 0; j < k_.stores.size(); ++j) {
    const loop::KernelStore& s = k_.stores[j];
    if (!is_inner_store(s, stage)) continue;
    const DType dtype = k_.buffers[at(s.buffer)].dtype;
    out.add(str("alignas(16) ", is_packed(s) ? "float" : memory_type(dtype), " z", j,
                steps > 0 ? str("[", steps, "]") : "", "[", lanes_, "];"));
  }
}

void Body::open_lanes(Lines& out) {
  if (lanes_ > 1) {
    out.add("#pragma unroll");
    out.open(str("for (int l_ = 0; l_ < ", lanes_, "; ++l_)"));
    out.add(str("const ", dialect_.index_type, " ", index_name(k_.inner.back().symbol),
                " = first_ + l_;"));
  } else {
    out.open("");
  }
}

/// Every lane of a vector; what it stores goes into an array first.
void Body::lanes(Lines& out, int stage) {
  if (!late_) rooms(out, stage, 0);
  open_lanes(out);
  for (std::size_t i = 0; i < k_.lets.size(); ++i) {
    const Let& l = k_.lets[i];
    if (l.stage == stage && l.level == Level::kInner && !fixed_[i]) let(out, static_cast<int>(i));
  }
  for (std::size_t j = 0; j < k_.stores.size(); ++j) {
    const loop::KernelStore& s = k_.stores[j];
    if (!is_inner_store(s, stage)) continue;
    const std::string value = str("v", s.let);
    const std::string held =
        is_packed(s) ? value : stored_text(k_.buffers[at(s.buffer)].dtype, value);
    out.add(str("z", j, late_ ? "[c_]" : "", "[", lane(), "] = ", held, ";"));
  }
  out.close();
}

void Body::stores(Lines& out, int stage, const std::string& live) {
  if (!has_inner_stores(stage)) return;
  if (!live.empty()) out.open(str("if (", live, ")"));
  for (std::size_t j = 0; j < k_.stores.size(); ++j) {
    const loop::KernelStore& s = k_.stores[j];
    if (!is_inner_store(s, stage)) continue;
    if (is_vector_store(s)) {
      const char* const move = !is_packed(s)                  ? "pl_move<"
                               : rounded_by_store_[at(s.let)] ? "pl_put_bf16<"
                                                              : "pl_put_exact_bf16<";
      out.add(str(move, lanes_, ">(b", s.buffer, " + ", index_text(s.offset, n_), ", z", j,
                  late_ ? "[c_]" : "", ");"));
      continue;
    }
    if (lanes_ > 1) {
      out.add("#pragma unroll");
      out.open(str("for (int l_ = 0; l_ < ", lanes_, "; ++l_)"));
      out.add(str("const ", dialect_.index_type, " ", index_name(k_.inner.back().symbol),
                  " = first_ + l_;"));
    }
    out.add(str(element(s.buffer, s.offset), " = z", j, late_ ? "[c_]" : "", "[", lane(), "];"));
    if (lanes_ > 1) out.close();
  }
  if (!live.empty()) out.close();
}

/// The vectors of all steps, or the loop over them where they are not written out.
void Body::steps(Lines& out, const Walk& walk, const std::function<void()>& inside) {
  if (walk.steps > 0) {
    out.add("#pragma unroll");
    out.open(str("for (int c_ = 0; c_ < ", walk.steps, "; ++c_)"));
  }
  int braces = walk.open(out);
  inside();
  while (braces-- > 0) out.close();
  if (walk.steps > 0) out.close();
}

void Body::inner(Lines& out, int stage, const Walk& walk, const std::string& live) {
  if (!has_inner(k_, stage)) return;
  // Stores may touch what a later vector loads, for all the compiler knows: loads come first.
  const int bytes = vector_bytes(stage) * walk.steps;
  const bool early = fetched_[at(stage)];
  const int most = walk.batched ? kBatchBytes : has_inner_stores(stage) ? kSplitBytes : 0;
  if (walk.down) fixed(out, walk);
  split_ = early || walk.down || (walk.steps > 1 && bytes > 0 && bytes <= most);
  late_ = walk.down;
  if (split_ && !early) batch(out, stage, walk);
  if (late_) rooms(out, stage, walk.steps);
  steps(out, walk, [&] {
    if (!split_) vector_loads(out, stage, false);
    sent_loads(out, stage);
    if (walk.also) walk.also(out);
    once_loads(out, stage);
    lanes(out, stage);
    if (!late_) stores(out, stage, live);
  });
  if (late_) steps(out, walk, [&] { stores(out, stage, live); });
  split_ = late_ = false;
}

void Body::point(Lines& out, const std::string& call_once, const std::string& row_once) {
  call(out, call_once);
  row(out, 0, row_once);
  once_loads(out, 0);
  vector_loads(out, 0, false);
  lanes(out, 0);
  stores(out, 0, "");
}

}  // namespace plait::codegen::cuda
