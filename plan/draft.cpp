// Groups to steps: lowered, printed, implementations chosen.
#include "plan/draft.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "base/at.h"
#include "ops/table.h"
#include "plan/lower/signature.h"

namespace plait::plan {
namespace {

// Below this many scalar operations a whole program is one function on one thread.
constexpr std::int64_t kWholeOperations = 300'000;
constexpr std::size_t kWholeCalls = 96;
// A kernel of fewer points is printed with its sizes: its loops are short.
constexpr std::int64_t kFixedPoints = 4096;

using program::Access;
using program::Argument;
using program::Call;

int weight_of(const loop::Kernel& k) {
  int weight = 0;
  for (const loop::Let& let : k.lets) {
    weight += 1 + static_cast<int>(let.operands.size());
    for (const loop::Tape::Step& s : loop::flatten(let.body).steps) {
      const bool costly = s.op >= loop::ScalarOp::kExp && s.op <= loop::ScalarOp::kErfc;
      weight += costly ? 8 : 1;
    }
  }
  return std::max(1, weight / 4);
}

class Drafting {
 public:
  Drafting(const PlanContext& s, const Target& target, const DimBindings& largest, Tuning& tuning,
           DecisionLog& log)
      : s_(s), target_(target), largest_(largest), tuning_(tuning), log_(log) {}

  Draft run() {
    draft_.single_kernel = is_small();
    for (const ir::StateUse& use : s_.graph.states) view(use.value);
    for (ir::ValueId id : s_.graph.feeds) view(id);
    for (const Group& g : s_.grouping.groups) {
      Signature signature = signature_of(s_, g);
      const auto [known, added] = known_.try_emplace(std::move(signature.text));
      if (!added) {
        draft_.steps.push_back(repeated(g, known->second, signature.values));
        continue;
      }
      known->second = {draft_.steps.size(), log_.size(), 0, std::move(signature.values)};
      DraftStep d;
      describe_step(g, d);
      switch (g.type) {
        case Group::Type::kHand:
          hand(g, d);
          break;
        case Group::Type::kContract:
          product(g, d);
          break;
        case Group::Type::kLoop:
          loops(g, d);
          break;
      }
      account(g, d);
      draft_.steps.push_back(std::move(d));
      known->second.log_end = log_.size();
    }
    return std::move(draft_);
  }

 private:
  /// The first group of a signature.
  struct First {
    std::size_t step = 0, log_begin = 0, log_end = 0;
    std::vector<ir::ValueId> values;
  };

  ir::ValueId result(ir::NodeId n) const { return s_.graph.node(n).outputs[0]; }
  ViewId view(ir::ValueId v) { return draft_.view(s_.graph, s_.layouts, v); }
  std::vector<ViewId> views(const std::vector<ir::ValueId>& values) {
    std::vector<ViewId> out;
    for (ir::ValueId v : values) out.push_back(view(v));
    return out;
  }
  std::vector<Argument> arguments(const Lowered& low) {
    std::vector<Argument> out;
    for (std::size_t b = 0; b < low.values.size(); ++b) {
      const bool written = low.kernel.buffers[b].written;
      out.push_back({view(low.values[b]), written ? Access::kWrite : Access::kRead});
    }
    return out;
  }

  /// The same kernels over this group's values.
  DraftStep repeated(const Group& g, const First& first, const std::vector<ir::ValueId>& values) {
    std::unordered_map<ir::ValueId, ir::ValueId> by{{ir::kNone, ir::kNone}};
    for (std::size_t i = 0; i < values.size(); ++i) by.emplace(first.values[i], values[i]);
    DraftStep d = draft_.steps[first.step];
    const std::string kind = d.step.kind;
    d.step.nodes.clear();
    describe_step(g, d);
    d.step.kind = kind;
    const auto here = [&](ViewId v) { return v.valid() ? view(by.at(draft_.value(v))) : v; };
    renumber(d.step, here);
    for (StepKernel& k : d.kernels) {
      for (ViewId& v : k.views) v = here(v);
    }
    for (std::size_t i = first.log_begin; i < first.log_end; ++i) {
      log_.push_back(LogEntry(log_[i]));
      log_.back().node = "%" + d.step.name;
    }
    return d;
  }

