// The op harness: graphs, feeds and comparisons.
#include "tests/ops/harness.h"

#include <cmath>
#include <limits>

#include "base/philox.h"
#include "ops/builder.h"
#include "ops/evaluate.h"
#include "ops/table.h"
#include "passes/differentiate.h"
#include "tests/ops/oracles.h"

namespace plait {
namespace {

/// An elementwise op by its `exact` formula, with numpy's broadcasting written out.
Array exact_elementwise(const NodeView& node, const std::vector<const Array*>& inputs) {
  const ir::Type& type = node.out();
  Array out(is_float(type.dtype) ? DType::f64 : type.dtype, sizes_of(type.shape));
  const Sizes& sizes = out.sizes();
  for (std::int64_t flat = 0; flat < out.count(); ++flat) {
    std::vector<double> x;
    for (const Array* in : inputs) {
      std::int64_t rest = flat, offset = 0, stride = 1;
      for (std::size_t back = 0; back < sizes.size(); ++back) {
        const std::int64_t size = sizes[sizes.size() - 1 - back];
        const std::int64_t index = rest % size;
        rest /= size;
        if (back >= in->sizes().size()) continue;
        const std::int64_t own = in->sizes()[in->sizes().size() - 1 - back];
        offset += (own == 1 ? 0 : index) * stride;
        stride *= own;
      }
      x.push_back(in->real(offset));
    }
    out.set(flat, node.op.exact(x.data(), node));
  }
  return out;
}

Array random_like(const ir::Type& type, std::uint64_t stream) {
  Array a(type.dtype, sizes_of(type.shape));
  const RandomKey key{99, stream, 3};
  for (std::int64_t i = 0; i < a.count(); ++i) {
    a.set(i, 2 * random_uniform(key, static_cast<std::uint64_t>(i)) - 1);
  }
  return a;
}

/// <c, y> summed over the float values of `ys`, with fixed random c.
Tensor random_dot(Builder& b, const std::vector<Tensor>& ys, std::uint64_t stream) {
  Tensor total;
  for (std::size_t k = 0; k < ys.size(); ++k) {
    if (!is_float(ys[k].dtype())) continue;
    const Tensor c = b.constant(random_like(ys[k].type(), stream + k));
    const Tensor dot = (ys[k] * c).sum();
    total = total ? total + dot : dot;
  }
  return total;
}

struct SampleCall {
  std::vector<Tensor> operands, feeds, results;
  std::vector<int> wrt;  // float feeds
};

SampleCall call_sample(Builder& b, const Op& op, const Sample& sample, DType real = DType::f64) {
  SampleCall call;
  for (const SampleOperand& o : sample.operands) {
    if (o.absent) {
      call.operands.emplace_back();
      continue;
    }
    const DType dtype = is_float(o.type.dtype) ? real : o.type.dtype;
    const Tensor feed = b.feed(str("x", call.feeds.size()), dtype, o.type.shape);
    if (is_float(dtype)) call.wrt.push_back(static_cast<int>(call.feeds.size()));
    call.feeds.push_back(feed);
    call.operands.push_back(feed);
  }
  call.results = b.add(op, call.operands, sample.attrs);
  return call;
}

std::vector<Tensor> wanted_feeds(const SampleCall& call) {
  std::vector<Tensor> wrt;
  for (int i : call.wrt) wrt.push_back(call.feeds[static_cast<std::size_t>(i)]);
  return wrt;
}

std::set<std::string> reads_of(const Op& op, const Sample& sample, const GradRule& rule) {
  Builder b("reads");
  const SampleCall call = call_sample(b, op, sample);
  const ir::Graph graph = b.graph();
  const NodeView view = view_of(graph, graph.nodes.back());
  std::vector<Tensor> dys;
  std::vector<bool> wants;
  for (const Tensor& y : call.results) {
    dys.push_back(is_float(y.dtype()) ? b.full(1, y.dtype(), y.shape()) : Tensor());
  }
  for (const Tensor& x : call.operands) wants.push_back(x && is_float(x.dtype()));
  GradCtx ctx(b, view, call.operands, call.results, dys, wants, false);
  rule.grads(ctx);
  return ctx.reads();
}

}  // namespace

std::optional<std::vector<Array>> oracle_result(const NodeView& node,
                                                const std::vector<const Array*>& inputs) {
  if (node.op.exact) return std::vector<Array>{exact_elementwise(node, inputs)};
  for (const Oracle& oracle : all_oracles()) {
    if (oracle.op == node.op.name) return oracle.run(node, inputs);
  }
  return std::nullopt;
}

std::vector<DType> float_dtypes(const Op& op, const Sample& sample) {
  bool any = false;
  for (const SampleOperand& o : sample.operands) any |= !o.absent && o.type.dtype == DType::f32;
  if (!any) return {DType::f32};
  std::vector<DType> out;
  const bool first_is_float = !sample.operands[0].absent && is_float(sample.operands[0].type.dtype);
  for (DType t : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    if (!first_is_float || op.dtypes.has(t)) out.push_back(t);
  }
  return out;
}

std::vector<Array> run_graph(const ir::Graph& graph, const std::vector<Array>& feeds) {
  std::vector<Array> values(graph.values.size());
  check(feeds.size() == graph.feeds.size(), "graph takes ", graph.feeds.size(), " feeds, given ",
        feeds.size());
  for (std::size_t i = 0; i < feeds.size(); ++i) {
    values[static_cast<std::size_t>(graph.feeds[i])] = feeds[i];
  }
  for (const ir::Node& node : graph.nodes) {
    std::vector<const Array*> inputs;
    for (ir::ValueId id : node.inputs) {
      inputs.push_back(id == ir::kNone ? nullptr : &values[static_cast<std::size_t>(id)]);
    }
    std::vector<Array> results = evaluate(view_of(graph, node), inputs);
    for (std::size_t i = 0; i < results.size(); ++i) {
      values[static_cast<std::size_t>(node.outputs[i])] = std::move(results[i]);
    }
  }
  std::vector<Array> fetched;
  for (const ir::Fetch& f : graph.fetches) {
    fetched.push_back(values[static_cast<std::size_t>(f.value)]);
  }
  return fetched;
}

double largest_error(const Array& a, const Array& b) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  if (a.sizes() != b.sizes()) return kInf;
  double worst = 0;
  for (std::int64_t i = 0; i < a.count(); ++i) {
    const double x = a.real(i), y = b.real(i);
    if (std::isnan(x) && std::isnan(y)) continue;
    if (std::isnan(x) || std::isnan(y)) return kInf;
    if (x == y) continue;
    worst = std::max(worst, std::abs(x - y) / std::max(1.0, std::abs(y)));
  }
  return worst;
}

