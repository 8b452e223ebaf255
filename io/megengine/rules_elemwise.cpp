// Elemwise by its `mode`. Modes that are one op of ours are rows; the fused ones are written out.
#include <array>

#include "io/megengine/translate.h"
#include "ops/activation.h"
#include "ops/arithmetic.h"
#include "ops/compare.h"
#include "ops/unary.h"

namespace plait::io::megengine {
namespace {

struct Mode {
  std::string_view mode;
  const Op* op;
};

constexpr Mode kModes[] = {
    {"ABS", &ops::abs},
    {"ACOS", &ops::acos},
    {"ADD", &ops::add},
    {"AND", &ops::logical_and},
    {"ASIN", &ops::asin},
    {"ATAN2", &ops::atan2},
    {"CEIL", &ops::ceil},
    {"COS", &ops::cos},
    {"COSH", &ops::cosh},
    {"EQ", &ops::equal},
    {"ERF", &ops::erf},
    {"EXP", &ops::exp},
    {"EXPM1", &ops::expm1},
    {"FLOOR", &ops::floor},
    {"FLOOR_DIV", &ops::floor_div},
    {"GELU", &ops::gelu},
    {"ISINF", &ops::is_inf},
    {"ISNAN", &ops::is_nan},
    {"LEQ", &ops::less_equal},
    {"LOG", &ops::log},
    {"LOG1P", &ops::log1p},
    {"LOGSIGMOID", &ops::log_sigmoid},
    {"LT", &ops::less},
    {"MAX", &ops::maximum},
    {"MIN", &ops::minimum},
    {"MUL", &ops::mul},
    {"NEGATE", &ops::neg},
    {"NEQ", &ops::not_equal},
    {"NOT", &ops::logical_not},
    {"OR", &ops::logical_or},
    {"POW", &ops::pow},
    {"RELU", &ops::relu},
    {"SIGMOID", &ops::sigmoid},
    {"SIGN", &ops::sign},
    {"SILU", &ops::silu},
    {"SIN", &ops::sin},
    {"SINH", &ops::sinh},
    {"SQRT", &ops::sqrt},
    {"SQUARE", &ops::square},
    {"SUB", &ops::sub},
    {"TAN", &ops::tan},
    {"TANH", &ops::tanh},
    {"TRUE_DIV", &ops::div},
    {"XOR", &ops::logical_xor},
};

Tensor call(const Op& op, const std::vector<Tensor>& operands) {
  return operands[0].builder().add(op, operands, {})[0];
}

using Inputs = std::vector<Tensor>;

/// A mode of several of our ops: all but the last node are made here, the last by `finish`.
struct Fused {
  std::string_view mode;
  int inputs;
  Tensor (*make)(const Call& c, const Inputs& x);
};

Tensor constant_like(const Tensor& x, double value) {
  return x.builder().constant(value, x.dtype());
}

constexpr Fused kFused[] = {
    {"FUSE_ADD_RELU", 2,
     [](const Call& c, const Inputs& x) { return c.last(ops::relu, {x[0] + x[1]}); }},
    {"FUSE_ADD_SIGMOID", 2,
     [](const Call& c, const Inputs& x) { return c.last(ops::sigmoid, {x[0] + x[1]}); }},
    {"FUSE_ADD_TANH", 2,
     [](const Call& c, const Inputs& x) { return c.last(ops::tanh, {x[0] + x[1]}); }},
    {"FUSE_ADD_H_SWISH", 2,
     [](const Call& c, const Inputs& x) {
       const Tensor s = x[0] + x[1];
       return c.last(ops::mul, {s, hard_gate(s)});
     }},
    {"H_SWISH", 1,
     [](const Call& c, const Inputs& x) {
       return c.last(ops::mul, {x[0], hard_gate(x[0])});
     }},
    {"FUSE_MUL_ADD3", 3,
     [](const Call& c, const Inputs& x) {
       return c.last(ops::add, {x[0] * x[1], x[2]});
     }},
    {"FUSE_MUL_ADD4", 4,
     [](const Call& c, const Inputs& x) {
       return c.last(ops::add, {x[0] * x[1], x[2] * x[3]});
     }},
    {"SWITCH_GT0", 2,
     [](const Call& c, const Inputs& x) {
       return c.last(ops::where, {x[0] > 0, x[1], constant_like(x[1], 0)});
     }},
    {"COND_LEQ_MOV", 3,
     [](const Call& c, const Inputs& x) {
       return c.last(ops::where, {x[0] <= x[1], x[2], constant_like(x[2], 0)});
     }},
    {"ABS_GRAD", 2,
     [](const Call& c, const Inputs& x) {
       return c.last(ops::mul, {call(ops::sign, {x[0]}), x[1]});
     }},
    {"SIGMOID_GRAD", 2,
     [](const Call& c, const Inputs& x) {
       return c.last(ops::mul, {x[0] * (1 - x[0]), x[1]});
     }},
    {"TANH_GRAD", 2,
     [](const Call& c, const Inputs& x) {
       return c.last(ops::mul, {1 - x[0] * x[0], x[1]});
     }},
    {"FAST_TANH", 1,  // x * (27 + x^2) / (27 + 9 * x^2)
     [](const Call& c, const Inputs& x) {
       const Tensor xx = x[0] * x[0];
       return c.last(ops::div, {x[0] * (27 + xx), 27 + 9 * xx});
     }},
    {"LOG_SUM_EXP", 2,
     [](const Call& c, const Inputs& x) {
       const Tensor distance = call(ops::abs, {x[0] - x[1]});
       return c.last(ops::add,
                     {call(ops::maximum, {x[0], x[1]}), call(ops::log1p, {(-distance).exp()})});
     }},
    {"ROUND", 1,  // halves away from zero
     [](const Call& c, const Inputs& x) {
       const Tensor away = call(ops::floor, {call(ops::abs, {x[0]}) + 0.5});
       return c.last(ops::mul, {call(ops::sign, {x[0]}), away});
     }},
};

}  // namespace

Tensor hard_gate(const Tensor& x) {
  const Tensor bounded = x.builder().add(ops::clip, {x + 3}, ir::encode(ops::Clip{0, 6}))[0];
  return bounded * (1.0 / 6);
}

const Op* op_of_mode(std::string_view mode) {
  for (const Mode& m : kModes) {
    if (m.mode == mode) return m.op;
  }
  return nullptr;
}

std::string_view mode_of_op(const Op& op) {
  for (const Mode& m : kModes) {
    if (m.op->name == op.name) return m.mode;
  }
  return "";
}

std::optional<Tensor> elemwise(Call& c) {
  const std::string mode = c.params.text("mode", "");
  Inputs inputs;
  for (int i = 0; i < c.count(); ++i) inputs.push_back(c.in(i));
  if (inputs.empty()) return std::nullopt;
  for (const Fused& f : kFused) {
    if (f.mode == mode && f.inputs == c.count()) return f.make(c, inputs);
  }
  const Op* op = op_of_mode(mode);
  if (!op || op->inputs.size() != c.count()) return std::nullopt;
  // Predicates are 0 and 1 of the operands' type where the document does not say Bool.
  const bool predicate = op->infer == ops::predicate;
  if (predicate && c.recorded_dtype().value_or(inputs[0].dtype()) != DType::boolean) {
    return c.last(ops::cast, {call(*op, inputs)}, ops::Cast{inputs[0].dtype()});
  }
  return c.last(*op, inputs);
}

}  // namespace plait::io::megengine
