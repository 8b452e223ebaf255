// Loop kernels as CUDA functions: what is around the bodies.
#include "codegen/cuda/print.h"

#include <algorithm>

#include "base/error.h"
#include "codegen/cuda/prepare.h"
#include "codegen/cuda/writer.h"
#include "loop/unroll.h"

namespace plait::codegen::cuda {
namespace {

/// Small calls are joined to one launch where they are neighbours.
bool may_be_joined(const loop::Kernel& k, const Schedule& s) {
  constexpr std::int64_t kSmall = 1 << 20;
  return s.kind == Schedule::kPoints || (row_count(k) * inner_count(k)).hi() < kSmall;
}

/// Whether its sizes are words, so that calls of other sizes share its text: slices of one value.
bool is_open(const loop::Kernel& k, const Schedule& s) {
  return k.open || (s.kind == Schedule::kPoints && !s.flat && reads_slice(k));
}

/// Keeping is worth it where registers hold it.
loop::Kernel prepared(const loop::Kernel& kernel, const DeviceModel& device) {
  constexpr std::int64_t kMostColumns = 12;  // more leave no registers for two rows of a window
  const bool pairs = std::count_if(kernel.lets.begin(), kernel.lets.end(),
                                   [](const loop::Let& l) { return l.column; }) <= kMostColumns;
  loop::Kernel k = without_idle_guards(kernel);
  if (pairs) k = loop::with_pairs_of_windows(k);
  k = with_plain_names(k);
  loop::Kernel kept = with_kept(k);
  if (kept_count(kept) == kept_count(k)) return k;
  const Schedule s = schedule_of(kept, device);
  return s.steps > 0 && s.kept == Schedule::kRegisters ? kept : k;
}

}  // namespace

Writer::Writer(const loop::Kernel& kernel, const Schedule& schedule, bool fixed)
    : k_(kernel),
      s_(schedule),
      n_(fixed && !schedule.flat && !is_open(kernel, schedule), !is_open(kernel, schedule),
         kernel.open),
      type_(schedule.wide ? "int64_t" : "int"),
      area_of_(kernel.lets.size(), -1) {}

Dim Writer::vectors() const { return floordiv(inner_count(k_), Dim(s_.lanes)); }

std::string Writer::sizes_text() const {
  const std::size_t first = k_.buffers.size() + printed_.scratch_sizes.size() + 1;
  std::string text;
  for (std::size_t i = 0; i < n_.values().size(); ++i) {
    text += str("  const ", type_, " N", i, " = (", type_, ")w[", first + i, "];\n");
  }
  return text;
}

void Writer::head(Lines& out) {
  for (std::size_t b = 0; b < k_.buffers.size(); ++b) {
    const std::string constant = k_.buffers[b].written ? "" : "const ";
    const std::string type = constant + memory_type(k_.buffers[b].dtype);
    out.add(str(type, "* const b", b, " = (", type, "*)w[", b, "];"));
    // The compiler cannot tell when the address comes out of a table.
    out.add(str("__builtin_assume(__isGlobal(b", b, "));"));
  }
  out.add(str("const ", type_, " block_ = (", type_, ")block;"));
}

void Writer::tail(Lines& out, const Body& body) {
  const std::size_t bad = k_.buffers.size() + printed_.scratch_sizes.size();
  if (body.may_fail()) out.add(str("if (bad_) atomicOr((int*)w[", bad, "], bad_);"));
  // The next body of the same kernel uses the memory anew.
  if (printed_.block_bytes > 0) out.barrier();
}

std::string Writer::function(const std::string& suffix, const std::string& body, bool many) const {
  const std::string name = printed_.name + suffix;
  const std::size_t words =
      k_.buffers.size() + printed_.scratch_sizes.size() + 1 + n_.values().size();
  const bool held = suffix.empty() && s_.per_processor > 0;
  const std::string begin = str("extern \"C\" __global__ void __launch_bounds__(", s_.threads,
                                held ? str(", ", s_.per_processor) : "", ") ", name);
  std::string text = str("__device__ __forceinline__ void ", name,
                         "_body(const pl_word* w, int64_t block, int tid_) {\n", body, "}\n", begin,
                         "(const pl_words<", words, "> w) {\n  pl_begin();\n  ", name,
                         "_body(w.v, blockIdx.x, threadIdx.x);\n}\n");
  if (many) {
    // What kernels before this one write is not in the tables.
    text += str(begin, "_many(const pl_words<3> w) {\n  const int64_t which = pl_which(w.v);\n",
                "  pl_begin();\n  ", name, "_body((const pl_word*)w.v[0] + which * ", words,
                ", blockIdx.x - ((const int64_t*)w.v[1])[which], threadIdx.x);\n}\n");
  }
  return text;
}

Printed Writer::run(const std::string& stem) {
  Lines out, last;
  switch (s_.kind) {
    case Schedule::kPoints:
      points(out);
      break;
    case Schedule::kRows:
      if (s_.parts > 1) {
        shared_rows(out);
        finish_rows(last);
      } else {
        rows(out);
      }
      break;
    case Schedule::kColumns:
      columns(out);
      if (!finishes_inside()) finish(last);
      break;
  }
  printed_.parameters = n_.values();
  printed_.threads = s_.threads;
  const std::string text = sizes_text() + out.text();
  if (out.has_barrier()) printed_.block_bytes = std::max(printed_.block_bytes, 16);
  const std::string finish_text = last.text().empty() ? "" : sizes_text() + last.text();
  set_name(printed_, stem, text + finish_text);
  printed_.many = s_.flat || may_be_joined(k_, s_);
  printed_.text = function("", text, printed_.many);
  if (!finish_text.empty()) printed_.text += function("_finish", finish_text, printed_.many);
  return printed_;
}

Printed print_kernel(const loop::Kernel& kernel, bool fixed, const DeviceModel& device) {
  check(!kernel.epilogue, "an epilogue is part of its product's kernel");
  const loop::Kernel k = prepared(kernel, device);
  const Schedule s = schedule_of(k, device);
  Printed printed = Writer(k, s, fixed).run(loop::schedule_name(kernel));
  printed.schedule = to_text(s);
  return printed;
}

}  // namespace plait::codegen::cuda