  bool is_small() const {
    if (!largest_.empty() || target_.is_node_by_node()) return false;
    std::int64_t total = 0;
    std::size_t calls = s_.grouping.groups.size();
    for (std::size_t n = 0; n < s_.graph.nodes.size(); ++n) {
      const NodeFacts& f = s_.facts[n];
      if (f.kind == Kind::kHand) return false;
      if (f.kind == Kind::kJoin) calls += f.nest.loads.size() - 1;
      if (calls > kWholeCalls) return false;
      if (f.kind == Kind::kConstant) continue;
      total += point_count(f.nest).hi() * std::max(1, f.operations);
      if (total > kWholeOperations) return false;
    }
    return true;
  }

  void describe_step(const Group& g, DraftStep& d) const {
    for (ir::NodeId n : g.nodes) d.step.nodes.push_back(s_.graph.value(result(n)).name);
    const ir::NodeId last = g.type == Group::Type::kLoop ? g.nodes.back() : g.nodes.front();
    d.step.name = s_.graph.value(result(last)).name;
    d.step.path = s_.graph.node(last).path;
    d.step.kind = s_.graph.node(g.nodes.front()).op;
  }

  bool fixed(const loop::Kernel& k) const {
    const Dim points = row_count(k) * inner_count(k);
    if (k.open) return false;
    return draft_.single_kernel || (points.is_const() && points.value() <= kFixedPoints);
  }

  LoopCall printed(PrintedLoop p, std::vector<Argument> arguments, const Dim& work) {
    draft_.texts.emplace(p.call.function.name, std::move(p.text));
    schedule_ = std::move(p.schedule);
    p.call.arguments = std::move(arguments);
    p.call.work = work;
    return p.call;
  }

  LoopCall printed(const Lowered& low) {
    const Dim work = row_count(low.kernel) * inner_count(low.kernel) * Dim(weight_of(low.kernel));
    return printed(target_.print(low.kernel, fixed(low.kernel)), arguments(low), work);
  }

  /// Of a loop that was just printed, with the schedule inside its kernel.
  Choice chosen(const LoopCall& call, const Work& work) const {
    Choice choice = target_.choose(call, work, largest_);
    if (!schedule_.empty()) choice.why += ": " + schedule_;
    return choice;
  }

  void take(const Choice& choice, DraftStep& d) {
    if (d.step.kernel.empty()) d.step.kernel = choice.kernel;
    d.step.predict(choice.predicted.seconds, choice.predicted.bound);
    d.step.thread_bytes = std::max(d.step.thread_bytes, choice.thread_bytes);
    log_.push_back({"choose", "%" + d.step.name, choice.kernel, choice.why});
  }

  void loops(const Group& g, DraftStep& d) {
    if (s_.facts[at(g.nodes.front())].kind == Kind::kJoin) return pieces(g, d);
    Lowered low = lower_loops(s_, g);
    add_loop(low, d);
  }

  /// The operands of a join, each by a call of its own; those that lie alike share a function.
  void pieces(const Group& g, DraftStep& d) {
    std::vector<Lowered> all = lower_pieces(s_, g);
    for (Lowered& low : all) {
      LoopCall call = printed(low);
      call.interleaved = low.interleaved && call.column_sizes.empty();
      Choice choice = chosen(call, work_of_piece(low));
      call.workspace.bytes = choice.shared_bytes;
      if (d.step.calls.empty()) {
        choice.why = str("for each of ", all.size(), " operands: ", choice.why);
        take(choice, d);
      } else {
        d.step.predict(choice.predicted.seconds, choice.predicted.bound);
        add_kernel(d.step, choice.kernel);
      }
      d.step.thread_bytes = std::max(d.step.thread_bytes, choice.thread_bytes);
      d.step.calls.emplace_back(std::move(call));
      keep(low, d);
    }
  }

