// A graph of ours as a MegEngine profile: every node an operator, every value a var. The reference
// backend keeps each value in memory of its own, so that every var has a chunk; addresses are not
// known and are not made up.
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "io/megengine/format.h"
#include "io/megengine/index.h"
#include "io/megengine/words.h"
#include "ops/constant.h"
#include "ops/shape.h"
#include "ops/table.h"

namespace plait::io::megengine {
namespace {

constexpr const char* kCompNode = "cpu0:0";
constexpr const char* kThread = "ref";
constexpr std::int64_t kShownNumbers = 16;  // of a constant; more is a large array

class Writer {
 public:
  Writer(const ir::Graph& graph, const RunTimes& times) : graph_(graph), times_(times) {
    check(times.nodes.empty() || times.nodes.size() == graph.nodes.size(), "there are ",
          times.nodes.size(), " times for ", graph.nodes.size(), " nodes");
    record_.profiler.emplace();
    record_.profiler->internal.emplace();
    record_.profiler->footprints.emplace();
    if (!times.nodes.empty()) {
      record_.profiler->host.emplace();
      record_.profiler->device.emplace();
    }
  }

  Record write() {
    for (const ir::NextState& next : graph_.nexts) updated_.emplace(next.state, next.value);
    for (const ir::StateUse& use : graph_.states) add_state(use);
    for (ir::ValueId id : graph_.feeds) add_feed(id);
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) add_node(i);
    for (const ir::NextState& next : graph_.nexts) add_next(next);
    for (const ir::Fetch& fetch : graph_.fetches) add_fetch(fetch);
    if (record_.comp_seq.empty()) fail("graph ", graph_.name, " has nothing to write: no nodes");
    return std::move(record_);
  }

 private:
  Operator& add_operator(std::string type, std::string name, std::vector<Id> inputs) {
    Operator op;
    op.id = next_id_++;
    op.type = std::move(type);
    op.name = std::move(name);
    op.inputs = std::move(inputs);
    op.waiting.emplace();
    op.extra = {{"dfs_step_num", static_cast<std::int64_t>(record_.comp_seq.size())},
                {"input_update_time", last_step(op)},
                {"priority", 0}};
    step_of_op_[op.id] = static_cast<std::int64_t>(record_.comp_seq.size());
    record_.comp_seq.push_back(op.id);
    return record_.ops.emplace_back(std::move(op));
  }

  /// The step at which the last of the operands is ready.
  std::int64_t last_step(const Operator& op) const {
    std::int64_t step = 0;
    for (Id in : op.inputs) step = std::max(step, step_of_var_.at(in));
    return step;
  }

  InferTag shape_tag(const Operator& op, const char* infer, const Sizes& sizes) const {
    InferTag tag{{}, Json::Array(sizes.begin(), sizes.end()), infer};
    for (Id in : op.inputs) tag.deps.push_back({"SHAPE", in});
    return tag;
  }

  Var& add_var(Operator& op, ir::ValueId id, const char* infer) {
    const ir::Value& value = graph_.value(id);
    const Sizes sizes = sizes_of(value.type.shape);
    Var var;
    var.id = next_id_++;
    var.name = value.name;
    var.comp_node = kCompNode;
    var.shape = shape_tag(op, infer, sizes);
    var.value = InferTag{{}, {}, "NO_DESC"};
    const std::int64_t bytes = value.type.bytes().value();
    const std::string chunk = str("chk", var.id);
    var.mem_plan =
        MemPlan{0, {std::string(dtype_name(value.type.dtype)), strides_of(sizes), sizes}, chunk};
    record_.chunks.push_back({chunk, std::nullopt, var.id, bytes, {}});
    if (!value.type.place.empty()) var.others.push_back({"place", ir::type_text(value.type)});
    op.outputs.push_back(var.id);
    step_of_var_[var.id] = step_of_op_.at(op.id);
    var_of_.emplace(id, var.id);
    place_of_var_.emplace(var.id, record_.vars.size());
    return record_.vars.emplace_back(std::move(var));
  }

