// Sizes, names and work of recorded operations.
#include "report/chainer_step.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "base/at.h"
#include "base/error.h"

namespace plait::report {
namespace {

using io::chainer::Input;
using io::chainer::Operation;
using io::chainer::Tag;

/// a * b / c, where the product may be too large for 64 bits; saturated.
std::int64_t scaled(std::int64_t a, std::int64_t b, std::int64_t c) {
  if (c <= 0) return 0;
  const long double x =
      static_cast<long double>(a) * static_cast<long double>(b) / static_cast<long double>(c);
  constexpr auto most = static_cast<long double>(std::numeric_limits<std::int64_t>::max() / 4);
  return static_cast<std::int64_t>(std::llroundl(std::min(x, most)));
}

std::int64_t attribute(const Operation& op, std::string_view name) {
  const auto* value = find(op.attributes, name);
  const auto* n = value ? std::get_if<std::int64_t>(&value->data) : nullptr;
  return n && *n >= 1 && *n <= 65536 ? *n : 1;
}

constexpr std::string_view kPointwise[] = {"ReLU",        "LeakyReLU",
                                           "ELU",         "ClippedReLU",
                                           "Sigmoid",     "Tanh",
                                           "Softplus",    "Dropout",
                                           "Add",         "Sub",
                                           "Mul",         "Div",
                                           "Neg",         "Absolute",
                                           "Exp",         "Log",
                                           "Sqrt",        "Square",
                                           "AddConstant", "SubFromConstant",
                                           "MulConstant", "DivFromConstant",
                                           "PowVarConst", "PowVarVar",
                                           "MultiAdd"};

}  // namespace

bool is_pointwise(const std::string& function) {
  return std::find(std::begin(kPointwise), std::end(kPointwise), function) != std::end(kPointwise);
}

bool is_contraction(const std::string& function) {
  return function == "Convolution2DFunction" || function == "Deconvolution2DFunction" ||
         function == "LinearFunction";
}

std::int64_t RecordedStep::bytes(int variable) const {
  return record.variables[at(variable)].bytes;
}

std::string RecordedStep::name(int variable) const {
  const auto& v = record.variables[at(variable)];
  return v.name == "_" ? str("v", v.id) : v.name;
}

bool RecordedStep::is_fed(int variable) const {
  return links.maker[at(variable)] < 0 && !record.variables[at(variable)].is_parameter();
}

std::string RecordedStep::label(const Operation& op) const {
  std::string what = op.outputs.empty() ? "nothing" : name(op.outputs[0]);
  if (op.backward) what = "d_" + what;
  for (const Input& in : op.inputs) {
    const std::string& parameter = record.variables[at(in.variable)].name;
    if (!record.variables[at(in.variable)].is_parameter()) continue;
    what = parameter.substr(1, std::max<std::size_t>(parameter.rfind('/'), 1) - 1);
    std::replace(what.begin(), what.end(), '/', '.');
    break;
  }
  return str(what, " (", op.function, op.backward ? " backward" : "", ", line ", op.line, ")");
}

std::int64_t RecordedStep::work(int index) const {
  const Operation& op = record.operations[at(index)];
  if (op.backward) {
    const int forward = links.forward_of[at(index)];
    if (forward < 0) return 0;
    const std::int64_t once = work(forward);
    if (!is_contraction(op.function)) return once;
    const int x = record.operations[at(forward)].inputs[0].variable;
    return is_fed(x) || op.outputs.empty() || op.outputs[0] != x ? once : 2 * once;
  }
  if (op.outputs.empty()) return 0;
  const std::int64_t out = bytes(op.outputs[0]) / element_bytes;
  if (is_contraction(op.function) && op.inputs.size() > 1) {
    const std::int64_t weights = bytes(op.inputs[1].variable) / element_bytes;
    const ir::ValueId w = graph.find_value(name(op.inputs[1].variable));
    const bool shaped = w != ir::kNone && graph.type(w).rank() > 1;
    if (op.function == "Deconvolution2DFunction") {
      if (!shaped) return 0;
      return scaled(2 * (bytes(op.inputs[0].variable) / element_bytes), weights,
                    graph.type(w).shape[0].value());
    }
    const std::int64_t bias =
        op.inputs.size() > 2 ? bytes(op.inputs[2].variable) / element_bytes : 0;
    const std::int64_t channels = bias > 0 ? bias : shaped ? graph.type(w).shape[0].value() : 0;
    return scaled(2 * out, weights, channels);
  }
  if (op.function == "MaxPooling2D" || op.function == "AveragePooling2D") {
    return scaled(out, attribute(op, "kh") * attribute(op, "kw"), 1);
  }
  if (is_pointwise(op.function)) return out;
  const bool reduces = op.function == "SoftmaxCrossEntropy" || op.function == "MeanSquaredError" ||
                       op.function == "Sum" || op.function == "Mean" || op.function == "Max";
  if (reduces && !op.inputs.empty()) return bytes(op.inputs[0].variable) / element_bytes;
  return 0;
}

std::int64_t RecordedStep::working_set(int index) const {
  const Operation& op = record.operations[at(index)];
  std::set<int> arrays, gradients;
  const auto array = [&](int v) {
    if (!record.variables[at(v)].is_parameter()) arrays.insert(v);
  };
  const auto gradient = [&](int v) {
    if (!record.variables[at(v)].is_parameter() && !is_fed(v)) gradients.insert(v);
  };
  for (const Input& in : op.inputs) {
    if (in.tag == Tag::kGradient) gradient(in.variable);
    if (in.tag == Tag::kArray) array(in.variable);
  }
  for (int v : op.outputs) op.backward ? gradient(v) : array(v);
  if (op.backward && links.forward_of[at(index)] >= 0) {
    const Operation& forward = record.operations[at(links.forward_of[at(index)])];
    for (std::int64_t i : forward.retained_inputs.value_or(std::vector<std::int64_t>())) {
      array(forward.inputs[static_cast<std::size_t>(i)].variable);
    }
    for (std::int64_t i : forward.retained_outputs.value_or(std::vector<std::int64_t>())) {
      array(forward.outputs[static_cast<std::size_t>(i)]);
    }
  }
  std::int64_t sum = 0;
  for (int v : arrays) sum += bytes(v);
  for (int v : gradients) sum += bytes(v);
  return sum;
}

}  // namespace plait::report