  void add_loop(Lowered& low, DraftStep& d) {
    d.step.kind = schedule_name(low.kernel);
    LoopCall call = printed(low);
    const Choice choice = chosen(call, work_of(low));
    call.workspace.bytes = choice.shared_bytes;
    take(choice, d);
    d.step.calls.push_back(std::move(call));
    keep(low, d);
  }

  void keep(Lowered& low, DraftStep& d) {
    d.kernels.push_back(
        {std::make_shared<const loop::Kernel>(std::move(low.kernel)), views(low.values)});
  }

  void product(const Group& g, DraftStep& d) {
    const Contracted c = contraction_of(s_, g);
    if (!c.fits.yes) {
      log_.push_back(
          {"choose", "%" + d.step.name, "loops", "no contraction kernel: " + c.fits.why});
      const std::string kind = d.step.kind;
      loops(g, d);
      d.step.kind = kind;
      return;
    }
    ProductCall call;
    call.a = view(c.a);
    call.b = view(c.b);
    call.b_constant = is_constant(s_, c.b);
    const bool bare = is_bare(s_, g);
    if (bare) call.c = view(c.c);
    for (const ContractPart& part : c.parts) {
      ProductCall::Part p;
      p.contraction = part.contraction;
      std::optional<Lowered> low;
      if (!bare) low = lower_epilogue(s_, g, part, false);
      const Work work = work_of(part.contraction, call, low ? &*low : nullptr, c.parts.size());
      Choice choice = draft_.single_kernel
                          ? Choice{}
                          : target_.choose(part.contraction, low ? &low->kernel : nullptr,
                                           call.b_constant, work, largest_, tuning_);
      const bool generated = draft_.single_kernel || choice.generated;
      if (!bare && choice.epilogue_along_m) {  // along the result's own memory
        Lowered along_m = lower_epilogue(s_, g, part, true);
        p.epilogue_along_m = along_m.kernel.inner.size() == 1;
        if (p.epilogue_along_m) low = std::move(along_m);
      }
      if (generated) {
        std::vector<Argument> all{{call.a}, {call.b}};
        if (bare) all.push_back({call.c, Access::kWrite});
        if (low) {
          const std::vector<Argument> more = arguments(*low);
          all.insert(all.end(), more.begin(), more.end());
        }
        p.generated = printed(target_.print(part.contraction, low ? &low->kernel : nullptr,
                                            draft_.single_kernel, choice.variant),
                              std::move(all), floordiv(operations(part.contraction), 4) + 1);
        const Choice product = std::move(choice);
        choice = chosen(p.generated, work);
        const std::string cut = schedule_.empty() ? "" : ", " + schedule_;
        choice.why = draft_.single_kernel ? "single-kernel program" : product.why + cut;
        if (product.predicted.seconds > 0) choice.predicted = product.predicted;
      } else if (low) {
        Lowered apart;
        if (choice.separate_epilogue)
          apart = lower_separate_epilogue(s_, g, part, *choice.separate_epilogue);
        const Lowered& taken = choice.separate_epilogue ? apart : *low;
        p.arguments = arguments(taken);
        if (!choice.fused) add_epilogue(taken.kernel, p);
      }
      if (!choice.variant.empty()) p.variant = choice.variant;
      p.workspace.bytes = choice.shared_bytes;
      p.packed.bytes = choice.persistent_bytes;
      take(choice, d);
      if (low) keep(*low, d);
      call.parts.push_back(std::move(p));
    }
    d.step.calls.push_back(std::move(call));
  }

  void add_epilogue(const loop::Kernel& kernel, ProductCall::Part& p) {
    PrintedLoop printed_loop = target_.print(kernel, fixed(kernel));
    p.epilogue = printed_loop.call.function;
    p.epilogue_rows = printed_loop.call.rows;
    draft_.texts.emplace(p.epilogue.name, std::move(printed_loop.text));
  }

