// Which op of ours is which operator of AITemplate's, with the keys that it prints.
#include "io/aitemplate/words.h"

#include <algorithm>
#include <unordered_map>

#include "base/error.h"
#include "io/aitemplate/attrs.h"
#include "io/aitemplate/check.h"
#include "io/aitemplate/fields.h"
#include "ops/activation.h"
#include "ops/arithmetic.h"
#include "ops/compare.h"
#include "ops/norm.h"
#include "ops/pool.h"
#include "ops/reduce.h"
#include "ops/shape.h"

namespace plait::io::aitemplate {
namespace {

constexpr std::string_view kFuncNames[] = {"ADD",      "SUB",   "MUL",        "DIV",
                                           "TANH",     "COS",   "SIN",        "SIGN",
                                           "ABS",      "LOGE",  "EXP",        "SQRT",
                                           "MAX",      "MIN",   "SIGMOID",    "LRELU",
                                           "HARDTANH", "RELU",  "NAN_TO_NUM", "CLAMP_NAN_TO_NUM",
                                           "SILU",     "POW",   "GELU",       "FASTGELU",
                                           "SOFTPLUS", "ELU",   "SOFTSIGN",   "FLOOR_DIV",
                                           "CELU",     "FLOOR", "LOG1P",      "RECIPROCAL"};

PyValue func_value(std::string_view name) {
  const auto* at = std::find(std::begin(kFuncNames), std::end(kFuncNames), name);
  return PyValue::foreign(str("<FuncEnum.", name, ": ", at - std::begin(kFuncNames) + 1, ">"));
}

/// Arguments by name; constants of one number are arguments, but no inputs.
bool scalar(Sentence& s, std::string_view func, const std::vector<double>& more = {}) {
  std::vector<PyValue> args;
  std::vector<std::string> inputs;
  for (ir::ValueId id : s.node.inputs) {
    const auto at = static_cast<std::size_t>(id);
    args.push_back(PyValue::of(s.names[at]));
    if (!s.numbers[at]) inputs.push_back(s.names[at]);
  }
  if (inputs.empty()) return false;
  for (double x : more) args.push_back(PyValue::of(x));
  s.op.op = "elementwise";
  s.op.args = std::move(args);
  s.op.inputs = std::move(inputs);
  s.op.func = func_value(func);
  return true;
}

bool elementwise_word(Sentence& s) {
  const std::string& op = s.node.op;
  if (op == "gelu") {
    const auto a = ir::decode<ops::Gelu>(s.node.attrs, op);
    return scalar(s, a.by_tanh() ? "FASTGELU" : "GELU");
  }
  for (const NamedOp& row : kUnaryFuncs) {
    if (row.op == op) return scalar(s, row.func);
  }
  for (const NamedOp& row : kBinaryFuncs) {
    if (row.op == op) return scalar(s, row.func);
  }
  if (op == "leaky_relu") {
    return scalar(s, "LRELU", {ir::decode<ops::LeakyRelu>(s.node.attrs, op).slope});
  }
  if (op == "elu") return scalar(s, "ELU", {ir::decode<ops::Elu>(s.node.attrs, op).alpha});
  if (op == "softplus") {
    const auto a = ir::decode<ops::Softplus>(s.node.attrs, op);
    return scalar(s, "SOFTPLUS", {a.beta, a.threshold});
  }
  if (op == "clip") {
    const auto a = ir::decode<ops::Clip>(s.node.attrs, op);
    return scalar(s, "HARDTANH", {a.lo, a.hi});
  }
  return false;
}

bool reduction(Sentence& s, const char* word) {
  auto a = ir::decode<ops::Reduction>(s.node.attrs, s.node.op);
  if (a.axes.empty()) {
    for (int i = 0; i < s.in(0).rank(); ++i) a.axes.push_back(i);
  }
  s.op.op = word;
  s.set("keepdim", PyValue::of(a.keep));
  s.set("output_type", {});
  s.set("reduction_axes", numbers_value(a.axes));
  return !a.axes.empty();
}

bool layer_norm(Sentence& s) {
  const auto a = ir::decode<ops::LayerNorm>(s.node.attrs, s.node.op);
  s.op.op = "layernorm";
  const auto has = [&](std::size_t i) {
    return i < s.node.inputs.size() && s.node.inputs[i] != ir::kNone;
  };
  const Shape& x = s.in(0).shape;
  std::vector<PyValue> over;
  for (std::size_t i = x.size() - static_cast<std::size_t>(a.last); i < x.size(); ++i) {
    over.push_back(py_of_dim(x[i]));
  }
  s.set("normalized_shape", PyValue::list(std::move(over)));
  s.set("eps", PyValue::of(a.eps));
  s.set("gamma_constant", has(1) ? PyValue{} : PyValue::of("1.0"));
  s.set("beta_constant", has(2) ? PyValue{} : PyValue::of("0.0"));
  return true;
}

template <class A>
bool pool(Sentence& s, const A& a, bool plain) {
  const std::optional<Sizes> pad = symmetric(a.padding);
  const Sizes stride = a.stride.empty() ? a.kernel : a.stride;
  if (!pad || !plain || a.ceil_mode || a.layout != "NHWC" || stride.size() != 2) return false;
  s.op.op = s.node.op;
  s.set("KH", PyValue::of(a.kernel[0]));
  s.set("KW", PyValue::of(a.kernel[1]));
  s.set("kernel_size", pair_value(a.kernel));
  s.set("pad", pair_value(*pad));
  s.set("reduce_func", PyValue::of(s.node.op == "max_pool2d" ? "max" : "avg"));
  s.set("stride", pair_value(stride));
  s.op.exec_path = std::vector<ExecPath>{{"true", PyValue::of("")}};
  return true;
}

bool all_numbers(const Shape& shape) {
  return std::all_of(shape.begin(), shape.end(), [](const Dim& d) { return d.is_const(); });
}

bool slice(Sentence& s) {
  const auto a = ir::decode<ops::Slice>(s.node.attrs, s.node.op);
  const bool steps = std::any_of(a.steps.begin(), a.steps.end(), [](auto n) { return n != 1; });
  if (steps || !all_numbers(a.starts) || !all_numbers(a.stops)) return false;
  const int rank = s.in(0).rank();
  std::vector<PyValue> from(static_cast<std::size_t>(rank), PyValue::of(0)), to(from.size());
  for (std::size_t i = 0; i < a.axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(a.axes[i] < 0 ? a.axes[i] + rank : a.axes[i]);
    from[axis] = PyValue::of(a.starts[i].value());
    to[axis] = PyValue::of(a.stops[i].value());
  }
  s.op.op = "dynamic_slice";
  s.set("start_indices", PyValue::list(std::move(from)));
  s.set("end_indices", PyValue::list(std::move(to)));
  return true;
}

bool split_axis(Sentence& s) {
  const auto a = ir::decode<ops::Split>(s.node.attrs, s.node.op);
  if (!all_numbers(a.sizes)) return false;
  s.op.op = "split";
  s.set("split_dim", PyValue::of(a.axis));
  s.set("split_sizes", numbers_value(sizes_of(a.sizes)));
  s.set("output_masks", PyValue::list(std::vector<PyValue>(a.sizes.size(), PyValue::of(true))));
  return true;
}

bool concat(Sentence& s) {
  const auto a = ir::decode<ops::Axis>(s.node.attrs, s.node.op);
  const std::int64_t axis = a.axis < 0 ? a.axis + s.in(0).rank() : a.axis;
  s.op.op = "concatenate";
  s.set("concat_dim", PyValue::of(axis));
  s.set("input_masks",
        PyValue::list(std::vector<PyValue>(s.node.inputs.size(), PyValue::of(true))));
  return true;
}

bool reshape(Sentence& s) {
  s.op.op = "reshape";
  std::vector<PyValue> shape;
  for (const Dim& d : s.out().shape) shape.push_back(py_of_dim(d));
  s.set("shape", PyValue::list(std::move(shape)));
  s.set("unknown_idx", PyValue::of(-1));
  return true;
}

bool transpose(Sentence& s) {
  s.op.op = "permute";
  s.set("dims", numbers_value(ir::decode<ops::Order>(s.node.attrs, s.node.op).order));
  return true;
}

bool softmax(Sentence& s) {
  s.op.op = "softmax";
  s.set("dim", PyValue::of(ir::decode<ops::Axis>(s.node.attrs, s.node.op).axis));
  return true;
}

bool cast(Sentence& s) {
  s.op.op = "cast";
  s.set("cast_dtype", PyValue::of(std::string(dtype_text(s.out().dtype))));
  return true;
}

using Word = bool (*)(Sentence&);
const std::unordered_map<std::string_view, Word>& words() {
  static const std::unordered_map<std::string_view, Word> table{
      {"conv2d", conv2d_word},
      {"linear", linear_word},
      {"matmul", matmul_word},
      {"sum", [](Sentence& s) { return reduction(s, "reduce_sum"); }},
      {"mean", [](Sentence& s) { return reduction(s, "reduce_mean"); }},
      {"max", [](Sentence& s) { return reduction(s, "reduce_max"); }},
      {"min", [](Sentence& s) { return reduction(s, "reduce_min"); }},
      {"layer_norm", layer_norm},
      {"max_pool2d",
       [](Sentence& s) {
         const auto a = ir::decode<ops::MaxPool2d>(s.node.attrs, s.node.op);
         return pool(s, a, a.dilation == Sizes{1, 1});
       }},
      {"avg_pool2d",
       [](Sentence& s) {
         const auto a = ir::decode<ops::AvgPool2d>(s.node.attrs, s.node.op);
         return pool(s, a, a.count_include_pad);
       }},
      {"slice", slice},
      {"split", split_axis},
      {"concat", concat},
      {"reshape", reshape},
      {"transpose", transpose},
      {"softmax", softmax},
      {"cast", cast},
      {"copy",
       [](Sentence& s) {
         s.op.op = "identity";
         return true;
       }},
      {"broadcast_to",
       [](Sentence& s) {
         s.op.op = "expand";
         return true;
       }},
  };
  return table;
}

}  // namespace

bool in_words(Sentence& s) {
  const OperatorRecord before = s.op;
  const auto it = words().find(s.node.op);
  const bool said = it != words().end() ? it->second(s) : elementwise_word(s);
  if (!said) s.op = before;
  return said;
}

std::vector<IntVar> int_vars(const Shape& shape, const std::string& tensor) {
  std::vector<IntVar> out;
  for (const Dim& d : shape) {
    IntVar v;
    std::map<std::string, Dim> symbols;
    d.collect_symbols(symbols);
    const bool symbol = symbols.size() == 1 && symbols.begin()->second == d;
    v.name = symbol ? symbols.begin()->first : str(tensor, "_dim_", out.size());
    v.values = d.is_const() ? std::vector<std::int64_t>{d.value()}
                            : std::vector<std::int64_t>{d.lo(), d.hi()};
    v.symbolic_value = py_of_dim(d);
    v.rest = {{PyValue::of("depth"), PyValue::of(0)}, {PyValue::of("nop"), PyValue::of(false)}};
    out.push_back(std::move(v));
  }
  return out;
}

}  // namespace plait::io::aitemplate
