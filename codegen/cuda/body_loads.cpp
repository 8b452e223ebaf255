// The loads of a kernel's inner points in CUDA C++: what they reach, and when they happen: where
// they are needed, before a stage, or in shared memory while rows before theirs are computed.
#include <algorithm>
#include <cmath>

#include "base/at.h"
#include "codegen/cuda/body.h"

namespace plait::codegen::cuda {
namespace {

using loop::KernelOperand;
using loop::Let;
using loop::Level;

/// Bytes of loads that a thread may hold over the stages before theirs.
constexpr int kFetchBytes = 64;

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
      if (it == reads.end()) reads.push_back({reach_of(o), &o, key, -1});
    }
  }
}

int Body::read_bytes(const Read& r) const {
  return lanes_ * static_cast<int>(size_of(k_.buffers[at(r.operand->load.buffer)].dtype));
}

int Body::vector_bytes(int stage) const {
  int bytes = 0;
  for (const Read& r : reads_[at(stage)]) {
    if (r.reach == Read::kVector && r.place < 0) bytes += read_bytes(r);
  }
  return bytes;
}

/// Whether what is loaded, and where, is known before the first stage.
bool Body::is_known(const KernelOperand& o) const {
  const auto is_loaded = [&](const Dim& d) {
    return std::any_of(k_.lets.begin(), k_.lets.end(), [&](const Let& l) {
      return !l.index.empty() && l.level != Level::kCall && loop::mentions(d, l.index);
    });
  };
  if (k_.buffers[at(o.load.buffer)].written || is_loaded(o.load.offset)) return false;
  return std::none_of(o.guards.begin(), o.guards.end(), [&](const loop::Guard& g) {
    return is_loaded(g.index) || is_loaded(g.lo) || is_loaded(g.hi);
  });
}

/// Whether all vectors of a stage can be loaded before the first one.
bool Body::is_early(int stage) const {
  const std::vector<Read>& reads = reads_[at(stage)];
  return std::all_of(reads.begin(), reads.end(), [&](const Read& r) {
    return r.reach != Read::kVector || is_known(*r.operand);
  });
}

void Body::vector_load(Lines& out, int stage, std::size_t r, bool split) {
  const KernelOperand& o = *reads_[at(stage)][r].operand;
  const std::string type = memory_type(k_.buffers[at(o.load.buffer)].dtype);
  const std::string place = str("b", o.load.buffer, " + ", index_text(o.load.offset, n_));
  if (!split) {
    out.add(str("alignas(16) ", type, " q", stage, "_", r, "[", lanes_, "]",
                rowless_ ? " = {};" : ";"));
  }
  if (!split && !o.guards.empty()) {
    out.add(str("const int g", stage, "_", r, " = ", guard_text(o.guards), ";"));
  }
  const std::string guard = o.guards.empty() ? ""
                            : split          ? guard_text(o.guards)
                                             : str("g", stage, "_", r);
  const char* const live = !rowless_ ? "" : guard.empty() ? "live_" : "live_ & ";
  out.add(str(rowless_ || !guard.empty() ? str("if (", live, guard, ") ") : "", "pl_move<", lanes_,
              ">(q", stage, "_", r, split ? "[c_]" : "", ", ", place, ");"));
}

void Body::vector_loads(Lines& out, int stage, bool split) {
  for (std::size_t r = 0; r < reads_[at(stage)].size(); ++r) {
    const Read& read = reads_[at(stage)][r];
    if (read.reach == Read::kVector && read.place < 0) vector_load(out, stage, r, split);
  }
}

void Body::once_loads(Lines& out, int stage) {
  for (std::size_t r = 0; r < reads_[at(stage)].size(); ++r) {
    const Read& read = reads_[at(stage)][r];
    const bool split = split_ && read.reach == Read::kVector && read.place < 0;
    if (split && !read.operand->guards.empty()) {
      out.add(str("const int g", stage, "_", r, " = ", guard_text(read.operand->guards), ";"));
    }
    if (read.reach != Read::kOnce) continue;
    const KernelOperand& o = *read.operand;
    const DType held = k_.buffers[at(o.load.buffer)].dtype;
    out.add(str("const ", register_type(held), " h", stage, "_", r, " = ", load_text(o), ";"));
  }
}

void Body::batch(Lines& out, int stage, const Walk& walk) {
  for (std::size_t r = 0; r < reads_[at(stage)].size(); ++r) {
    const Read& read = reads_[at(stage)][r];
    if (read.reach != Read::kVector || read.place >= 0) continue;
    out.add(str("alignas(16) ", memory_type(k_.buffers[at(read.operand->load.buffer)].dtype), " q",
                stage, "_", r, "[", walk.steps, "][", lanes_, "]", rowless_ ? " = {};" : ";"));
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

// --- in shared memory ----------------------------------------------------------------------------

int Body::reserve(int most, int steps) {
  int used = 0;
  for (std::vector<Read>& reads : reads_) {
    for (Read& r : reads) {
      if (r.reach != Read::kVector) continue;
      const KernelOperand& o = *r.operand;
      const int each = read_bytes(r), bytes = each * steps * s_.threads;
      if (!mentions_rows(k_, o.load.offset) || !is_known(o) || each < 4 || used + bytes > most)
        continue;
      r.place = used;
      used += bytes;
    }
  }
  return used;
}

bool Body::sends(int stage) const {
  const std::vector<Read>& reads = reads_[at(stage)];
  return std::any_of(reads.begin(), reads.end(), [](const Read& r) { return r.place >= 0; });
}

int Body::sending_stages() const {
  int count = 0;
  for (int stage = 0; stage <= k_.stages; ++stage) count += sends(stage);
  return count;
}

/// Whether what stands for elements that a guard holds back lies in their places: copies leave
/// zeros there.
bool Body::is_filled(const Read& r) const {
  return r.place >= 0 && r.operand->otherwise == 0 && !std::signbit(r.operand->otherwise);
}

/// A thread's own place: no other one reads it.
std::string Body::place_text(const Read& r) const {
  return str("ahead_ + ", r.place, " + (c_ * ", s_.threads, " + tid_) * ", read_bytes(r));
}

void Body::send(Lines& out, int stage, const Walk& walk) {
  steps(out, walk, [&] {
    for (const Read& r : reads_[at(stage)]) {
      if (r.place < 0) continue;
      const KernelOperand& o = *r.operand;
      out.add(str("pl_copy<", read_bytes(r), ">(", place_text(r), ", b", o.load.buffer, " + ",
                  index_text(o.load.offset, n_), ", ", guard_text(o.guards), ");"));
    }
  });
}

void Body::sent_loads(Lines& out, int stage) {
  for (std::size_t r = 0; r < reads_[at(stage)].size(); ++r) {
    const Read& read = reads_[at(stage)][r];
    if (read.place < 0) continue;
    const KernelOperand& o = *read.operand;
    const std::string name = str(stage, "_", r);
    const std::string type = memory_type(k_.buffers[at(o.load.buffer)].dtype);
    if (!o.guards.empty() && !is_filled(read)) {
      out.add(str("const int g", name, " = ", guard_text(o.guards), ";"));
    }
    out.add(str("alignas(16) ", type, " q", name, "[", lanes_, "];"));
    out.add(
        str("pl_move<", lanes_, ">(q", name, ", (const ", type, "*)(", place_text(read), "));"));
  }
}

}  // namespace plait::codegen::cuda
