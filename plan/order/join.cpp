// Joining neighbouring steps that are independent, before anything has an address.
#include "plan/order/join.h"

#include <algorithm>

#include "plan/order/independent.h"

namespace plait::plan {
namespace {

constexpr std::size_t kMostCalls = 256;
constexpr std::int64_t kSmallProduct = 64'000'000;  // operations; larger ones fill the threads
constexpr std::int64_t kSmallLoop = 1'000'000;  // bytes; what reduces more is worth its own step

/// Steps of one kind may run together; 0 runs alone.
int kind_of(const DraftStep& d) {
  if (d.step.calls.size() != 1) return 0;
  if (std::holds_alternative<ProductCall>(d.step.calls[0])) {
    return d.step.operations.hi() < kSmallProduct ? 2 : 0;
  }
  if (!std::holds_alternative<LoopCall>(d.step.calls[0])) return 0;
  if (is_pointwise(d)) return 1;
  return (d.step.bytes_read + d.step.bytes_written).hi() < kSmallLoop ? 3 : 0;
}

template <class T>
void append(std::vector<T>& to, std::vector<T>& from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

void append_once(std::vector<ViewId>& to, const std::vector<ViewId>& from) {
  for (ViewId v : from) {
    if (std::find(to.begin(), to.end(), v) == to.end()) to.push_back(v);
  }
}

}  // namespace

void absorb(DraftStep& to, DraftStep& d) {
  append(to.step.calls, d.step.calls);
  append(to.step.nodes, d.step.nodes);
  append(to.kernels, d.kernels);
  to.step.operations = to.step.operations + d.step.operations;
  to.step.bytes_read = to.step.bytes_read + d.step.bytes_read;
  to.step.bytes_written = to.step.bytes_written + d.step.bytes_written;
  to.step.predict(d.step.seconds, d.step.bound);
  to.step.thread_bytes = std::max(to.step.thread_bytes, d.step.thread_bytes);
  add_kernel(to.step, d.step.kernel);
}

void join_independent(const ir::Graph& graph, Draft& draft) {
  const Independence steps(graph, draft);
  std::vector<DraftStep> joined;
  program::Uses open_uses;
  int open = 0;
  for (DraftStep& d : draft.steps) {
    const int kind = kind_of(d);
    program::Uses uses = program::uses_of(d.step);
    const bool together = kind != 0 && kind == open &&
                          joined.back().step.calls.size() < kMostCalls &&
                          steps.independent(open_uses, uses);
    if (together) {
      absorb(joined.back(), d);
      append_once(open_uses.reads, uses.reads);
      append_once(open_uses.writes, uses.writes);
    } else {
      joined.push_back(std::move(d));
      open_uses = std::move(uses);
      open = kind;
    }
  }
  draft.steps = std::move(joined);
}

}  // namespace plait::plan
