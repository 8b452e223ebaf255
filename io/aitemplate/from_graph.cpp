// Graph to record: tensors with who writes and reads them, operators in AITemplate's words where it
// has them and by Plait's names and attributes otherwise.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "io/aitemplate/attrs.h"
#include "io/aitemplate/check.h"
#include "io/aitemplate/format.h"
#include "io/aitemplate/words.h"
#include "ops/constant.h"
#include "ops/table.h"

namespace plait::io::aitemplate {
namespace {

void sort_keys(std::vector<Entry>& rest) {
  std::stable_sort(rest.begin(), rest.end(),
                   [](const Entry& a, const Entry& b) { return a.key.text < b.key.text; });
}

/// The number of a constant that is one; null otherwise.
const Array* number_of(const ir::Node& node) {
  if (node.opaque || node.op != ops::constant.name) return nullptr;
  const ir::AttrValue* value = node.attrs.find("value");
  const auto* literal = value ? std::get_if<ir::Literal>(value) : nullptr;
  return literal && literal->array && literal->array->sizes().empty() ? literal->array.get()
                                                                      : nullptr;
}

class Teller {
 public:
  explicit Teller(const ir::Graph& graph)
      : g_(graph), names_(graph.values.size()), numbers_(graph.values.size()) {}

  Record run() {
    if (!g_.nexts.empty()) {
      fail("graph ", g_.name, " changes state ", g_.nexts[0].state,
           "; AITemplate's documents hold inference alone. Build it without train=1");
    }
    name_values();
    for (ir::ValueId id : g_.feeds) tensor(id).is_input = true;
    for (const ir::StateUse& use : g_.states) state(use);
    for (const ir::Node& node : g_.nodes) {
      if (const Array* number = number_of(node)) {
        constant(node, *number);
      } else {
        op(node);
      }
    }
    for (const ir::Fetch& fetch : g_.fetches) output(fetch);
    if (r_.tensors.empty()) {
      fail("graph ", g_.name, " has no values; AITemplate's documents hold at least one tensor");
    }
    for (OperatorRecord& o : r_.operators) sort_keys(o.rest);
    for (TensorRecord& t : r_.tensors) sort_keys(t.rest);
    return std::move(r_);
  }

 private:
  static std::size_t index(ir::ValueId id) { return static_cast<std::size_t>(id); }
  std::string fresh(const std::string& stem) {
    std::string name = stem;
    for (int n = 1; !taken_.insert(name).second; ++n) name = str(stem, "_", n);
    return name;
  }

  /// Feeds and states keep their names; a result that is fetched has the fetch's.
  void name_values() {
    for (ir::ValueId id : g_.feeds) names_[index(id)] = fresh(g_.value(id).name);
    for (const ir::StateUse& use : g_.states) names_[index(use.value)] = fresh(use.state.name);
    for (const ir::Fetch& fetch : g_.fetches) {
      std::string& name = names_[index(fetch.value)];
      if (name.empty() && !taken_.contains(fetch.name)) name = fresh(fetch.name);
    }
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (names_[i].empty()) names_[i] = fresh(g_.values[i].name);
    }
  }

  TensorRecord& tensor(ir::ValueId id, const std::string& name) {
    places_[name] = r_.tensors.size();
    TensorRecord& t = r_.tensors.emplace_back();
    const ir::Type& type = g_.type(id);
    t.name = name;
    t.dtype = dtype_text(type.dtype);
    t.shape = int_vars(type.shape, name);
    t.is_param = false;
    t.is_internal_constant = false;
    for (const char* key : {"check_nan_and_inf", "check_outputs", "has_output_aliases", "nop",
                            "skip_constant_folding"}) {
      t.rest.push_back({PyValue::of(key), PyValue::of(false)});
    }
    for (const char* key : {"constant_folding_output_idx", "external_tensor", "original_name"}) {
      t.rest.push_back({PyValue::of(key), {}});
    }
    if (!type.place.empty()) {
      t.rest.push_back({PyValue::of("place"), PyValue::of(ir::place_text(type.place))});
    }
    t.rest.push_back({PyValue::of("depth"), PyValue::of(depths_[name])});
    return t;
  }
  TensorRecord& tensor(ir::ValueId id) { return tensor(id, names_[index(id)]); }
  TensorRecord& find(const std::string& name) { return r_.tensors[places_.at(name)]; }

  void state(const ir::StateUse& use) {
    TensorRecord& t = tensor(use.value);
    t.is_param = true;
    const ir::Init& init = use.state.init;
    t.rest.push_back(
        {PyValue::of("role"), PyValue::of(std::string(ir::role_name(use.state.role)))});
    t.rest.push_back(
        {PyValue::of("init"), PyValue::dict({{PyValue::of("attrs"), py_of_attrs(init.attrs)},
                                             {PyValue::of("kind"), PyValue::of(init.kind)}},
                                            false)});
  }