  void add_footprint(const Operator& op, Json param, std::int64_t bytes, std::int64_t operations) {
    Footprint out;
    out.op = op.id;
    out.param = std::move(param);
    for (Id in : op.inputs) out.in_shapes.push_back(shape_of_var(in));
    for (Id var : op.outputs) out.out_shapes.push_back(shape_of_var(var));
    out.memory = bytes;
    if (operations > 0) out.computation = operations;
    record_.profiler->footprints->push_back(std::move(out));
  }
  Sizes shape_of_var(Id id) const { return sizes_of(graph_.type(value_of_.at(id)).shape); }
  void note_values(const Operator& op, const std::vector<ir::ValueId>& values) {
    for (std::size_t i = 0; i < values.size(); ++i) value_of_.emplace(op.outputs[i], values[i]);
  }

  void add_state(const ir::StateUse& use) {
    const bool fixed = !updated_.contains(use.state.name);
    Operator& op =
        add_operator(fixed ? "ImmutableTensor" : "SharedDeviceTensor", use.state.name, {});
    op.extra.push_back({std::string(kRole), std::string(ir::role_name(use.state.role))});
    op.extra.push_back({std::string(kInit), init_text(use.state.init)});
    Var& var = add_var(op, use.value, "CONST");
    var.flags = {"NO_MEM_RECLAIM", "ALLOW_EMPTY_SHAPE", std::string(kPersistentFlag),
                 "DISALLOW_RT_FORCE_DYNAMIC_MEM_ALLOC"};
    if (fixed) var.value = InferTag{{}, "Large Array", "CONST"};
    note_values(op, {use.value});
    add_footprint(op, Json::Object{}, use.state.type.bytes().value(), 0);
  }

  void add_feed(ir::ValueId id) {
    Operator& op = add_operator("Host2DeviceCopy", graph_.value(id).name, {});
    add_var(op, id, "RT_STATIC");
    note_values(op, {id});
    add_footprint(op, Json::Object{}, graph_.type(id).bytes().value(), 0);
  }

  void add_node(std::size_t i) {
    const ir::Node& node = graph_.nodes[i];
    std::vector<Id> inputs;
    Json::Array left_out;
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      if (node.inputs[k] == ir::kNone) {
        left_out.push_back(static_cast<std::int64_t>(k));
      } else {
        inputs.push_back(var_of_.at(node.inputs[k]));
      }
    }
    const std::optional<Array> literal = shown_literal(node);
    Word word = literal ? Word{"ImmutableTensor"} : word_for(graph_, node);
    Operator& op = add_operator(word.type, graph_.value(node.outputs[0]).name, std::move(inputs));
    if (!node.path.empty()) op.extra.push_back({std::string(kPath), node.path});
    if (!node.source.file.empty()) {
      op.extra.push_back({std::string(kSource), str(node.source.file, ":", node.source.line)});
    }
    if (node.opaque) op.extra.push_back({std::string(kOpaque), "true"});
    if (!left_out.empty()) op.extra.push_back({std::string(kLeftOut), std::move(left_out)});
    for (ir::ValueId out : node.outputs) add_var(op, out, literal ? "CONST" : "RT_STATIC");
    if (literal) write_literal(record_.vars.back(), *literal);
    if (is_contiguous_view(node)) share_memory(op);
    note_values(op, node.outputs);
    add_footprint(op, std::move(word.param), plait::bytes_of(graph_, node).value(),
                  operations_of(graph_, node).value());
    add_times(op, i);
  }

  static bool is_contiguous_view(const ir::Node& node) {
    return !node.opaque && (node.op == ops::reshape.name || node.op == ops::squeeze.name ||
                            node.op == ops::unsqueeze.name);
  }
  /// The elements of the operand under another shape: no memory of their own.
  void share_memory(const Operator& op) {
    Var& var = record_.vars.back();
    var.readonly_src = op.inputs[0];
    var.mem_plan->chunk = record_.vars[place_of_var_.at(op.inputs[0])].mem_plan->chunk;
    record_.chunks.pop_back();
  }

