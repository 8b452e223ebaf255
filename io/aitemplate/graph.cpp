// Record to graph: feeds, states and constants, then every operator in its order; absorbed splits
// and concats become nodes again.
#include <unordered_map>

#include "base/text.h"
#include "io/aitemplate/attrs.h"
#include "io/aitemplate/check.h"
#include "io/aitemplate/format.h"
#include "io/aitemplate/kernel.h"
#include "io/aitemplate/parts.h"
#include "ops/initializers.h"
#include "ops/shape.h"
#include "ops/table.h"

namespace plait::io::aitemplate {
namespace {

constexpr std::size_t kMaxForNames = 20'000;  // operators of a document whose sizes get names

/// The file holds no values: small numbers, so that a run shows something.
ir::Init init_of(const TensorRecord& t, DType dtype, const DimResolver& resolve) {
  if (const PyValue* init = find_entry(t.rest, "init")) {
    const PyValue *kind = init->find("kind"), *attrs = init->find("attrs");
    if (kind && kind->is(PyValue::kText) && attrs) {
      return {kind->text, attrs_of_py(*attrs, resolve)};
    }
  }
  if (!is_float(dtype)) return {};
  return t.shape.size() < 2 ? init::make(init::Normal{.std = 0.02}) : init::make(init::Xavier{});
}

ir::Role role_of(const TensorRecord& t) {
  const PyValue* role = find_entry(t.rest, "role");
  for (ir::Role r : {ir::Role::kParam, ir::Role::kBuffer, ir::Role::kSlot, ir::Role::kCounter}) {
    if (role && role->is(PyValue::kText) && role->text == ir::role_name(r)) return r;
  }
  return ir::Role::kParam;
}

/// Results that are sizes, not tensors: what uses them reads shapes from the tensors.
bool makes_sizes(const OperatorRecord& op) {
  return op.op == "size" || op.op == "getitem" || op.op == "int_elementwise" ||
         op.op == "list_construct" || op.op == "tuple_construct";
}

class Assembly {
 public:
  Assembly(const Record& record, bool named) : r_(record), sizes_(record, named), b_("model") {}

  Import run() {
    for (const TensorRecord& t : r_.tensors) declare(t);
    for (const OperatorRecord& op : r_.operators) convert(op);
    Import import;
    for (const TensorRecord& t : r_.tensors) {
      if (!t.is_output) continue;
      if (numbers_.contains(t.name)) keep(t.name, b_.constant(numbers_[t.name], type_of(t)));
      const Tensor value = values_[t.name];
      if (!value) fail_at(t, "is an output, but a size and no tensor");
      b_.fetch(t.name, value);
    }
    import.package.graphs.push_back(renamed(b_.take(), names_));
    sizes_.finish(import);
    return import;
  }

 private:
  template <class... Parts>
  [[noreturn]] void fail_at(const TensorRecord& t, const Parts&... parts) const {
    fail(r_.file, ":", t.at.line, ":", t.at.column, ": tensor '", t.name, "' ", parts...);
  }
  static DType type_of(const TensorRecord& t) { return dtype_of(t.dtype).value_or(DType::f32); }
  Dim resolve(std::string_view name) const { return sizes_.symbol(name); }

  void declare(const TensorRecord& t) {
    tensors_[t.name] = &t;
    if (!t.src_ops.empty()) return;
    const DType dtype = type_of(t);
    if (t.is_input) {
      values_[t.name] = b_.feed(t.name, dtype, sizes_.of(t.shape));
      return;
    }
    const PyValue* number = t.shape.empty() && t.value ? &*t.value : nullptr;
    if (number) {
      numbers_[t.name] =
          number->is(PyValue::kInt) ? static_cast<double>(number->whole) : number->real;
      return;
    }
    const ir::Type type{dtype, sizes_.of(t.shape)};
    const auto resolver = [this](std::string_view name) { return resolve(name); };
    const ir::State state{t.name, type, role_of(t), init_of(t, dtype, resolver)};
    values_[t.name] = b_.value(b_.graph().add_state(state));
  }

  Argument lookup(const OperatorRecord& op, const std::string& name) {
    if (const auto it = numbers_.find(name); it != numbers_.end()) return it->second;
    const auto it = values_.find(name);
    if (it == values_.end() || !it->second) {
      fail(r_.file, ":", op.at.line, ":", op.at.column, ": operator '", op.name, "' takes '", name,
           "', which has no value there");
    }
    return it->second;
  }

  /// The operand as the operator sees it; scalar ops take numbers as numbers.
  Tensor operand(Kernel& k, std::size_t i) {
    const std::string& name = k.op.inputs[i];
    if (const auto it = numbers_.find(name); it != numbers_.end()) {
      if (k.op.elementwise_ops || k.op.op == "elementwise") return {};
      return b_.constant(it->second, type_of(*tensors_.at(name)));
    }
    const Tensor t = values_[name];
    if (!t || !k.op.input_accessors) return t;
    return accessed(k, t, *tensors_.at(name), (*k.op.input_accessors)[i]);
  }

