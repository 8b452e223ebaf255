// uniform, normal, bernoulli and attention's dropout: the draws of base/philox.h, an element a
// thread, with the CPU's bits.
#include <cmath>

#include "backends/cuda/hand/families.h"
#include "backends/cuda/hand/parts.h"
#include "backends/cuda/hand/sources.h"
#include "base/philox.h"
#include "base/text.h"
#include "ops/attention.h"
#include "ops/random.h"

namespace plait::cuda {
namespace {

std::string name_of_call(const HandCall& call) {
  return str("hand_", call.op, "_", call.outputs[0].dtype);
}

struct Numbers {
  std::int64_t stream;
  HandWord first, second;
};
Numbers numbers_of(const HandCall& call) {
  if (call.op == "uniform") {
    const auto a = ir::decode<ops::Uniform>(call.attrs, call.op);
    return {a.stream, number(a.lo), number(a.hi - a.lo)};
  }
  if (call.op == "normal") {
    const auto a = ir::decode<ops::Normal>(call.attrs, call.op);
    return {a.stream, number(a.mean), number(a.std)};
  }
  const auto a = ir::decode<ops::Bernoulli>(call.attrs, call.op);
  // word / 2^24 < p, with both sides times 2^24, which is exact.
  return {a.stream, number(static_cast<std::int64_t>(std::ceil(std::ldexp(a.p, 24)))), {}};
}

}  // namespace

std::string random_text(const HandCall& call) {
  return source_text(call, name_of_call(call), types_text(call.outputs[0].dtype, Computed::kWide),
                     codegen::hand_random());
}

HandPlan plan_attention_keep(const HandCall& call, const DimBindings& sizes) {
  const auto a = ir::decode<ops::AttentionKeep>(call.attrs, call.op);
  const Sizes pairs = sizes_of(call.outputs[0].shape, sizes);
  HandPlan plan;
  add_items(plan, name_of_call(call), element_count(pairs),
            {input(call, 0), output(call), number(element_count(pairs)), number(a.stream),
             number(static_cast<std::int64_t>(pair_threshold(a.p))),
             number(pairs[pairs.size() - 2]), number(pairs.back())});
  return plan;
}

HandPlan plan_random(const HandCall& call, const DimBindings& sizes) {
  const std::int64_t count = element_count(sizes_of(call.outputs[0].shape, sizes));
  const Numbers n = numbers_of(call);
  HandPlan plan;
  add_items(plan, name_of_call(call), count,
            {input(call, 0), output(call), number(count), number(n.stream), n.first, n.second});
  return plan;
}

}  // namespace plait::cuda
