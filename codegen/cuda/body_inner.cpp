// The inner points of a kernel in CUDA C++: loads of whole vectors, their lanes, stores.
#include <algorithm>

#include "codegen/cuda/body.h"

namespace plait::codegen::cuda {
namespace {

using loop::KernelOperand;
using loop::Let;
using loop::Level;

/// Bytes of loads that a thread may hold before it computes, and over the stages before.
constexpr int kSplitBytes = 128, kBatchBytes = 256, kFetchBytes = 64;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

}  // namespace

Body::Read::Reach Body::reach_of(const KernelOperand& o) const {
  bool inner = loop::level_of(k_, o.load.offset) == Level::kInner;
  bool moves = false;  // with the lane, or by a value of it
  for (const loop::Guard& g : o.guards) {
    for (const Dim* d : {&g.index, &g.lo, &g.hi}) {
      inner |= loop::level_of(k_, *d) == Level::kInner;
      moves |= varies(k_, *d);
    }
  }
  if (!inner) return Read::kRow;
  if (moves) return Read::kLane;
  if (!k_.inner.empty() && is_vector(k_, o.load.offset, lanes_)) return Read::kVector;
  return varies(k_, o.load.offset) ? Read::kLane : Read::kOnce;
}

void Body::find_reads() {
  reads_.resize(at(k_.stages) + 1);
  fetched_.assign(at(k_.stages) + 1, false);
  for (std::size_t i = 0; i < k_.lets.size(); ++i) {
    const Let& let = k_.lets[i];
    read_of_.emplace_back(let.operands.size(), -1);
    if (let.level != Level::kInner) continue;
    std::vector<Read>& reads = reads_[at(let.stage)];
    for (std::size_t j = 0; j < let.operands.size(); ++j) {
      const KernelOperand& o = let.operands[j];
      if (o.kind != KernelOperand::kLoad) continue;
      std::string key = str(o.load.buffer, '@', o.load.offset.text());
      for (const loop::Guard& g : o.guards) {
        key += str('?', g.lo.text(), '<', g.index.text(), '<', g.hi.text());
      }
      if (!o.guards.empty()) key += str(':', o.otherwise);
      const auto it =
          std::find_if(reads.begin(), reads.end(), [&](const Read& r) { return r.key == key; });
      read_of_[i][j] = static_cast<int>(it - reads.begin());
      if (it == reads.end()) reads.push_back({reach_of(o), &o, key});
    }
  }
}

int Body::vector_bytes(int stage) const {
  std::size_t bytes = 0;
  for (const Read& r : reads_[at(stage)]) {
    if (r.reach != Read::kVector) continue;
    bytes += at(lanes_) * size_of(k_.buffers[at(r.operand->load.buffer)].dtype);
  }
  return static_cast<int>(bytes);
}

bool Body::has_inner_stores(int stage) const {
  return std::any_of(k_.stores.begin(), k_.stores.end(), [&](const loop::KernelStore& s) {
    return !k_.lets[at(s.let)].column && store_level(k_, s) == Level::kInner &&
           store_stage(k_, s) == stage;
  });
}

bool Body::is_vector_store(const loop::KernelStore& s) const {
  return lanes_ > 1 && is_vector(k_, s.offset, lanes_);
}

void Body::vector_loads(Lines& out, int stage, bool split) {
  for (std::size_t r = 0; r < reads_[at(stage)].size(); ++r) {
    const Read& read = reads_[at(stage)][r];
    if (read.reach != Read::kVector) continue;
    const KernelOperand& o = *read.operand;
    const std::string type = memory_type(k_.buffers[at(o.load.buffer)].dtype);
    const std::string place = str("b", o.load.buffer, " + ", index_text(o.load.offset, n_));
    if (!split) out.add(str("alignas(16) ", type, " q", stage, "_", r, "[", lanes_, "];"));
    if (!split && !o.guards.empty()) {
      out.add(str("const int g", stage, "_", r, " = ", guard_text(o.guards), ";"));
    }
    out.add(str(o.guards.empty() ? ""
                : split          ? str("if (", guard_text(o.guards), ") ")
                                 : str("if (g", stage, "_", r, ") "),
                "pl_move<", lanes_, ">(q", stage, "_", r, split ? "[c_]" : "", ", ", place, ");"));
  }
}

void Body::once_loads(Lines& out, int stage) {
  for (std::size_t r = 0; r < reads_[at(stage)].size(); ++r) {
    const Read& read = reads_[at(stage)][r];
    if (split_ && read.reach == Read::kVector && !read.operand->guards.empty()) {
      out.add(str("const int g", stage, "_", r, " = ", guard_text(read.operand->guards), ";"));
    }
    if (read.reach != Read::kOnce) continue;
    const KernelOperand& o = *read.operand;
    const DType held = k_.buffers[at(o.load.buffer)].dtype;
    out.add(str("const ", register_type(held), " h", stage, "_", r, " = ",
                guarded_text(o, loaded_text(held, buffer_text(o.load.buffer, o.load.offset))),
                ";"));
  }
}

/// Every lane of a vector; what it stores goes into an array first.
void Body::lanes(Lines& out, int stage) {
  for (std::size_t j = 0; j < k_.stores.size(); ++j) {
    const loop::KernelStore& s = k_.stores[j];
    if (k_.lets[at(s.let)].column || store_level(k_, s) != Level::kInner) continue;
    if (store_stage(k_, s) != stage) continue;
    out.add(str("alignas(16) ", memory_type(k_.buffers[at(s.buffer)].dtype), " z", j, "[", lanes_,
                "];"));
  }
  if (lanes_ > 1) {
    out.add("#pragma unroll");
    out.open(str("for (int l_ = 0; l_ < ", lanes_, "; ++l_)"));
    out.add(str("const ", type_, " ", index_name(k_.inner.back().symbol), " = first_ + l_;"));
  } else {
    out.open("");
  }
  for (std::size_t i = 0; i < k_.lets.size(); ++i) {
    const Let& l = k_.lets[i];
    if (l.stage == stage && l.level == Level::kInner) let(out, static_cast<int>(i));
  }
  for (std::size_t j = 0; j < k_.stores.size(); ++j) {
    const loop::KernelStore& s = k_.stores[j];
    if (k_.lets[at(s.let)].column || store_level(k_, s) != Level::kInner) continue;
    if (store_stage(k_, s) != stage) continue;
    const std::string held = stored_text(k_.buffers[at(s.buffer)].dtype, str("v", s.let));
    out.add(str("z", j, "[", lane(), "] = ", held, ";"));
  }
  out.close();
}

void Body::stores(Lines& out, int stage, const std::string& live) {
  if (!has_inner_stores(stage)) return;
  if (!live.empty()) out.open(str("if (", live, ")"));
  for (std::size_t j = 0; j < k_.stores.size(); ++j) {
    const loop::KernelStore& s = k_.stores[j];
    if (k_.lets[at(s.let)].column || store_level(k_, s) != Level::kInner) continue;
    if (store_stage(k_, s) != stage) continue;
    if (is_vector_store(s)) {
      out.add(str("pl_move<", lanes_, ">(b", s.buffer, " + ", index_text(s.offset, n_), ", z", j,
                  ");"));
      continue;
    }
    if (lanes_ > 1) {
      out.add("#pragma unroll");
      out.open(str("for (int l_ = 0; l_ < ", lanes_, "; ++l_)"));
      out.add(str("const ", type_, " ", index_name(k_.inner.back().symbol), " = first_ + l_;"));
    }
    out.add(str(buffer_text(s.buffer, s.offset), " = z", j, "[", lane(), "];"));
    if (lanes_ > 1) out.close();
  }
  if (!live.empty()) out.close();
}

/// Whether all vectors of a stage can be loaded before the first stage: what they are, and where,
/// is known then.
bool Body::is_early(int stage) const {
  const auto is_known = [&](const Dim& d) {
    return std::none_of(k_.lets.begin(), k_.lets.end(), [&](const Let& l) {
      return !l.index.empty() && l.level != Level::kCall && loop::mentions(d, l.index);
    });
  };
  for (const Read& r : reads_[at(stage)]) {
    if (r.reach != Read::kVector) continue;
    const KernelOperand& o = *r.operand;
    if (k_.buffers[at(o.load.buffer)].written || !is_known(o.load.offset)) return false;
    for (const loop::Guard& g : o.guards) {
      if (!is_known(g.index) || !is_known(g.lo) || !is_known(g.hi)) return false;
    }
  }
  return true;
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

void Body::batch(Lines& out, int stage, const Walk& walk) {
  for (std::size_t r = 0; r < reads_[at(stage)].size(); ++r) {
    const Read& read = reads_[at(stage)][r];
    if (read.reach != Read::kVector) continue;
    out.add(str("alignas(16) ", memory_type(k_.buffers[at(read.operand->load.buffer)].dtype), " q",
                stage, "_", r, "[", walk.steps, "][", lanes_, "];"));
  }
  steps(out, walk, [&] { vector_loads(out, stage, true); });
}

void Body::fetch(Lines& out, const Walk& walk) {
  int bytes = 0;
  for (int stage = 1; stage <= k_.stages && walk.steps > 0; ++stage) {
    const int more = vector_bytes(stage) * walk.steps;
    if (more == 0 || bytes + more > kFetchBytes || !is_early(stage)) continue;
    bytes += more;
    fetched_[at(stage)] = true;
    batch(out, stage, walk);
  }
}

void Body::inner(Lines& out, int stage, const Walk& walk, const std::string& live) {
  if (!has_inner(k_, stage)) return;
  // Stores may touch what a later vector loads, for all the compiler knows: loads come first.
  const int bytes = vector_bytes(stage) * walk.steps;
  const bool early = fetched_[at(stage)];
  const int most = walk.batched ? kBatchBytes : has_inner_stores(stage) ? kSplitBytes : 0;
  split_ = early || (walk.steps > 1 && bytes > 0 && bytes <= most);
  if (split_ && !early) batch(out, stage, walk);
  steps(out, walk, [&] {
    if (!split_) vector_loads(out, stage, false);
    if (walk.also) walk.also(out);
    once_loads(out, stage);
    lanes(out, stage);
    stores(out, stage, live);
  });
  split_ = false;
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
