// The checks on a record, in the order of the document.
#include "io/aitemplate/check.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "io/import.h"

namespace plait::io::aitemplate {
namespace {

struct NamedDType {
  std::string_view name;
  DType dtype;
};
// The first name of a dtype is the one that is written.
constexpr NamedDType kDTypes[] = {
    {"float16", DType::f16}, {"float32", DType::f32},   {"float", DType::f32},
    {"half", DType::f16},    {"bfloat16", DType::bf16}, {"float64", DType::f64},
    {"double", DType::f64},  {"int64", DType::i64},     {"int32", DType::i32},
    {"int", DType::i32},     {"int16", DType::i16},     {"int8", DType::i8},
    {"uint8", DType::u8},    {"bool", DType::boolean}};

// Offsets and sums of bytes stay far from what 64 bits hold.
constexpr std::int64_t kMaxBytes = std::int64_t{1} << 60;

class Checker {
 public:
  explicit Checker(const Record& record) : r_(record) {}

  void run() {
    if (r_.tensors.empty()) fail({1, 1}, "the document holds no tensors; was it cut?");
    for (const TensorRecord& t : r_.tensors) tensor(t);
    for (const OperatorRecord& op : r_.operators) collect(op, op.name);
    for (const OperatorRecord& op : r_.operators) links(op);
    for (const TensorRecord& t : r_.tensors) links(t);
    order();
  }

 private:
  template <class... Parts>
  [[noreturn]] void fail(At at, const Parts&... parts) const {
    plait::fail(r_.file, ":", at.line, ":", at.column, ": ", parts...);
  }

  void dims(const std::vector<IntVar>& shape, const std::string& what) {
    Sizes most;
    for (const IntVar& d : shape) {
      const std::string name = d.name ? "'" + *d.name + "' " : "";
      if (d.values.empty()) fail(d.at, "dimension ", name, "of ", what, " has no values");
      if (d.lo() < 0) fail(d.at, "dimension ", name, "of ", what, " is negative: ", d.lo());
      if (!std::is_sorted(d.values.begin(), d.values.end())) {
        fail(d.at, "the range of dimension ", name, "of ", what, " is upside down: ", d.lo(),
             " to ", d.hi());
      }
      const PyValue* symbol = d.symbolic_value ? &*d.symbolic_value : nullptr;
      if (symbol && symbol->is(PyValue::kInt) && !(d.is_const() && symbol->whole == d.lo())) {
        fail(d.at, "dimension ", name, "of ", what, " is ", range_text(d), " by its values and ",
             symbol->whole, " by its symbolic_value");
      }
      most.push_back(d.hi());
      one_range(d, what);
    }
    if (const std::string why = why_bad_sizes(most); !why.empty()) {
      fail(shape.front().at, "the shape of ", what, ": ", why);
    }
  }

  static std::string range_text(const IntVar& d) {
    return d.is_const() ? std::to_string(d.lo()) : str(d.lo(), " to ", d.hi());
  }

  /// Equal names are equal dimensions.
  void one_range(const IntVar& d, const std::string& what) {
    if (!d.name) return;
    const auto [it, fresh] = ranges_.emplace(*d.name, &d);
    const IntVar& first = *it->second;
    if (fresh || (first.lo() == d.lo() && first.hi() == d.hi())) return;
    fail(d.at, "dimension '", *d.name, "' is ", range_text(d), " in ", what, ", but ",
         range_text(first), " at line ", first.at.line, "; equal names are equal dimensions");
  }

  void tensor(const TensorRecord& t) {
    if (t.name.empty()) fail(t.at, "a tensor's name is empty");
    if (!tensors_.emplace(t.name, &t).second) {
      fail(t.at, "tensor '", t.name, "' stands twice; first at line ",
           tensors_.at(t.name)->at.line);
    }
    if (!dtype_of(t.dtype)) {
      std::vector<std::string> known;
      for (const NamedDType& d : kDTypes) known.emplace_back(d.name);
      fail(t.at, "tensor '", t.name, "' has the unknown dtype '", t.dtype, "'.",
           suggestion(t.dtype, known));
    }
    dims(t.shape, "tensor '" + t.name + "'");
    if (t.is_input && !t.src_ops.empty()) {
      fail(t.at, "tensor '", t.name, "' is an input, but operator '", t.src_ops[0],
           "' is said to make it");
    }
    figure(t.at, "tensor '" + t.name + "'", "offset", t.offset);
    bytes(t);
    const bool number = t.value && (t.value->is(PyValue::kInt) || t.value->is(PyValue::kFloat));
    if (t.shape.empty() && t.value && !number) {
      fail(t.value->at, "the value of the constant '", t.name, "' is ", describe(*t.value),
           ", expected a number that 64 bits hold");
    }
  }

