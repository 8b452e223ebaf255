// uniform, normal and bernoulli: the draws of base/philox.h, an element a thread, with the CPU's
// bits.
#include <cmath>

#include "backends/cuda/hand/families.h"
#include "backends/cuda/hand/parts.h"
#include "base/text.h"
#include "ops/random.h"

namespace plait::cuda {
namespace {

// Words of all: key [2]: seed, step; out; elements; stream; two numbers.
constexpr const char* kDraw = R"(
__device__ __forceinline__ pl_philox_t draw(const pl_words<6>& w) {
  const int64_t* key = at<const int64_t>(w.v[0]);
  return pl_random_bits((uint64_t)key[0], (uint64_t)key[1], (uint32_t)w.v[3], (uint64_t)item());
}
)";

// The numbers: lo; hi - lo.
constexpr const char* kUniform = R"(
extern "C" __global__ void NAME(const pl_words<6> w) {
  if (item() >= (int64_t)w.v[2]) return;
  const double unit = (double)(int32_t)(draw(w).a >> 8) * 0x1p-24;
  const double low = pl_from_bits_d(w.v[4]), range = pl_from_bits_d(w.v[5]);
  at<T>(w.v[1])[item()] = narrow(low + range * unit);
}
)";

// The numbers: mean; std. The cosine by quarters of the circle, each from -1/8 to 1/8 of a turn.
constexpr const char* kNormal = R"(
/// cos(2 pi x 2^-32).
__device__ __forceinline__ double cos_of_turn(uint32_t x) {
  const uint64_t wide = x, quarter = (wide + 0x20000000) >> 30;
  const double turn = ((double)(int64_t)wide - (double)(int64_t)(quarter << 30)) * 0x1p-32;
  const double t = turn * (2 * 3.141592653589793), q = t * t;
  double sine = -1.0 / 1307674368000;  // 1/15!, every other one down to 1/3!
  sine = sine * q + 1.0 / 6227020800;
  sine = sine * q - 1.0 / 39916800;
  sine = sine * q + 1.0 / 362880;
  sine = sine * q - 1.0 / 5040;
  sine = sine * q + 1.0 / 120;
  sine = sine * q - 1.0 / 6;
  sine = sine * q * t + t;
  double cosine = 1.0 / 20922789888000;  // 1/16!, every other one down to 1/2!
  cosine = cosine * q - 1.0 / 87178291200;
  cosine = cosine * q + 1.0 / 479001600;
  cosine = cosine * q - 1.0 / 3628800;
  cosine = cosine * q + 1.0 / 40320;
  cosine = cosine * q - 1.0 / 720;
  cosine = cosine * q + 1.0 / 24;
  cosine = cosine * q - 1.0 / 2;
  cosine = cosine * q + 1;
  // Quarters 0 to 3: cos, -sin, -cos, sin; 4 is 0 again.
  const double size = quarter & 1 ? sine : cosine;
  return ((quarter + 1) & 2) != 0 ? -size : size;
}

extern "C" __global__ void NAME(const pl_words<6> w) {
  if (item() >= (int64_t)w.v[2]) return;
  const pl_philox_t bits = draw(w);
  const double radius = pl_sqrt_d(-2 * pl_log_d(((double)bits.a + 1) * 0x1p-32));
  const double mean = pl_from_bits_d(w.v[4]), deviation = pl_from_bits_d(w.v[5]);
  at<T>(w.v[1])[item()] = narrow(mean + deviation * (radius * cos_of_turn(bits.b)));
}
)";

// The first number: below which of 2^24 it is true.
constexpr const char* kBernoulli = R"(
extern "C" __global__ void NAME(const pl_words<6> w) {
  if (item() >= (int64_t)w.v[2]) return;
  at<T>(w.v[1])[item()] = (draw(w).a >> 8) < (uint32_t)w.v[4];
}
)";

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
  const char* kernel = call.op == "uniform" ? kUniform : call.op == "normal" ? kNormal : kBernoulli;
  return named_text(name_of_call(call),
                    types_text(call.outputs[0].dtype, Computed::kWide) + kDraw + kernel);
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
