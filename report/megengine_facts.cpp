// Sums, lifetimes and gaps of a profile.
#include "report/megengine_facts.h"

#include <algorithm>

#include "base/error.h"
#include "ops/table.h"

namespace plait::report {

using namespace io::megengine;

namespace {

struct Busy {
  double kern, end;
  int op;
};

/// The result vars of launched operators that are no constants; views left out.
std::vector<int> result_vars(const Index& index) {
  std::vector<int> out;
  for (Id id : index.record.comp_seq) {
    const Operator& op = index.op(index.op_of(id));
    if (is_constant(op)) continue;
    for (Id var : op.outputs) {
      const int at = index.var_of(var);
      if (index.var(at).has_flag(kScratchFlag) || index.owner_of(at) != at) continue;
      out.push_back(at);
    }
  }
  return out;
}

std::int64_t step_of(const Index& index, int op) {
  return index.step[static_cast<std::size_t>(op)];
}

}  // namespace

std::string operator_name(const Operator& op) {
  return op.name.empty() ? str(op.type, "[", op.id, "]") : op.name;
}

bool is_elementwise(const Operator& op) {
  if (op.type == "Elemwise") return true;
  const Op* own = find_op(op.type);
  return own && (own->traits & kElementwise);
}

double host_seconds(const Timing& timing) {
  double seconds = 0;
  for (const auto& [thread, span] : timing.by_place) seconds += span.end - span.start;
  return seconds;
}

double host_seconds(const Index& index) {
  double seconds = 0;
  for (const Timing* timing : index.host) seconds += timing ? host_seconds(*timing) : 0;
  return seconds;
}

std::map<std::string, TypeSums> sums_by_type(const Index& index) {
  std::map<std::string, TypeSums> out;
  for (Id id : index.record.comp_seq) {
    const auto at = static_cast<std::size_t>(index.op_of(id));
    TypeSums& sums = out[index.record.ops[at].type];
    ++sums.count;
    if (const Footprint* footprint = index.footprint[at]) {
      sums.operations += footprint->computation.value_or(0);
      sums.bytes += footprint->memory;
    }
    if (index.device[at]) sums.seconds += busy_seconds(*index.device[at]);
  }
  return out;
}

DeviceTimes device_times(const Index& index) {
  DeviceTimes out;
  std::vector<Busy> all;
  double first = 0, last = 0;
  for (std::size_t i = 0; i < index.record.ops.size(); ++i) {
    if (!index.device[i]) continue;
    for (const auto& [stream, span] : index.device[i]->by_place) {
      first = all.empty() ? span.start : std::min(first, span.start);
      last = all.empty() ? span.end : std::max(last, span.end);
      all.push_back({span.kern, span.end, static_cast<int>(i)});
      out.summed += span.end - span.kern;
    }
  }
  for (Id id : index.record.comp_seq) {
    const Timing* timing = index.device[static_cast<std::size_t>(index.op_of(id))];
    ++(timing && !timing->by_place.empty() ? out.timed : out.untimed);
  }
  std::sort(all.begin(), all.end(), [](const Busy& a, const Busy& b) { return a.kern < b.kern; });
  out.span = last - first;
  double until = first;
  for (const Busy& b : all) {
    if (b.kern > until) {
      out.gaps.emplace_back(b.kern - until, b.op);
      out.idle += b.kern - until;
    }
    out.busy += std::max(0.0, b.end - std::max(b.kern, until));
    until = std::max(until, b.end);
  }
  return out;
}

RunMemory run_memory(const Index& index) {
  RunMemory out;
  const std::int64_t item = 4;  // where neither addresses nor a plan say otherwise
  for (Id id : index.record.comp_seq) {
    const int at = index.op_of(id);
    const Operator& op = index.op(at);
    for (Id var : op.outputs) {
      const int v = index.var_of(var);
      const auto bytes = bytes_of(index, v, item);
      if (is_constant(op)) {
        out.weights += bytes.value_or(0);
      } else if (index.var(v).has_flag(kScratchFlag)) {
        const std::int64_t step = step_of(index, at);
        out.scratch.push_back({index.var(v).name, bytes.value_or(0), step, step});
      }
    }
  }
  std::vector<std::int64_t> last(index.record.vars.size(), -1);  // by owner
  for (std::size_t v = 0; v < index.record.vars.size(); ++v) {
    auto& end = last[static_cast<std::size_t>(index.owner_of(static_cast<int>(v)))];
    end = std::max(end, step_of(index, index.producer[v]));
    for (int reader : index.readers[v]) end = std::max(end, step_of(index, reader));
  }
  for (int v : result_vars(index)) {
    const auto bytes = bytes_of(index, v, item);
    if (!bytes) {
      out.unknown += index.readers[static_cast<std::size_t>(v)].empty() ? 0 : 1;
    } else if (*bytes > 0) {
      out.results.push_back({index.var(v).name, *bytes, step_of(index, index.producer_of(v)),
                             last[static_cast<std::size_t>(v)]});
    }
  }
  return out;
}

Addresses addresses_of_results(const Index& index) {
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
  for (int v : result_vars(index)) {
    const Var& var = index.var(v);
    if (var.prev_dev_ptr_end && *var.prev_dev_ptr_end > var.prev_dev_ptr) {
      ranges.emplace_back(var.prev_dev_ptr, *var.prev_dev_ptr_end);
    }
  }
  Addresses out;
  out.vars = static_cast<int>(ranges.size());
  if (ranges.empty()) return out;
  std::sort(ranges.begin(), ranges.end());
  std::int64_t end = ranges[0].first;
  for (const auto& [low, high] : ranges) {
    if (high > end) out.distinct += high - std::max(low, end);
    end = std::max(end, high);
  }
  out.span = end - ranges[0].first;
  return out;
}

}  // namespace plait::report