  void convert(const OperatorRecord& op) {
    const PyValue* path = op.find("path");
    b_.set_path(path && path->is(PyValue::kText) ? path->text : op.name);
    b_.set_source(ir::Source{r_.file, op.at.line});
    Kernel k{b_, sizes_, r_.file, op, {}, {}, [&](const std::string& n) { return lookup(op, n); }};
    for (std::size_t i = 0; i < op.outputs.size(); ++i) {
      k.shapes.push_back(op.output_accessors ? (*op.output_accessors)[i].original_shapes
                                             : tensors_.at(op.outputs[i])->shape);
    }
    if (makes_sizes(op)) return;
    for (std::size_t i = 0; i < op.inputs.size(); ++i) k.in.push_back(operand(k, i));
    if (joins_in_part(op)) {
      for (const Tensor& part : k.in) store(k, 0, part, false);
      finish_part(k, op.outputs[0]);
      return;
    }
    const std::vector<Tensor> results = make(k);
    if (results.size() != op.outputs.size()) {
      k.fail("has ", counted(op.outputs.size(), "output", "outputs"), ", makes ", results.size());
    }
    for (std::size_t i = 0; i < results.size(); ++i) {
      store(k, i, results[i], true);
      finish_part(k, op.outputs[i]);
    }
  }

  std::vector<Tensor> make(Kernel& k) {
    if (k.op.find("attrs")) {
      if (Results results = plait_op(k)) return *results;
      return opaque(k);
    }
    for (const auto family : {contraction, elementwise, layer, move}) {
      if (Results results = family(k)) return *results;
    }
    return opaque(k);
  }

  std::vector<Tensor> opaque(Kernel& k) {
    ir::Node node;
    node.op = k.op.op;
    node.opaque = true;
    node.path = b_.path();
    node.source = {r_.file, k.op.at.line};
    const PyValue* attrs = k.op.find("attrs");
    const auto resolver = [this](std::string_view name) { return resolve(name); };
    node.attrs = attrs ? attrs_of_py(*attrs, resolver) : known_attrs(k.op.rest);
    std::vector<ir::Type> types;
    for (std::size_t i = 0; i < k.in.size(); ++i) {
      const std::string& name = k.op.inputs[i];
      if (const auto it = numbers_.find(name); !k.in[i] && it != numbers_.end()) {
        k.in[i] = b_.constant(it->second, type_of(*tensors_.at(name)));
      }
      node.inputs.push_back(k.in[i] ? k.in[i].id() : ir::kNone);
    }
    for (std::size_t i = 0; i < k.op.outputs.size(); ++i) {
      types.push_back({type_of(*tensors_.at(k.op.outputs[i])), sizes_.of(k.shapes[i])});
    }
    std::vector<Tensor> out;
    const ir::NodeId id = b_.graph().add_node(std::move(node), types);
    for (ir::ValueId v : b_.graph().node(id).outputs) out.push_back(b_.value(v));
    return out;
  }

  /// A result, or a part of one, under the document's name. `placed`: its accessor says where.
  void store(Kernel& k, std::size_t i, Tensor y, bool placed) {
    const TensorRecord& t = *tensors_.at(k.op.outputs[i]);
    if (placed) expect(k, y, k.shapes[i], type_of(t), t.name);
    const Accessor* a = placed && k.op.output_accessors ? &(*k.op.output_accessors)[i] : nullptr;
    if (!placed) {
      parts_[t.name].push_back({-1, 0, y});
    } else if (const std::optional<Part> part = a ? written_part(k, y, t, *a) : std::nullopt) {
      parts_[t.name].push_back(*part);
      axes_[t.name] = *a->stride_dim;
    } else if (t.src_ops.size() > 1) {
      k.fail("writes the whole of '", t.name, "', which ", join(t.src_ops, ", "), " write");
    } else {
      keep(t.name, a ? k.reshape(y, t.shape) : y);
    }
  }

  void keep(const std::string& name, Tensor y) {
    // One value has one name: what is there already is copied.
    const bool made_here = b_.graph().value(y.id()).producer != ir::kNone;
    if (!made_here || names_.contains(y.id())) y = b_.add(ops::copy, {y}, {})[0];
    names_[y.id()] = name;
    values_[name] = y;
  }

  /// After the last of the operators that write parts of a tensor: the parts joined.
  void finish_part(Kernel& k, const std::string& name) {
    const auto it = parts_.find(name);
    if (it == parts_.end() || ++writers_[name] < tensors_.at(name)->src_ops.size()) return;
    const TensorRecord& t = *tensors_.at(name);
    keep(name, joined_parts(k, t, it->second, axes_.contains(name) ? axes_[name] : -1));
  }

  const Record& r_;
  SizeTable sizes_;
  Builder b_;
  std::unordered_map<std::string, const TensorRecord*> tensors_;
  std::unordered_map<std::string, Tensor> values_;
  std::unordered_map<std::string, double> numbers_;  // tensors that are one number
  std::unordered_map<std::string, std::vector<Part>> parts_;
  std::unordered_map<std::string, std::int64_t> axes_;
  std::unordered_map<std::string, std::size_t> writers_;
  std::map<ir::ValueId, std::string> names_;
};

}  // namespace

Results plait_op(Kernel& k) {
  const Op* op = find_op(k.op.op);
  if (!op || k.flag("opaque", false)) return std::nullopt;
  const auto resolve = [&](std::string_view name) { return k.sizes.symbol(name); };
  const ir::Attrs attrs = attrs_of_py(k.attribute("attrs"), resolve);
  std::vector<Tensor> operands = k.in;
  if (const PyValue* list = k.op.find("operands")) {  // with None where one is left out
    operands.clear();
    std::size_t next = 0;
    for (const PyValue& item : list->items) {
      const bool here = !item.is(PyValue::kNone) && next < k.in.size();
      operands.push_back(here ? k.in[next++] : Tensor());
    }
  }
  return k.b.add(*op, operands, attrs);
}

Import to_graphs(const Record& record) {
  const bool small = record.operators.size() <= kMaxForNames;
  return import_with_sizes([&](bool named) {
    if (named && !small) fail("the document has ", record.operators.size(), " operators");
    return Assembly(record, named).run();
  });
}

}  // namespace plait::io::aitemplate
