// Arithmetic, reductions and what moves elements in Chainer's words.
#include "base/error.h"
#include "io/chainer/words_rows.h"
#include "ops/infer.h"
#include "ops/shape.h"

namespace plait::io::chainer {
namespace {

template <const char* kName>
Word reduction(const Told& t) {
  const auto a = t.view.as<ops::Reduction>();
  if (!is_float(t.in(0).dtype)) return {};
  return word(kName, {{"axis", a.axes.empty() ? Value{} : ints(a.axes)}, {"keepdims", {a.keep}}},
              1);
}

/// A function of one operand and a number; the position of the operand.
Words with_number(const char* function, double value, int operand, bool keeps) {
  Words w{function, {{"value", {value}}}, {operand}};
  w.keeps_nothing = !keeps;
  return w;
}

/// Two arrays. One that nothing makes has its shape from the other, or is a row of it.
Word both(const Told& t, const char* function) {
  if (!is_float(t.in(0).dtype)) return {};
  for (int i = 0; i < 2; ++i) {
    const bool told = t.in(i).shape == t.in(1 - i).shape && !t.is_root(1 - i);
    if (t.is_root(i) && !told && t.in(i).rank() != 1) return {};
  }
  return word(function, {}, 2);
}

Word add(const Told& t) {
  if (!is_float(t.in(0).dtype)) return {};
  if (const auto c = t.constant(1)) return with_number("AddConstant", *c, 0, false);
  if (const auto c = t.constant(0)) return with_number("AddConstant", *c, 1, false);
  return both(t, "Add");
}
Word sub(const Told& t) {
  if (!is_float(t.in(0).dtype)) return {};
  if (const auto c = t.constant(1)) return with_number("AddConstant", -*c, 0, false);
  if (const auto c = t.constant(0)) return with_number("SubFromConstant", *c, 1, false);
  return both(t, "Sub");
}
Word mul(const Told& t) {
  if (!is_float(t.in(0).dtype)) return {};
  if (const auto c = t.constant(1)) return with_number("MulConstant", *c, 0, false);
  if (const auto c = t.constant(0)) return with_number("MulConstant", *c, 1, false);
  return both(t, "Mul");
}
Word div(const Told& t) {
  if (t.constant(1)) return {};  // x * (1 / c) is not the same to the last bit
  if (const auto c = t.constant(0)) return with_number("DivFromConstant", *c, 1, true);
  return both(t, "Div");
}
Word pow(const Told& t) {
  if (const auto c = t.constant(1)) return with_number("PowVarConst", *c, 0, true);
  return {};
}

Word reshape(const Told& t) {
  return word("Reshape",
              {{"shape", ints(sizes_of(t.view.out().shape))}, {"_cnt", {std::int64_t{0}}}}, 1);
}
Word transpose(const Told& t) {
  return word("Transpose", {{"axes", ints(t.view.as<ops::Order>().order)}}, 1);
}
Word broadcast_to(const Told& t) {
  return word("BroadcastTo", {{"_shape", ints(sizes_of(t.view.out().shape))}}, 1);
}
Word concat(const Told& t) {
  for (int i = 0; i < t.view.count(); ++i) {
    if (t.is_root(i)) return {};
  }
  return word("Concat", {{"axis", {t.view.as<ops::Axis>().axis}}}, t.view.count());
}
Word split(const Told& t) {
  const auto a = t.view.as<ops::Split>();
  const Sizes sizes = sizes_of(a.sizes);
  if (!is_float(t.in(0).dtype)) return {};
  Sizes cuts;
  std::int64_t at = 0;
  for (std::size_t i = 0; i + 1 < sizes.size(); ++i) cuts.push_back(at += sizes[i]);
  Words w = word("SplitAxis", {{"indices", ints(cuts)}, {"sections", {}}, {"axis", {a.axis}}}, 1);
  w.outputs = static_cast<int>(sizes.size());
  return w;
}
Word slice(const Told& t) {
  const auto a = t.view.as<ops::Slice>();
  std::vector<Value> cuts(static_cast<std::size_t>(t.in(0).rank()),
                          {std::string("slice(None, None, None)")});
  for (std::size_t i = 0; i < a.axes.size(); ++i) {
    const std::int64_t axis = a.axes[i] < 0 ? a.axes[i] + t.in(0).rank() : a.axes[i];
    const std::int64_t step = a.steps.empty() ? 1 : a.steps[i];
    cuts[static_cast<std::size_t>(axis)] = {
        str("slice(", a.starts[i].value(), ", ", a.stops[i].value(), ", ", step, ")")};
  }
  return word("GetItem", {{"slices", {std::move(cuts)}}}, 1);
}
Word cast(const Told& t) {
  const DType to = t.view.out().dtype;
  if (!is_float(t.in(0).dtype) || (to != DType::f16 && to != DType::f32)) return {};
  return word("Cast", {{"type", {std::string(to == DType::f16 ? "float16" : "float32")}}}, 1);
}

constexpr char kAbsolute[] = "Absolute", kCos[] = "Cos", kExp[] = "Exp", kIdentity[] = "Identity",
               kLog[] = "Log", kLogSumExp[] = "LogSumExp", kMax[] = "Max", kMean[] = "Mean",
               kMin[] = "Min", kNeg[] = "Neg", kSin[] = "Sin", kSqrt[] = "Sqrt",
               kSquare[] = "Square", kSum[] = "Sum";

constexpr WordRow kArrayWords[] = {
    {"neg", plain<kNeg>},
    {"abs", plain<kAbsolute>},
    {"exp", plain<kExp>},
    {"log", plain<kLog>},
    {"sqrt", plain<kSqrt>},
    {"square", plain<kSquare>},
    {"sin", plain<kSin>},
    {"cos", plain<kCos>},
    {"copy", plain<kIdentity>},
    {"sum", reduction<kSum>},
    {"mean", reduction<kMean>},
    {"max", reduction<kMax>},
    {"min", reduction<kMin>},
    {"logsumexp", reduction<kLogSumExp>},
    {"add", add},
    {"sub", sub},
    {"mul", mul},
    {"div", div},
    {"pow", pow},
    {"reshape", reshape},
    {"transpose", transpose},
    {"broadcast_to", broadcast_to},
    {"concat", concat},
    {"split", split},
    {"slice", slice},
    {"cast", cast},
};

}  // namespace

std::span<const WordRow> array_words() { return kArrayWords; }

}  // namespace plait::io::chainer
