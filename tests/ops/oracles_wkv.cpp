// Oracles of RWKV-4's recurrence. Forward by its closed form: sums over the whole past, no running
// state. Backward by complex steps through that form: the derivative is the imaginary part.
#include <cmath>
#include <complex>

#include "ops/wkv.h"
#include "tests/ops/index_walk.h"
#include "tests/ops/oracle.h"

namespace plait {
namespace {

using Inputs = std::vector<const Array*>;
using Number = std::complex<long double>;

/// One batch row and channel: operands, then results.
struct Lane {
  std::vector<Number> k, v, y;
  Number w, u, a0, b0, o0, a, b, o;
};

struct Term {
  Number exponent, value, weight;  // contributes e^exponent times value, and times weight
};

struct Sum {
  Number value, weight, most;  // the first two over e^most
};

Sum sum_of(const std::vector<Term>& terms) {
  Sum s{0, 0, terms[0].exponent};
  for (const Term& t : terms) {
    if (t.exponent.real() > s.most.real()) s.most = t.exponent;
  }
  for (const Term& t : terms) {
    s.value += std::exp(t.exponent - s.most) * t.value;
    s.weight += std::exp(t.exponent - s.most) * t.weight;
  }
  return s;
}

/// What the state before step t is made of: the initial one decayed, and every earlier step.
std::vector<Term> past_of(const Lane& x, std::size_t t) {
  std::vector<Term> terms{{x.o0 + static_cast<long double>(t) * x.w, x.a0, x.b0}};
  for (std::size_t i = 0; i < t; ++i) {
    terms.push_back({x.k[i] + static_cast<long double>(t - 1 - i) * x.w, x.v[i], 1});
  }
  return terms;
}

void run(Lane& x) {
  x.y.resize(x.k.size());
  for (std::size_t t = 0; t < x.k.size(); ++t) {
    std::vector<Term> terms = past_of(x, t);
    terms.push_back({x.u + x.k[t], x.v[t], 1});
    const Sum s = sum_of(terms);
    x.y[t] = s.value / s.weight;
  }
  const Sum s = sum_of(past_of(x, x.k.size()));
  x.a = s.value;
  x.b = s.weight;
  x.o = s.most;
}

long double value_of(const Inputs& inputs, std::size_t i, std::int64_t at,
                     long double otherwise = 0) {
  return i < inputs.size() && inputs[i] ? inputs[i]->real(at) : otherwise;
}

/// Where a lane's elements are.
struct Place {
  std::int64_t batch, channel, time, channels;
  std::int64_t step(std::size_t t) const {
    return (batch * time + static_cast<std::int64_t>(t)) * channels + channel;
  }
  std::int64_t state() const { return batch * channels + channel; }
};

Lane lane_at(const Inputs& inputs, const Place& at) {
  Lane x;
  for (std::size_t t = 0; t < static_cast<std::size_t>(at.time); ++t) {
    x.k.push_back(inputs[0]->real(at.step(t)));
    x.v.push_back(inputs[1]->real(at.step(t)));
  }
  x.w = inputs[2]->real(at.channel);
  x.u = inputs[3]->real(at.channel);
  x.a0 = value_of(inputs, 4, at.state());
  x.b0 = value_of(inputs, 5, at.state());
  x.o0 = value_of(inputs, 6, at.state(), -1e38L);
  return x;
}

template <class F>
void for_each_lane(const Inputs& inputs, F f) {
  const Sizes& k = inputs[0]->sizes();
  for (std::int64_t b = 0; b < k[0]; ++b) {
    for (std::int64_t c = 0; c < k[2]; ++c) f(Place{b, c, k[1], k[2]});
  }
}

std::vector<Array> results_of(const NodeView& node) {
  std::vector<Array> results;
  for (int i = 0; i < static_cast<int>(node.outputs.size()); ++i) {
    results.push_back(result_array(node, i));
  }
  return results;
}

double real_part(const Number& x) { return static_cast<double>(x.real()); }

std::vector<Array> wkv(const NodeView& node, const Inputs& inputs) {
  std::vector<Array> results = results_of(node);
  for_each_lane(inputs, [&](const Place& at) {
    Lane x = lane_at(inputs, at);
    run(x);
    for (std::size_t t = 0; t < x.y.size(); ++t) results[0].set(at.step(t), real_part(x.y[t]));
    results[1].set(at.state(), real_part(x.a));
    results[2].set(at.state(), real_part(x.b));
    results[3].set(at.state(), real_part(x.o));
  });
  return results;
}

/// The slope of <cotangents, results> when the number that `pick` picks moves.
template <class Pick>
double slope(const Inputs& inputs, const Place& at, Pick pick) {
  constexpr long double kStep = 1e-30L;
  Lane x = lane_at(inputs, at);
  pick(x) += Number(0, kStep);
  run(x);
  Number dot = value_of(inputs, 8, at.state()) * x.a + value_of(inputs, 9, at.state()) * x.b +
               value_of(inputs, 10, at.state()) * x.o;
  for (std::size_t t = 0; t < x.y.size(); ++t) dot += value_of(inputs, 7, at.step(t)) * x.y[t];
  return static_cast<double>(dot.imag() / kStep);
}

std::vector<Array> wkv_backward(const NodeView& node, const Inputs& inputs) {
  std::vector<Array> d = results_of(node);
  for_each_lane(inputs, [&](const Place& at) {
    for (std::size_t t = 0; t < static_cast<std::size_t>(at.time); ++t) {
      d[0].set(at.step(t), slope(inputs, at, [&](Lane& x) -> Number& { return x.k[t]; }));
      d[1].set(at.step(t), slope(inputs, at, [&](Lane& x) -> Number& { return x.v[t]; }));
    }
    const double dw = slope(inputs, at, [](Lane& x) -> Number& { return x.w; });
    const double du = slope(inputs, at, [](Lane& x) -> Number& { return x.u; });
    d[2].set(at.channel, d[2].real(at.channel) + dw);
    d[3].set(at.channel, d[3].real(at.channel) + du);
    d[4].set(at.state(), slope(inputs, at, [](Lane& x) -> Number& { return x.a0; }));
    d[5].set(at.state(), slope(inputs, at, [](Lane& x) -> Number& { return x.b0; }));
    d[6].set(at.state(), slope(inputs, at, [](Lane& x) -> Number& { return x.o0; }));
  });
  return d;
}

}  // namespace

std::vector<Oracle> wkv_oracles() { return {{"wkv", wkv}, {"wkv_backward", wkv_backward}}; }

}  // namespace plait