  void hand(const Group& g, DraftStep& d) {
    const ir::Node& node = s_.graph.node(g.nodes.front());
    const Decision has = target_.has_hand(node.op);
    if (!has) {
      fail("[", node.op, "] cannot be run on ", target_.name(), ": ", has.why, " (",
           describe(s_.graph, node), ")");
    }
    HandCall call{node.op, node.attrs, {}, {}, {}, {}, {}};
    for (ir::ValueId id : node.inputs) {
      call.inputs.push_back(id == ir::kNone ? ir::Type{} : s_.graph.type(id));
      call.input_views.push_back(view(id));
    }
    for (ir::ValueId id : node.outputs) {
      call.outputs.push_back(s_.graph.type(id));
      call.output_views.push_back(view(id));
    }
    Work work{number(operations_of(s_.graph, node)), 0};
    for (const auto* views : {&call.input_views, &call.output_views}) {
      for (ViewId v : *views) work.bytes += v.valid() ? bytes_of(v) : 0;
    }
    const Choice choice = target_.choose(call, work, largest_);
    call.workspace.bytes = choice.shared_bytes;
    take(choice, d);
    d.step.calls.push_back(std::move(call));
  }

  double number(const Dim& d) const { return static_cast<double>(evaluate(d, largest_)); }
  double bytes_of(ViewId v) const { return number(draft_.views[v.index()].type.bytes()); }

  /// Of a kernel's buffers; a value that is read and written counts twice.
  double bytes_of(const Lowered& low) {
    double bytes = 0;
    for (ir::ValueId v : low.values) bytes += v == ir::kNone ? 0 : bytes_of(view(v));
    return bytes;
  }
  Work work_of(const Lowered& low) { return {0, bytes_of(low)}; }
  /// Of one operand of a join: a part of its result, and of what else lies like it.
  Work work_of_piece(const Lowered& low) {
    const double points = number(row_count(low.kernel) * inner_count(low.kernel));
    Work work;
    for (std::size_t b = 0; b < low.values.size(); ++b) {
      const auto size = static_cast<double>(size_of(low.kernel.buffers[b].dtype));
      work.bytes += std::min(bytes_of(view(low.values[b])), points * size);
    }
    return work;
  }
  /// Of one part of a product, with its epilogue.
  Work work_of(const loop::Contraction& c, const ProductCall& call, const Lowered* low,
               std::size_t parts) {
    double bytes = bytes_of(call.a) + bytes_of(call.b);
    if (call.c.valid()) bytes += bytes_of(call.c);
    if (low) bytes += bytes_of(*low);
    return {number(operations(c)), bytes / static_cast<double>(parts)};
  }

  void account(const Group& g, DraftStep& d) const {
    for (ir::NodeId n : g.nodes) {
      d.step.operations = d.step.operations + operations_of(s_.graph, s_.graph.node(n));
    }
    const program::Uses uses = uses_of(d.step);
    const auto bytes = [&](ViewId v) { return draft_.views[v.index()].type.bytes(); };
    for (ViewId v : uses.reads) d.step.bytes_read = d.step.bytes_read + bytes(v);
    for (ViewId v : uses.writes) d.step.bytes_written = d.step.bytes_written + bytes(v);
  }

