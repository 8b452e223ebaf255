// Scalar functions: alone, fused into one kernel, and as words of an epilogue's name.
#include <algorithm>
#include <iterator>
#include <limits>
#include <unordered_map>

#include "base/text.h"
#include "io/aitemplate/kernel.h"
#include "io/aitemplate/words.h"
#include "ops/activation.h"
#include "ops/arithmetic.h"
#include "ops/compare.h"
#include "ops/softmax.h"
#include "ops/table.h"
#include "ops/unary.h"

namespace plait::io::aitemplate {
namespace {

/// The op of a scalar function that is one op of ours.
template <std::size_t N>
const Op* find(const NamedOp (&table)[N], std::string_view func) {
  for (const NamedOp& row : table) {
    if (row.func == func) return &op_named(row.op);
  }
  return nullptr;
}

Tensor fast_gelu(Kernel& k, const Tensor& x) {
  return k.add(ops::gelu, {x}, ops::Gelu{.approximate = "tanh"});
}

/// One scalar op of the document with its arguments.
struct Scalar {
  Kernel& k;
  const OperatorRecord& op;
  std::vector<Argument> args;

  template <class... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    plait::fail(k.file, ":", op.at.line, ":", op.at.column, ": elementwise op '", op.name, "' ",
                parts...);
  }
  void want(std::size_t count) const {
    if (args.size() != count) {
      fail("of ", func_name(op), " takes ", counted(count, "argument", "arguments"), ", has ",
           args.size());
    }
  }
  DType dtype() const {
    for (const Argument& a : args) {
      if (const Tensor* t = std::get_if<Tensor>(&a)) return t->dtype();
    }
    fail("has numbers alone as arguments");
  }
  Tensor tensor(std::size_t i) const {
    if (const Tensor* t = std::get_if<Tensor>(&args[i])) return *t;
    return k.constant(std::get<double>(args[i]), dtype());
  }
  double number(std::size_t i) const {
    if (const double* x = std::get_if<double>(&args[i])) return *x;
    fail("needs a number as argument ", i + 1);
  }

  Tensor leaky_relu() const {
    want(2);
    return k.add(ops::leaky_relu, {tensor(0)}, ops::LeakyRelu{.slope = number(1)});
  }
  Tensor hardtanh() const {
    want(3);
    return k.add(ops::clip, {tensor(0)}, ops::Clip{.lo = number(1), .hi = number(2)});
  }
  Tensor softplus() const {
    want(3);
    return k.add(ops::softplus, {tensor(0)},
                 ops::Softplus{.beta = number(1), .threshold = number(2)});
  }
  Tensor elu() const {
    want(2);
    return k.add(ops::elu, {tensor(0)}, ops::Elu{.alpha = number(1)});
  }
  /// alpha * elu(x / alpha)
  Tensor celu() const {
    want(2);
    const Tensor alpha = tensor(1);
    const Tensor inner = k.add(ops::elu, {k.add(ops::div, {tensor(0), alpha})});
    return k.add(ops::mul, {inner, alpha});
  }
  Tensor softsign() const {
    want(1);
    const Tensor x = tensor(0);
    const Tensor below = k.add(ops::add, {k.add(ops::abs, {x}), k.constant(1, x.dtype())});
    return k.add(ops::div, {x, below});
  }
  Tensor instead(const Tensor& x, const Tensor& condition, const Tensor& value) const {
    return k.add(ops::where, {condition, value, x});
  }
  /// x, and what stands for NaN, +inf and -inf.
  Tensor nan_to_num() const {
    want(4);
    constexpr double kInf = std::numeric_limits<double>::infinity();
    Tensor x = tensor(0);
    x = instead(x, k.add(ops::is_nan, {x}), tensor(1));
    x = instead(x, k.add(ops::equal, {x, k.constant(kInf, x.dtype())}), tensor(2));
    return instead(x, k.add(ops::equal, {x, k.constant(-kInf, x.dtype())}), tensor(3));
  }
  /// x, the bound of its absolute value, and what stands for NaN.
  Tensor clamp_nan_to_num() const {
    want(3);
    Tensor x = tensor(0);
    x = instead(x, k.add(ops::is_nan, {x}), tensor(2));
    return k.add(ops::clip, {x}, ops::Clip{.lo = -number(1), .hi = number(1)});
  }