  /// A constant whose numbers JSON can show.
  static std::optional<Array> shown_literal(const ir::Node& node) {
    if (node.opaque || node.op != ops::constant.name) return std::nullopt;
    const Array& array = *ir::decode<ops::Constant>(node.attrs, node.op).value.array;
    if (array.count() > kShownNumbers) return std::nullopt;
    for (std::int64_t i = 0; i < array.count(); ++i) {
      const double x = array.real(i);
      if (!std::isfinite(x) || (x == 0 && std::signbit(x))) return std::nullopt;
      if (std::fabs(x) > 9e15) return std::nullopt;  // beyond what a double counts in ones
    }
    return array;
  }
  static void write_literal(Var& var, const Array& array) {
    Json::Array numbers;
    for (std::int64_t i = 0; i < array.count(); ++i) {
      numbers.push_back(is_float(array.dtype()) ? Json(array.real(i)) : Json(array.integer(i)));
    }
    var.value = InferTag{{}, std::move(numbers), "CONST"};
    var.flags = {"ALLOW_EMPTY_SHAPE", std::string(kPersistentFlag)};
  }

  void add_times(const Operator& op, std::size_t node) {
    if (times_.nodes.empty()) return;
    const NodeTime& t = times_.nodes[node];
    const Span span{t.end, t.start, t.start};
    record_.profiler->host->push_back({op.id, {{kThread, span}}});
    record_.profiler->device->push_back({op.id, {{kCompNode, span}}});
  }

  /// The value's var overwrites the state's; through a copy where that var is taken.
  void add_next(const ir::NextState& next) {
    const Id state = var_of_.at(graph_.find_state(next.state)->value);
    if (graph_.value(next.value).producer != ir::kNone && overwriting_.insert(next.value).second) {
      record_.vars[place_of_var_.at(var_of_.at(next.value))].force_update_src = state;
      return;
    }
    Operator& op = add_operator("Copy", "next_" + next.state, {var_of_.at(next.value)});
    var_of_.erase(next.value);
    Var& var = add_var(op, next.value, "RT_STATIC");
    var.name = "next_" + next.state;
    var.force_update_src = state;
    var_of_[next.value] = op.inputs[0];
    note_values(op, {next.value});
    add_footprint(op, Json::Object{}, 2 * graph_.type(next.value).bytes().value(), 0);
  }

  void add_fetch(const ir::Fetch& fetch) {
    Operator& op = add_operator("OutputCallback", fetch.name, {var_of_.at(fetch.value)});
    add_footprint(op, Json::Object{}, graph_.type(fetch.value).bytes().value(), 0);
  }

  static std::string init_text(const ir::Init& init) {
    std::string attrs;
    for (const auto& [name, value] : init.attrs) {
      attrs += str(attrs.empty() ? "" : ", ", name, "=", ir::attr_text(value));
    }
    return attrs.empty() ? init.kind : str(init.kind, "(", attrs, ")");
  }

  const ir::Graph& graph_;
  const RunTimes& times_;
  Record record_;
  Id next_id_ = 0;
  std::unordered_map<std::string, ir::ValueId> updated_;  // states with a next value
  std::unordered_map<ir::ValueId, Id> var_of_;
  std::unordered_map<Id, ir::ValueId> value_of_;      // by var
  std::unordered_map<Id, std::size_t> place_of_var_;  // in the record
  std::unordered_map<Id, std::int64_t> step_of_op_, step_of_var_;
  std::unordered_set<ir::ValueId> overwriting_;
};

}  // namespace

Record from_graph(const ir::Graph& graph, const RunTimes& times) {
  return Writer(graph, times).write();
}

}  // namespace plait::io::megengine
