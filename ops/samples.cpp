// Samples of ops: parsing the text of an entry, making graphs and values of it.
#include "ops/samples.h"

#include "base/philox.h"
#include "base/text.h"
#include "ir/text.h"
#include "ops/builder.h"

namespace plait {
namespace {

/// Splits at a separator that is outside brackets, braces and quotes.
std::vector<std::string> split_outside(std::string_view text, char separator) {
  std::vector<std::string> parts(1);
  int depth = 0;
  bool quoted = false;
  for (char c : text) {
    if (c == '"') quoted = !quoted;
    if (!quoted && (c == '[' || c == '{' || c == '(')) ++depth;
    if (!quoted && (c == ']' || c == '}' || c == ')')) --depth;
    if (c == separator && depth == 0 && !quoted) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

SampleOperand parse_operand(const Op& op, std::string_view text) {
  SampleOperand operand;
  if (text == "_") {
    operand.absent = true;
    return operand;
  }
  const auto brace = text.find('{');
  operand.type = ir::parse_type(trim(text.substr(0, brace)), [&](std::string_view name) -> Dim {
    fail("sample of ", op.name, ": sizes must be numbers, not ", name);
  });
  if (!is_float(operand.type.dtype)) {
    operand.lo = 0;
    operand.hi = operand.type.dtype == DType::boolean ? 2 : 5;
  }
  if (brace != std::string_view::npos) {
    const std::string_view range = text.substr(brace + 1, text.size() - brace - 2);
    const auto dots = range.find("..");
    if (dots == std::string_view::npos) fail("sample of ", op.name, ": range '", range, "'");
    operand.lo = parse_real(range.substr(0, dots), "a sample's range");
    operand.hi = parse_real(range.substr(dots + 2), "a sample's range");
  }
  return operand;
}

/// Attributes are read by the graph parser, on a text of one opaque node.
ir::Attrs parse_attrs(const std::string& text) {
  const ir::Graph g =
      ir::parse_graph("graph g() {\n  %y = opaque \"x\"(" + text + ") : f32[]\n}\n");
  return g.nodes[0].attrs;
}

}  // namespace

std::vector<Sample> samples_of(const Op& op) {
  std::vector<Sample> samples;
  for (const std::string& part : split_outside(op.samples, ';')) {
    Sample sample;
    sample.text = std::string(trim(part));
    const auto halves = split_outside(part, '|');
    if (!trim(halves[0]).empty()) {
      for (const std::string& operand : split_outside(halves[0], ',')) {
        sample.operands.push_back(parse_operand(op, trim(operand)));
      }
    }
    if (halves.size() > 1) sample.attrs = parse_attrs(std::string(trim(halves[1])));
    samples.push_back(std::move(sample));
  }
  return samples;
}

ir::Graph sample_graph(const Op& op, const Sample& sample, DType real) {
  Builder b("sample");
  std::vector<Tensor> operands;
  for (std::size_t i = 0; i < sample.operands.size(); ++i) {
    const SampleOperand& o = sample.operands[i];
    const DType dtype = o.type.dtype == DType::f32 ? real : o.type.dtype;
    operands.push_back(o.absent ? Tensor() : b.feed(str("x", i), dtype, o.type.shape));
  }
  const std::vector<Tensor> results = b.add(op, operands, sample.attrs);
  for (std::size_t i = 0; i < results.size(); ++i) b.fetch(str("y", i), results[i]);
  return b.take();
}

std::vector<Array> sample_feeds(const Sample& sample, DType real, std::uint64_t seed) {
  std::vector<Array> feeds;
  for (std::size_t i = 0; i < sample.operands.size(); ++i) {
    const SampleOperand& o = sample.operands[i];
    if (o.absent) continue;
    const bool is_real = is_float(o.type.dtype);
    Array a(o.type.dtype == DType::f32 ? real : o.type.dtype, sizes_of(o.type.shape));
    const RandomKey key{seed, i, 7};
    for (std::int64_t e = 0; e < a.count(); ++e) {
      const double u = o.lo + (o.hi - o.lo) * random_uniform(key, static_cast<std::uint64_t>(e));
      if (is_real) {
        a.set(e, u);
      } else {
        a.set_integer(e, static_cast<std::int64_t>(std::floor(u)));
      }
    }
    feeds.push_back(std::move(a));
  }
  return feeds;
}

}  // namespace plait