  /// Of a function that is_known.
  Tensor make() const {
    const std::string name = func_name(op);
    if (const Op* unary = find(kUnaryFuncs, name)) {
      want(1);
      return k.add(*unary, {tensor(0)});
    }
    if (const Op* binary = find(kBinaryFuncs, name)) {
      want(2);
      const Tensor x = tensor(0), y = tensor(1);
      k.unify_broadcast(x, y);
      return k.add(*binary, {x, y});
    }
    if (name == "FASTGELU") return want(1), fast_gelu(k, tensor(0));
    if (name == "LRELU" || name == "LEAKY_RELU") return leaky_relu();
    if (name == "HARDTANH") return hardtanh();
    if (name == "SOFTPLUS") return softplus();
    if (name == "ELU") return elu();
    if (name == "CELU") return celu();
    if (name == "SOFTSIGN") return softsign();
    if (name == "NAN_TO_NUM") return nan_to_num();
    return clamp_nan_to_num();
  }
};

constexpr std::string_view kSpecial[] = {
    "FASTGELU", "LRELU", "LEAKY_RELU", "HARDTANH",   "SOFTPLUS",
    "ELU",      "CELU",  "SOFTSIGN",   "NAN_TO_NUM", "CLAMP_NAN_TO_NUM"};

bool is_known(const OperatorRecord& op) {
  const std::string name = func_name(op);
  return find(kUnaryFuncs, name) || find(kBinaryFuncs, name) ||
         std::find(std::begin(kSpecial), std::end(kSpecial), name) != std::end(kSpecial);
}

using Values = std::unordered_map<std::string, Tensor>;

Tensor scalar(Kernel& k, const OperatorRecord& op, const Values& values) {
  Scalar s{k, op, {}};
  const auto add = [&](const std::string& name) {
    const auto it = values.find(name);
    s.args.push_back(it != values.end() ? Argument(it->second) : k.lookup(name));
  };
  if (op.args) {
    for (const PyValue& arg : *op.args) {
      if (arg.is(PyValue::kText)) {
        add(arg.text);
      } else if (arg.is(PyValue::kInt) || arg.is(PyValue::kFloat)) {
        s.args.emplace_back(arg.is(PyValue::kInt) ? static_cast<double>(arg.whole) : arg.real);
      } else {
        s.fail("takes ", describe(arg), " where a name or a number was expected");
      }
    }
  } else {
    for (const std::string& name : op.inputs) add(name);
  }
  return s.make();
}

/// The names that results have inside the kernel: an absorbed concat renames them outside.
std::vector<std::string> inner_outputs(const OperatorRecord& op) {
  const PyValue* original = op.find("original_outputs");
  if (original && original->items.size() == op.outputs.size()) return names_in(*original);
  return op.outputs;
}

/// The inputs under their names; numbers are looked up.
Values inputs_of(Kernel& k) {
  Values values;
  for (std::size_t i = 0; i < k.in.size(); ++i) {
    if (k.in[i]) values.emplace(k.op.inputs[i], k.in[i]);
  }
  if (!k.op.original_inputs) return values;
  for (std::size_t i = 0; i < k.in.size(); ++i) {
    if (k.in[i]) values[(*k.op.original_inputs)[i]] = k.in[i];
  }
  return values;
}

Results fused(Kernel& k) {
  for (const OperatorRecord& inner : *k.op.elementwise_ops) {
    if (!is_known(inner)) return std::nullopt;
  }
  Values values = inputs_of(k);
  const std::string path = k.b.path();
  for (const OperatorRecord& inner : *k.op.elementwise_ops) {
    k.b.set_path(path + "." + inner.name);
    k.b.set_source(ir::Source{k.file, inner.at.line});
    const Tensor y = scalar(k, inner, values);
    for (const std::string& name : inner.outputs) values[name] = y;
  }
  k.b.set_path(path);
  std::vector<Tensor> out;
  const std::vector<std::string> names = inner_outputs(k.op);
  for (std::size_t i = 0; i < names.size(); ++i) {
    auto it = values.find(names[i]);
    if (it == values.end()) it = values.find(k.op.outputs[i]);
    if (it == values.end()) {
      k.fail("writes '", k.op.outputs[i], "', which none of its elementwise_ops makes");
    }
    out.push_back(it->second);
  }
  return out;
}

}  // namespace

std::optional<Tensor> activation(Kernel& k, std::string_view word, const Tensor& x) {
  if (word == "relu") return k.add(ops::relu, {x});
  if (word == "gelu") return k.add(ops::gelu, {x});
  if (word == "fast_gelu") return fast_gelu(k, x);
  if (word == "sigmoid") return k.add(ops::sigmoid, {x});
  if (word == "tanh") return k.add(ops::tanh, {x});
  if (word == "swish" || word == "silu") return k.add(ops::silu, {x});
  if (word == "softmax") return k.add(ops::softmax, {x});
  if (word == "hardswish") {
    const Tensor shifted = k.add(ops::add, {x, k.constant(3, x.dtype())});
    const Tensor gate = k.add(ops::clip, {shifted}, ops::Clip{.lo = 0, .hi = 6});
    return k.add(ops::div, {k.add(ops::mul, {x, gate}), k.constant(6, x.dtype())});
  }
  return std::nullopt;
}

Results elementwise(Kernel& k) {
  if (k.op.elementwise_ops) return fused(k);
  if (k.op.op != "elementwise") return std::nullopt;
  if (!k.op.func) k.fail("has no 'func'");
  if (!is_known(k.op)) return std::nullopt;
  return std::vector<Tensor>{scalar(k, k.op, inputs_of(k))};
}

}  // namespace plait::io::aitemplate
