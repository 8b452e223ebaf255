// What the user of a profile did not know. Each finding is a rule over the record; it stands on the
// page only where the rule finds something.
#include <algorithm>
#include <cstdio>

#include "base/error.h"
#include "report/megengine_facts.h"

namespace plait::report {

using namespace io::megengine;

namespace {

/// `6.11 ms`; below a tenth of that unit `35.0 us`.
std::string ms_text(double seconds) {
  char text[64];
  const bool small = seconds < 1e-4;
  std::snprintf(text, sizeof text, small ? "%.1f us" : "%.2f ms", seconds * (small ? 1e6 : 1e3));
  return text;
}

double seconds_of(const Index& index, int op) {
  const Timing* timing = index.device[static_cast<std::size_t>(op)];
  return timing ? busy_seconds(*timing) : 0;
}

const std::vector<int>& readers_of(const Index& index, int var) {
  return index.readers[static_cast<std::size_t>(var)];
}

/// An elementwise operator that reads what a contraction, or its epilogue so far, makes for it
/// alone.
void find_epilogues(Page& page, const Index& index, double summed) {
  std::vector<bool> rides(index.record.vars.size(), false);
  Finding found{"",
                "A convolution or matrix product can add, scale and bound its result before it "
                "writes it; these kernels only read and write it again.",
                {}};
  double seconds = 0;
  std::int64_t moved = 0;
  for (Id id : index.record.comp_seq) {
    const int at = index.op_of(id);
    const Operator& op = index.op(at);
    if (op.outputs.empty()) continue;
    const int out = index.var_of(op.outputs[0]);
    bool fits = is_contraction(op);
    for (Id in : op.inputs) {
      const int var = index.var_of(in);
      if (fits || !is_elementwise(op)) break;
      fits = rides[static_cast<std::size_t>(var)] && readers_of(index, var).size() == 1 &&
             shape_of(index, var) == shape_of(index, out);
      if (!fits) continue;
      found.nodes.push_back(operator_name(op));
      seconds += seconds_of(index, at);
      moved += 2 * io::megengine::bytes_of(index, var, 4).value_or(0);
    }
    rides[static_cast<std::size_t>(out)] = fits;
  }
  if (found.nodes.empty()) return;
  found.what = str(found.nodes.size(), " elementwise ",
                   found.nodes.size() == 1 ? "operator follows" : "operators follow",
                   " a convolution or matrix product and could be its epilogue: ",
                   summed > 0 ? str(ms_text(seconds), ", ", percent_text(seconds, summed),
                                    " of the time kernels run, and ")
                              : "",
                   bytes_text(moved), " less to write and read again.");
  page.findings.push_back(std::move(found));
}

void find_slow_contractions(Page& page, const Index& index, double summed) {
  struct Rated {
    int op;
    double seconds, rate;
  };
  std::vector<Rated> all;
  for (Id id : index.record.comp_seq) {
    const int at = index.op_of(id);
    const Footprint* footprint = index.footprint[static_cast<std::size_t>(at)];
    const double seconds = seconds_of(index, at);
    if (!is_contraction(index.op(at)) || !footprint || !(seconds > 0)) continue;
    const auto operations = static_cast<double>(footprint->computation.value_or(0));
    all.push_back({at, seconds, operations / seconds});
  }
  double best = 0, slow_seconds = 0, at_best = 0;
  for (const Rated& r : all) best = std::max(best, r.rate);
  std::stable_sort(all.begin(), all.end(),
                   [](const Rated& a, const Rated& b) { return a.seconds > b.seconds; });
  Finding found{"",
                "Slowest first. Counted operations are the direct method's: a kernel by Winograd "
                "or FFT takes fewer and looks faster.",
                {}};
  for (const Rated& r : all) {
    if (r.rate >= best / 2) continue;
    found.nodes.push_back(operator_name(index.op(r.op)));
    slow_seconds += r.seconds;
    at_best += r.seconds * r.rate / best;
  }
  if (slow_seconds - at_best < 0.05 * summed || found.nodes.empty()) return;
  found.what =
      str(found.nodes.size(), " of ", all.size(),
          " convolutions and matrix products run below half the rate of the best (",
          with_commas(static_cast<std::int64_t>(best / 1e9)), " GFLOP/s): ", ms_text(slow_seconds),
          " that would be ", ms_text(at_best), " at its rate.");
  page.findings.push_back(std::move(found));
}

/// The operator that makes a var, when it is of this type and, where asked, of this mode.
const Operator* maker(const Index& index, Id var, std::string_view type, std::string_view mode) {
  const int at = index.producer_of(index.var_of(var));
  const Operator& op = index.op(at);
  const Footprint* footprint = index.footprint[static_cast<std::size_t>(at)];
  const Json* found = footprint ? footprint->param.find("mode") : nullptr;
  const auto* text = found ? found->as<std::string>() : nullptr;
  return op.type == type && text && *text == mode && !op.inputs.empty() ? &op : nullptr;
}

/// exp(x - max(x)) / sum(exp(x - max(x))) in kernels of their own.
void find_softmax(Page& page, const Index& index, double summed) {
  Finding found{"", "One kernel reads its operand once and writes the result once.", {}};
  double seconds = 0;
  int chains = 0;
  for (const Operator& op : index.record.ops) {
    if (op.outputs.empty() || !maker(index, op.outputs[0], "Elemwise", "TRUE_DIV")) continue;
    if (op.inputs.size() != 2) continue;
    const Operator* exp = maker(index, op.inputs[0], "Elemwise", "EXP");
    const Operator* sum = maker(index, op.inputs[1], "Reduce", "SUM");
    if (!exp || !sum || sum->inputs[0] != op.inputs[0]) continue;
    const Operator* sub = maker(index, exp->inputs[0], "Elemwise", "SUB");
    if (!sub || sub->inputs.size() != 2) continue;
    const Operator* max = maker(index, sub->inputs[1], "Reduce", "MAX");
    if (!max || max->inputs[0] != sub->inputs[0]) continue;
    ++chains;
    for (const Operator* part : {max, sub, exp, sum, &op}) {
      found.nodes.push_back(operator_name(*part));
      seconds += seconds_of(index, index.op_of(part->id));
    }
  }
  if (chains == 0) return;
  found.what =
      str(chains == 1 ? "A softmax is" : str(chains, " softmaxes are"), " computed in five kernels",
          chains == 1 ? "" : " each", " (max, sub, exp, sum, div)",
          summed > 0 ? str(": ", ms_text(seconds), ", ", percent_text(seconds, summed),
                           " of the time kernels run")
                     : "",
          ".");
  page.findings.push_back(std::move(found));
}

/// Idle time that gaps of some size explain. Host and device clocks differ: that the host was late
/// follows only where its dispatching took longer than the kernels.
void find_waiting_device(Page& page, const Index& index, const DeviceTimes& times) {
  if (!(times.idle > 0.1 * times.span)) return;
  const bool host_is_slower = host_seconds(index) > times.busy;
  Finding found{"",
                host_is_slower ? "The device waited for the host: fewer, larger launches, or a "
                                 "captured graph, close the gaps."
                               : "Launches that come earlier, or a captured graph, close the gaps.",
                {}};
  double seconds = 0;
  for (const auto& [gap, op] : times.gaps) {
    if (gap < 0.01 * times.span) continue;
    seconds += gap;
    found.nodes.push_back(operator_name(index.op(op)));
  }
  if (found.nodes.empty()) return;
  found.what =
      str("No kernel runs in ", ms_text(times.idle), ", ", percent_text(times.idle, times.span),
          " of the device span; ", ms_text(seconds), " of it right before ", found.nodes.size(),
          found.nodes.size() == 1 ? " operator." : " operators.");
  if (times.untimed > 0) {
    found.what += str(" ", times.untimed,
                      " launched operators have no device times and may be "
                      "what runs there.");
  }
  page.findings.push_back(std::move(found));
}

/// Constants need no launch: their values are where they are.
void find_launched_constants(Page& page, const Index& index, double summed) {
  Finding found{"", "They do not change: a plan made once need not visit them again.", {}};
  double device = 0, host = 0, all_host = 0;
  for (std::size_t i = 0; i < index.record.ops.size(); ++i) {
    const double on_host = index.host[i] ? host_seconds(*index.host[i]) : 0;
    all_host += on_host;
    if (index.record.ops[i].type != "ImmutableTensor") continue;
    if (!index.host[i] && !index.device[i]) continue;
    found.nodes.push_back(operator_name(index.record.ops[i]));
    host += on_host;
    device += seconds_of(index, static_cast<int>(i));
  }
  if (!(host > 0.05 * all_host) && !(device > 0.05 * summed)) return;
  found.what = str(found.nodes.size(), " constants are launched at every run: ", ms_text(host),
                   " of the host (", percent_text(host, all_host), " of its dispatching) and ",
                   ms_text(device), " of the device.");
  page.findings.push_back(std::move(found));
}

/// An operator that begins on the device before the host has dispatched it proves two clocks.
void find_clocks(Page& page, const Index& index) {
  Finding found{"",
                "Durations are right, differences between the two are not: never subtract one "
                "clock's time from the other's.",
                {}};
  double most = 0;
  for (std::size_t i = 0; i < index.record.ops.size(); ++i) {
    if (!index.host[i] || !index.device[i]) continue;
    for (const auto& [thread, host] : index.host[i]->by_place) {
      for (const auto& [stream, device] : index.device[i]->by_place) {
        if (!(device.start < host.start)) continue;
        most = std::max(most, host.start - device.start);
        found.nodes.push_back(operator_name(index.record.ops[i]));
      }
    }
  }
  if (found.nodes.empty()) return;
  found.what = str("Host and device clocks have different zeros: ", found.nodes.size(),
                   " operators start on the device before the host dispatched them, by up to ",
                   ms_text(most), ".");
  page.findings.push_back(std::move(found));
}

/// Results that no operator reads; of a callback only the first output is one.
void find_unread(Page& page, const Index& index) {
  Finding found{"", "Nothing needs them.", {}};
  std::int64_t bytes = 0;
  for (Id id : index.record.comp_seq) {
    const Operator& op = index.op(index.op_of(id));
    if (op.type == "OutputCallback" || is_feed(op)) continue;
    for (Id var : op.outputs) {
      const int v = index.var_of(var);
      const Var& value = index.var(v);
      if (!readers_of(index, v).empty() || value.has_flag(kScratchFlag)) continue;
      if (value.force_update_src) continue;
      found.nodes.push_back(value.name);
      bytes += io::megengine::bytes_of(index, v, 4).value_or(0);
    }
  }
  const bool fetches = std::any_of(index.record.ops.begin(), index.record.ops.end(),
                                   [](const Operator& op) { return op.type == "OutputCallback"; });
  if (found.nodes.empty() || !fetches) return;
  found.what = str(found.nodes.size(), found.nodes.size() == 1 ? " var is" : " vars are",
                   " made and never read: ", bytes_text(bytes), ".");
  page.findings.push_back(std::move(found));
}

}  // namespace

void add_megengine_findings(Page& page, const Index& index) {
  const DeviceTimes times = device_times(index);
  find_epilogues(page, index, times.summed);
  add_dynamic_memory(page, index);
  find_slow_contractions(page, index, times.summed);
  find_softmax(page, index, times.summed);
  find_waiting_device(page, index, times);
  find_launched_constants(page, index, times.summed);
  find_unread(page, index);
  find_clocks(page, index);
}

}  // namespace plait::report