  const PlanContext& s_;
  const Target& target_;
  const DimBindings& largest_;
  Tuning& tuning_;
  DecisionLog& log_;
  Draft draft_;
  std::string schedule_;                          // of what was printed last
  std::unordered_map<std::string, First> known_;  // by signature
};

}  // namespace

Draft make_draft(const PlanContext& context, const Target& target, const DimBindings& largest,
                 Tuning& tuning, DecisionLog& log) {
  return Drafting(context, target, largest, tuning, log).run();
}

ViewId Draft::view(const ir::Graph& graph, const Layouts& layouts, ir::ValueId value) {
  if (value == ir::kNone) return {};
  view_of.resize(graph.values.size());
  ViewId& known = view_of[at(value)];
  if (known.valid()) return known;
  known = ViewId(views.size());
  views.push_back({graph.value(value).name, graph.type(value), layouts.at(value), {}, 0});
  values.push_back(value);
  copies.push_back(false);
  return known;
}

ViewId Draft::add(program::View view) {
  views.push_back(std::move(view));
  values.push_back(ir::kNone);
  copies.push_back(false);
  return ViewId(views.size() - 1);
}

ViewId Draft::copy(ViewId of, const std::string& suffix) {
  const ViewId made(views.size());
  program::View view = views[of.index()];
  view.name += suffix;
  view.buffer = {};
  views.push_back(std::move(view));
  values.push_back(value(of));
  copies.push_back(true);
  return made;
}

bool is_pointwise(const DraftStep& d) {
  return d.kernels.size() == 1 && std::holds_alternative<LoopCall>(d.step.calls[0]) &&
         loop::is_pointwise(*d.kernels[0].kernel);
}

void add_kernel(Step& step, const std::string& kernel) {
  if (step.kernel != kernel && !step.kernel.ends_with('+')) step.kernel += '+';
}

bool reads_whole(const Step& step, ViewId view) {
  return std::any_of(step.calls.begin(), step.calls.end(), [&](const Call& call) {
    if (const auto* product = std::get_if<ProductCall>(&call)) {
      return product->a == view || product->b == view;
    }
    const auto* hand = std::get_if<HandCall>(&call);
    return hand && std::find(hand->input_views.begin(), hand->input_views.end(), view) !=
                       hand->input_views.end();
  });
}

namespace {

loop::Kernel copy_kernel(const ir::Type& type) {
  loop::Kernel k;
  const Dim count = type.elements();
  k.inner = {{"$i0", count}};
  const Dim i = loop::symbol_of(k.inner[0]);
  k.buffers = {{type.dtype, false}, {type.dtype, true}};
  loop::Let let;
  let.dtype = type.dtype;
  let.compute = loop::compute_type(type.dtype);
  let.body = loop::Expr::load(0);
  loop::KernelOperand o;
  o.kind = loop::KernelOperand::kLoad;
  o.load = {0, i};
  let.operands = {o};
  k.lets = {let};
  k.stores = {{0, 1, i}};
  collapse(k);
  return k;
}

}  // namespace

DraftStep copy_step(ViewId from, ViewId to, const std::string& name, const Target& target,
                    Draft& draft) {
  const ir::Type& type = draft.views[to.index()].type;
  DraftStep d;
  d.step.name = name;
  d.step.kind = "copy";
  d.step.nodes = {draft.is_copy(from) ? name : draft.views[from.index()].name};
  const double bytes = static_cast<double>(type.bytes().hi());
  Choice choice;
  if (target.is_node_by_node()) {
    HandCall call{"copy", {}, {type}, {type}, {from}, {to}, {}};
    choice = target.choose(call, {.bytes = 2 * bytes}, {});
    d.step.calls.emplace_back(std::move(call));
  } else {
    const loop::Kernel k = copy_kernel(type);
    PrintedLoop p = target.print(k, draft.single_kernel);
    draft.texts.emplace(p.call.function.name, p.text);
    p.call.arguments = {{from, Access::kRead}, {to, Access::kWrite}};
    p.call.work = type.elements();
    choice = target.choose(p.call, {.bytes = 2 * bytes}, {});
    d.kernels = {{std::make_shared<const loop::Kernel>(k), {from, to}}};
    d.step.calls.emplace_back(std::move(p.call));
  }
  d.step.kernel = choice.kernel;
  d.step.predict(choice.predicted.seconds, choice.predicted.bound);
  d.step.bytes_read = d.step.bytes_written = type.bytes();
  return d;
}

}  // namespace plait::plan