  /// An offset or a size in bytes or elements, where it is given.
  void figure(At at, const std::string& what, const char* key, std::optional<std::int64_t> n) {
    if (!n || (*n >= 0 && *n <= kMaxBytes)) return;
    if (*n < 0) fail(at, what, " has the negative ", key, " ", *n);
    fail(at, what, " has the ", key, " ", *n, ", which is more than 2^60");
  }

  void bytes(const TensorRecord& t) {
    auto size = static_cast<std::int64_t>(size_of(*dtype_of(t.dtype)));
    for (const IntVar& d : t.shape) size *= d.hi();
    bytes_ += size;
    if (bytes_ > kMaxBytes) {
      fail(t.at, "the tensors up to '", t.name,
           "' have more than 2^60 bytes; are the sizes right?");
    }
  }

  void collect(const OperatorRecord& op, const std::string& kernel) {
    if (op.name.empty()) fail(op.at, "an operator's name is empty");
    if (!operators_.emplace(op.name, &op).second) {
      fail(op.at, "operator '", op.name, "' stands twice; first at line ",
           operators_.at(op.name)->at.line);
    }
    figure(op.at, "operator '" + op.name + "'", "workspace", op.workspace);
    if (op.epilogue_alignment.value_or(1) < 1) {
      fail(op.at, "operator '", op.name, "' has the epilogue_alignment ", *op.epilogue_alignment,
           ", expected how many elements are stored at once: 1 or more");
    }
    for (const std::string& name : op.inputs) reads_.emplace(op.name, name);
    for (const std::string& name : op.outputs) writes_.emplace(op.name, name);
    if (op.args) {
      for (const PyValue& arg : *op.args) {
        if (arg.is(PyValue::kText)) reads_.emplace(op.name, arg.text);
        if (arg.is(PyValue::kText)) reads_.emplace(kernel, arg.text);
      }
    }
    if (!op.elementwise_ops) return;
    if (&op != operators_.at(kernel)) fail(op.at, "elementwise_ops inside elementwise_ops");
    if (op.elementwise_ops->empty()) {
      fail(op.at, "operator '", op.name, "' fuses no elementwise_ops");
    }
    for (const OperatorRecord& inner : *op.elementwise_ops) collect(inner, kernel);
  }