  void constant(const ir::Node& node, const Array& number) {
    numbers_[index(node.outputs[0])] = true;
    TensorRecord& t = tensor(node.outputs[0]);
    t.is_internal_constant = true;
    t.value =
        is_float(number.dtype()) ? PyValue::of(number.real(0)) : PyValue::of(number.integer(0));
  }

  OperatorRecord& op_named(const std::string& kind) {
    OperatorRecord& o = r_.operators.emplace_back();
    o.name = fresh_op(str(kind, "_", r_.operators.size() - 1));
    o.rest = {{PyValue::of("nop"), PyValue::of(false)},
              {PyValue::of("original_name"), PyValue::of(o.name)}};
    return o;
  }
  std::string fresh_op(const std::string& stem) {
    std::string name = stem;
    for (int n = 1; !op_names_.insert(name).second; ++n) name = str(stem, "_", n);
    return name;
  }

  void op(const ir::Node& node) {
    OperatorRecord& o = op_named(node.op);
    for (ir::ValueId id : node.outputs) o.outputs.push_back(names_[index(id)]);
    for (ir::ValueId id : node.inputs) {
      if (id != ir::kNone) o.inputs.push_back(names_[index(id)]);
    }
    Sentence s{g_, node, names_, numbers_, o};
    if (node.opaque || !in_words(s)) by_own_name(s);
    s.set("has_profiler", PyValue::of(o.epilogue.has_value()));
    if (!node.path.empty()) s.set("path", PyValue::of(node.path));
    std::int64_t depth = 0;
    for (const std::string& name : o.inputs) depth = std::max(depth, depths_[name]);
    s.set("depth", PyValue::of(depth));
    link(o, node, depth);
  }

  void by_own_name(Sentence& s) {
    s.op.op = s.node.op;
    s.set("attrs", py_of_attrs(s.node.attrs));
    if (s.node.opaque) s.set("opaque", PyValue::of(true));
    if (std::find(s.node.inputs.begin(), s.node.inputs.end(), ir::kNone) == s.node.inputs.end()) {
      return;
    }
    std::vector<PyValue> operands;
    for (ir::ValueId id : s.node.inputs) {
      operands.push_back(id == ir::kNone ? PyValue{} : PyValue::of(names_[index(id)]));
    }
    s.set("operands", PyValue::list(std::move(operands)));
  }

  void link(const OperatorRecord& o, const ir::Node& node, std::int64_t depth) {
    const auto reads = [&](const std::string& name) {
      std::vector<std::string>& readers = find(name).dst_ops;
      if (std::find(readers.begin(), readers.end(), o.name) == readers.end()) {
        readers.push_back(o.name);
      }
    };
    for (const std::string& name : o.inputs) reads(name);
    if (o.args) {
      for (const PyValue& arg : *o.args) {
        if (arg.is(PyValue::kText)) reads(arg.text);
      }
    }
    for (ir::ValueId id : node.outputs) {
      depths_[names_[index(id)]] = depth + 1;
      TensorRecord& t = tensor(id);
      t.src_ops = {o.name};
      if (!node.opaque && is_view(node) && o.inputs.size() == 1) {
        t.is_view_of = PyValue::of(o.inputs[0]);
      }
    }
  }

  /// The tensor of that name is the output; where it cannot be, a copy of it is.
  void output(const ir::Fetch& fetch) {
    const std::string& name = names_[index(fetch.value)];
    if (name == fetch.name && g_.value(fetch.value).producer != ir::kNone) {
      find(name).is_output = true;
      return;
    }
    OperatorRecord& o = op_named("identity");
    o.op = "identity";
    o.inputs = {name};
    o.outputs = {fresh(fetch.name)};
    const std::int64_t depth = depths_[name];
    o.rest.push_back({PyValue::of("depth"), PyValue::of(depth)});
    o.rest.push_back({PyValue::of("has_profiler"), PyValue::of(false)});
    find(name).dst_ops.push_back(o.name);
    depths_[o.outputs[0]] = depth + 1;
    TensorRecord& t = tensor(fetch.value, o.outputs[0]);
    t.src_ops = {o.name};
    t.is_output = true;
  }

  const ir::Graph& g_;
  Record r_;
  std::vector<std::string> names_;  // of values, in the document
  std::vector<bool> numbers_;
  std::unordered_set<std::string> taken_, op_names_;
  std::unordered_map<std::string, std::size_t> places_;
  std::unordered_map<std::string, std::int64_t> depths_;
};

}  // namespace

Record from_graph(const ir::Graph& graph) { return Teller(graph).run(); }

}  // namespace plait::io::aitemplate