double tolerance(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return 1e-11;
    case DType::f32:
      return 2e-6;  // 16 roundings of 2^-24 each, twice over
    case DType::f16:
      return 0x1p-11 + 2e-6;  // half an ulp, then the f32 steps
    case DType::bf16:
      return 0x1p-8 + 2e-6;
    default:
      return 0;
  }
}

std::optional<GradientCase> gradient_case(const Op& op, const Sample& sample,
                                          const GradRule& rule) {
  GradientCase result;
  DifferentiateOptions options;
  options.rules[std::string(op.name)] = std::string(rule.saves);
  {
    Builder b("forward");
    const SampleCall call = call_sample(b, op, sample);
    const Tensor f = random_dot(b, call.results, 0);
    if (!f || call.wrt.empty()) return std::nullopt;
    for (const Tensor& y : call.results) {  // differences of a rounded result say nothing
      if (is_float(y.dtype()) && y.dtype() != DType::f64) return std::nullopt;
    }
    result.wrt = call.wrt;
    b.fetch("f", f);
    result.forward = b.take();
  }
  {
    Builder b("backward");
    const SampleCall call = call_sample(b, op, sample);
    const auto grads = grad(random_dot(b, call.results, 0), wanted_feeds(call), options);
    for (std::size_t i = 0; i < grads.size(); ++i) b.fetch(str("g", i), grads[i]);
    result.backward = b.take();
  }
  result.reads = reads_of(op, sample, rule);
  try {
    Builder b("second");
    const SampleCall call = call_sample(b, op, sample);
    const auto grads = grad(random_dot(b, call.results, 0), wanted_feeds(call), options);
    const Tensor dot = random_dot(b, grads, 50);
    const auto again = grad(dot, wanted_feeds(call), options);
    b.fetch("dot", dot);
    for (std::size_t i = 0; i < again.size(); ++i) b.fetch(str("h", i), again[i]);
    result.second = b.take();
  } catch (const UserError& e) {
    result.no_second = e.what();
  }
  return result;
}

std::optional<ir::Graph> backward_graph(const Op& op, const Sample& sample, const GradRule& rule,
                                        DType real) {
  DifferentiateOptions options;
  options.rules[std::string(op.name)] = std::string(rule.saves);
  Builder b("backward");
  const SampleCall call = call_sample(b, op, sample, real);
  std::vector<Tensor> ys, cotangents;
  for (std::size_t k = 0; k < call.results.size(); ++k) {
    const Tensor& y = call.results[k];
    if (!is_float(y.dtype())) continue;
    ys.push_back(y);
    cotangents.push_back(
        b.constant(random_like({DType::bf16, y.shape()}, k).cast(y.dtype())));  // exact in each
  }
  if (ys.empty() || call.wrt.empty()) return std::nullopt;
  const auto grads = gradients(ys, cotangents, wanted_feeds(call), options);
  for (std::size_t i = 0; i < grads.size(); ++i) b.fetch(str("g", i), grads[i]);
  return b.take();
}

}  // namespace plait