  const TensorRecord& known(const OperatorRecord& op, const std::string& name, const char* verb) {
    const auto it = tensors_.find(name);
    if (it == tensors_.end()) {
      std::vector<std::string> names;
      for (const TensorRecord& t : r_.tensors) names.push_back(t.name);
      fail(op.at, "operator '", op.name, "' ", verb, " '", name, "', which is no tensor of the ",
           "document.", names.size() < 10'000 ? suggestion(name, names) : "");
    }
    return *it->second;
  }

  void links(const OperatorRecord& op) {
    for (const std::string& name : op.inputs) {
      const auto& readers = known(op, name, "reads").dst_ops;
      if (std::find(readers.begin(), readers.end(), op.name) == readers.end()) {
        fail(op.at, "operator '", op.name, "' reads '", name, "', whose dst_ops do not name it");
      }
    }
    std::set<std::string_view> written;
    for (const std::string& name : op.outputs) {
      const auto& writers = known(op, name, "writes").src_ops;
      if (std::find(writers.begin(), writers.end(), op.name) == writers.end()) {
        fail(op.at, "operator '", op.name, "' writes '", name, "', whose src_ops do not name it");
      }
      if (!written.insert(name).second) {
        fail(op.at, "operator '", op.name, "' writes '", name, "' twice");
      }
    }
    accessors(op, op.input_accessors, op.inputs, "input");
    accessors(op, op.output_accessors, op.outputs, "output");
    if (op.original_inputs && op.op != "concatenate" &&
        op.original_inputs->size() != op.inputs.size()) {
      fail(op.at, "operator '", op.name, "' has ", counted(op.inputs.size(), "input", "inputs"),
           " and ", counted(op.original_inputs->size(), "original_input", "original_inputs"));
    }
    if (op.elementwise_ops) inner_links(op);
  }

  /// Arguments of fused scalar ops are operands of the kernel, or results of an op before.
  void inner_links(const OperatorRecord& op) {
    std::set<std::string_view> here(op.inputs.begin(), op.inputs.end());
    if (op.original_inputs) here.insert(op.original_inputs->begin(), op.original_inputs->end());
    for (const OperatorRecord& inner : *op.elementwise_ops) {
      if (!inner.args) fail(inner.at, "elementwise op '", inner.name, "' has no 'args'");
      for (const PyValue& arg : *inner.args) {
        if (!arg.is(PyValue::kText)) continue;
        if (!here.contains(arg.text) && !tensors_.contains(arg.text)) {
          fail(arg.at, "elementwise op '", inner.name, "' takes '", arg.text, "', which neither ",
               "goes into '", op.name, "' nor is made before it");
        }
      }
      here.insert(inner.outputs.begin(), inner.outputs.end());
    }
  }

  void accessors(const OperatorRecord& op, const std::optional<std::vector<Accessor>>& list,
                 const std::vector<std::string>& operands, const char* side) {
    if (!list) return;
    if (list->size() != operands.size()) {
      const std::string one = side;
      fail(op.at, "operator '", op.name, "' has ", counted(operands.size(), one, one + "s"),
           " and ", counted(list->size(), one + "_accessor", one + "_accessors"));
    }
    for (std::size_t i = 0; i < list->size(); ++i) {
      const Accessor& a = (*list)[i];
      const std::string what = str("the accessor of '", operands[i], "' in '", op.name, "'");
      dims(a.original_shapes, what);
      if (a.actual_shapes) dims(*a.actual_shapes, what);
      figure(a.at, what, "offset", a.offset);
      for (const auto& n :
           {a.original_total_elements_from_stride_dim, a.actual_total_elements_from_stride_dim}) {
        figure(a.at, what, "total_elements_from_stride_dim", n);
      }
      if (!a.stride_dim) continue;
      if (!a.actual_shapes || !a.original_total_elements_from_stride_dim) {
        fail(a.at, what, " has a stride_dim, but no actual_shapes or total elements");
      }
      const auto rank = static_cast<std::int64_t>(a.actual_shapes->size());
      if (*a.stride_dim < 0 || *a.stride_dim >= rank) {
        fail(a.at, what, " cuts axis ", *a.stride_dim, " of ", rank);
      }
    }
  }

  void links(const TensorRecord& t) {
    const auto agree = [&](const std::vector<std::string>& names,
                           const std::set<std::pair<std::string_view, std::string_view>>& done,
                           const char* key, const char* verb) {
      for (const std::string& name : names) {
        if (!operators_.contains(name)) {
          fail(t.at, "tensor '", t.name, "' names '", name, "' in ", key,
               ", but no operator has that name");
        }
        if (!done.contains({name, t.name})) {
          fail(t.at, "tensor '", t.name, "' names '", name, "' in ", key, ", but '", name,
               "' does not ", verb, " it");
        }
      }
    };
    agree(t.src_ops, writes_, "src_ops", "write");
    agree(t.dst_ops, reads_, "dst_ops", "read");
  }

  /// Operators stand in execution order: a tensor is read after all that write it.
  void order() {
    std::unordered_map<std::string_view, std::size_t> written;
    for (const OperatorRecord& op : r_.operators) {
      for (const std::string& name : op.inputs) {
        if (written[name] < tensors_.at(name)->src_ops.size()) {
          fail(op.at, "operator '", op.name, "' reads '", name, "' before ",
               join(tensors_.at(name)->src_ops, ", "), " made it; are operators out of order?");
        }
      }
      for (const std::string& name : op.outputs) ++written[name];
    }
  }

  const Record& r_;
  std::int64_t bytes_ = 0;  // of the tensors so far, at the upper end of every range
  std::unordered_map<std::string_view, const TensorRecord*> tensors_;
  std::unordered_map<std::string_view, const OperatorRecord*> operators_;
  std::unordered_map<std::string_view, const IntVar*> ranges_;
  std::set<std::pair<std::string_view, std::string_view>> reads_, writes_;  // operator, tensor
};

}  // namespace

void check_record(const Record& record) { Checker(record).run(); }

std::optional<DType> dtype_of(std::string_view name) {
  for (const NamedDType& d : kDTypes) {
    if (d.name == name) return d.dtype;
  }
  return std::nullopt;
}

std::string_view dtype_text(DType dtype) {
  for (const NamedDType& d : kDTypes) {
    if (d.dtype == dtype) return d.name;
  }
  return "";
}

}  // namespace plait::io::aitemplate
