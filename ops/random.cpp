// Random numbers: types, evaluation, and dropout's decomposition and gradients.
#include "ops/random.h"

#include <limits>

#include "base/philox.h"
#include "ops/compare.h"

namespace plait::ops {
namespace {

void check_float(const NodeView& v, DType dtype) {
  if (!is_float(dtype)) v.fail_hint("It is a float dtype", "dtype cannot be ", dtype);
}

void check_probability(const NodeView& v, double p) {
  if (!(p >= 0 && p <= 1)) v.fail("p=", p, " must be between 0 and 1");
}

RandomKey key_of(const Array& key, std::int64_t stream) {
  return {static_cast<std::uint64_t>(key.integer(0)), static_cast<std::uint64_t>(key.integer(1)),
          static_cast<std::uint32_t>(stream)};
}

/// Which elements stay. Drawn in f32, whatever x is, so that every dtype keeps the same ones.
Tensor kept_elements(const Tensor& key, const Shape& shape, const Dropout& a) {
  return uniform(key, Uniform{.shape = shape, .stream = a.stream}) >= a.p;
}

Tensor drop(const Tensor& x, const Tensor& kept, const Dropout& a) {
  return where(kept, x * (1 / (1 - a.p)), 0.0);
}

}  // namespace

void check_random_key(const NodeView& v, int i, std::int64_t stream) {
  want_dtype(v, i, dtype_set(DType::i64), "i64");
  want_shape(v, i, {2}, "seed and step");
  if (stream < 0 || stream > std::numeric_limits<std::uint32_t>::max()) {
    v.fail("stream=", stream, " does not fit in 32 bits");
  }
}

std::vector<ir::Type> infer_uniform(const NodeView& v) {
  const auto a = v.as<Uniform>();
  check_random_key(v, 0, a.stream);
  check_float(v, a.dtype);
  if (!(a.lo <= a.hi)) v.fail("lo=", a.lo, " is above hi=", a.hi);
  return {{a.dtype, a.shape}};
}

std::vector<ir::Type> infer_normal(const NodeView& v) {
  const auto a = v.as<Normal>();
  check_random_key(v, 0, a.stream);
  check_float(v, a.dtype);
  if (!(a.std >= 0)) v.fail("std=", a.std, " must not be negative");
  return {{a.dtype, a.shape}};
}

std::vector<ir::Type> infer_bernoulli(const NodeView& v) {
  const auto a = v.as<Bernoulli>();
  check_random_key(v, 0, a.stream);
  check_probability(v, a.p);
  return {{DType::boolean, a.shape}};
}

std::vector<ir::Type> infer_dropout(const NodeView& v) {
  const auto a = v.as<Dropout>();
  check_random_key(v, 1, a.stream);
  check_probability(v, a.p);
  return same_as_input(v);
}

void eval_uniform(EvalCtx& c) {
  const auto a = c.as<Uniform>();
  const RandomKey key = key_of(c.in(0), a.stream);
  for (std::int64_t i = 0; i < c.out().count(); ++i) {
    c.out().set(i, a.lo + (a.hi - a.lo) * random_uniform(key, static_cast<std::uint64_t>(i)));
  }
}

void eval_normal(EvalCtx& c) {
  const auto a = c.as<Normal>();
  const RandomKey key = key_of(c.in(0), a.stream);
  for (std::int64_t i = 0; i < c.out().count(); ++i) {
    c.out().set(i, a.mean + a.std * random_normal(key, static_cast<std::uint64_t>(i)));
  }
}

void eval_bernoulli(EvalCtx& c) {
  const auto a = c.as<Bernoulli>();
  const RandomKey key = key_of(c.in(0), a.stream);
  for (std::int64_t i = 0; i < c.out().count(); ++i) {
    c.out().set_integer(i, random_uniform(key, static_cast<std::uint64_t>(i)) < a.p);
  }
}

std::vector<Tensor> decompose_dropout(DecomposeCtx& c) {
  const auto a = c.as<Dropout>();
  if (a.p == 0) return {c.in(0)};
  if (a.p == 1) return {c.b.full(0, c.in(0).dtype(), c.node.in(0).shape)};
  return {drop(c.in(0), kept_elements(c.in(1), c.in(0).shape(), a), a)};
}

// The same draws again: the gradient is the op itself.
Grads dropout_from_key(GradCtx& g) {
  return {g.b.add(g.node.op, {g.dy(), g.in(1)}, g.node.attrs)[0], Tensor()};
}

Grads dropout_from_mask(GradCtx& g) {
  const auto a = g.as<Dropout>();
  const Tensor mask = g.save("mask", kept_elements(g.in(1), g.type().shape, a));
  return {a.p == 1 ? g.b.full(0, g.dy().dtype(), g.type().shape) : drop(g.dy(), mask, a), Tensor()};
}

}  // namespace plait::ops
