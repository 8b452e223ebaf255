// Oracles of random numbers, dropout and optimizer updates. Philox4x32-10 is written here a second
// time, from its description: ten rounds of two multiplications and two exclusive ors.
#include <cmath>

#include "ops/random.h"
#include "ops/update.h"
#include "tests/ops/index_walk.h"
#include "tests/ops/oracle.h"

namespace plait {
namespace {

using Inputs = std::vector<const Array*>;

/// The first two of the four words drawn for an element.
struct Words {
  std::uint32_t first, second;
};

Words draw(const Array& key, std::int64_t stream, std::int64_t element) {
  const auto seed = static_cast<std::uint64_t>(key.integer(0));
  const auto step = static_cast<std::uint64_t>(key.integer(1));
  std::uint32_t c0 = static_cast<std::uint32_t>(element);
  std::uint32_t c1 = static_cast<std::uint32_t>(static_cast<std::uint64_t>(element) >> 32);
  std::uint32_t c2 = static_cast<std::uint32_t>(stream);
  std::uint32_t c3 = static_cast<std::uint32_t>(step);
  const std::uint32_t step_high = static_cast<std::uint32_t>(step >> 32);
  const std::uint32_t k0 = static_cast<std::uint32_t>(seed);
  const std::uint32_t k1 = static_cast<std::uint32_t>(seed >> 32) ^ (step_high * 0x9E3779B9u);
  for (std::uint32_t round = 0; round < 10; ++round) {
    const std::uint64_t left = std::uint64_t{c0} * 0xD2511F53u;
    const std::uint64_t right = std::uint64_t{c2} * 0xCD9E8D57u;
    const std::uint32_t left_high = static_cast<std::uint32_t>(left >> 32);
    const std::uint32_t right_high = static_cast<std::uint32_t>(right >> 32);
    c0 = right_high ^ c1 ^ (k0 + round * 0x9E3779B9u);
    c2 = left_high ^ c3 ^ (k1 + round * 0xBB67AE85u);
    c1 = static_cast<std::uint32_t>(right);
    c3 = static_cast<std::uint32_t>(left);
  }
  return {c0, c1};
}

double draw_uniform(const Array& key, std::int64_t stream, std::int64_t element) {
  return std::ldexp(static_cast<double>(draw(key, stream, element).first >> 8), -24);
}

std::vector<Array> uniform(const NodeView& node, const Inputs& inputs) {
  const auto a = node.as<ops::Uniform>();
  Array y = result_array(node);
  for (std::int64_t i = 0; i < y.count(); ++i) {
    y.set(i, a.lo + (a.hi - a.lo) * draw_uniform(*inputs[0], a.stream, i));
  }
  return {y};
}

std::vector<Array> normal(const NodeView& node, const Inputs& inputs) {
  const auto a = node.as<ops::Normal>();
  Array y = result_array(node);
  for (std::int64_t i = 0; i < y.count(); ++i) {
    const Words words = draw(*inputs[0], a.stream, i);
    const double radius = std::sqrt(-2 * std::log((words.first + 1.0) / 4294967296.0));
    const double angle = 2 * std::acos(-1.0) * words.second / 4294967296.0;
    y.set(i, a.mean + a.std * radius * std::cos(angle));
  }
  return {y};
}

std::vector<Array> bernoulli(const NodeView& node, const Inputs& inputs) {
  const auto a = node.as<ops::Bernoulli>();
  Array y = result_array(node);
  for (std::int64_t i = 0; i < y.count(); ++i) {
    y.set_integer(i, draw_uniform(*inputs[0], a.stream, i) < a.p ? 1 : 0);
  }
  return {y};
}

std::vector<Array> dropout(const NodeView& node, const Inputs& inputs) {
  const auto a = node.as<ops::Dropout>();
  Array y = result_array(node);
  for (std::int64_t i = 0; i < y.count(); ++i) {
    const bool dropped = draw_uniform(*inputs[1], a.stream, i) < a.p;
    y.set(i, dropped ? 0.0 : inputs[0]->real(i) / (1 - a.p));
  }
  return {y};
}

std::vector<Array> sgd_update(const NodeView& node, const Inputs& inputs) {
  const auto a = node.as<ops::SgdUpdate>();
  const double lr = inputs[2]->real(0);
  std::vector<Array> results{result_array(node)};
  if (a.momentum != 0) results.push_back(result_array(node, 1));
  for (std::int64_t i = 0; i < inputs[0]->count(); ++i) {
    const double w = inputs[0]->real(i);
    double direction = inputs[1]->real(i) + a.weight_decay * w;
    if (a.momentum != 0) {
      const double m = a.momentum * inputs[3]->real(i) + (1 - a.dampening) * direction;
      results[1].set(i, m);
      direction = a.nesterov ? direction + a.momentum * m : m;
    }
    results[0].set(i, w - lr * direction);
  }
  return results;
}

std::vector<Array> adam_update(const NodeView& node, const Inputs& inputs) {
  const auto a = node.as<ops::AdamUpdate>();
  const double lr = inputs[2]->real(0), step = inputs[5]->real(0);
  std::vector<Array> results{result_array(node), result_array(node, 1), result_array(node, 2)};
  for (std::int64_t i = 0; i < inputs[0]->count(); ++i) {
    double w = inputs[0]->real(i), g = inputs[1]->real(i);
    if (a.decoupled) {
      w -= lr * a.weight_decay * w;
    } else {
      g += a.weight_decay * w;
    }
    const double m = a.beta1 * inputs[3]->real(i) + (1 - a.beta1) * g;
    const double v = a.beta2 * inputs[4]->real(i) + (1 - a.beta2) * g * g;
    const double mean = m / (1 - std::pow(a.beta1, step));
    const double square = v / (1 - std::pow(a.beta2, step));
    results[0].set(i, w - lr * mean / (std::sqrt(square) + a.eps));
    results[1].set(i, m);
    results[2].set(i, v);
  }
  return results;
}

}  // namespace

std::vector<Oracle> update_oracles() {
  return {{"uniform", uniform}, {"normal", normal},         {"bernoulli", bernoulli},
          {"dropout", dropout}, {"sgd_update", sgd_update}, {"adam_update", adam_update}};
}

}  // namespace plait
