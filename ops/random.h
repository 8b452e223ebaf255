// Random numbers, counter-based (base/philox.h): keyed by key = (seed, step), the attribute
// `stream` and the element's row-major index, so that recomputing, sharding or resuming draws the
// same.
#pragma once

#include "ops/builder.h"
#include "ops/infer.h"

namespace plait::ops {

struct Uniform {
  Shape shape;
  DType dtype = DType::f32;
  std::int64_t stream = 0;
  double lo = 0, hi = 1;
  bool operator==(const Uniform&) const = default;
  static constexpr auto fields() {
    return std::tuple{ir::Field{"shape", &Uniform::shape}, ir::Field{"dtype", &Uniform::dtype},
                      ir::Field{"stream", &Uniform::stream}, ir::Field{"lo", &Uniform::lo},
                      ir::Field{"hi", &Uniform::hi}};
  }
};
struct Normal {
  Shape shape;
  DType dtype = DType::f32;
  std::int64_t stream = 0;
  double mean = 0, std = 1;
  bool operator==(const Normal&) const = default;
  static constexpr auto fields() {
    return std::tuple{ir::Field{"shape", &Normal::shape}, ir::Field{"dtype", &Normal::dtype},
                      ir::Field{"stream", &Normal::stream}, ir::Field{"mean", &Normal::mean},
                      ir::Field{"std", &Normal::std}};
  }
};
struct Bernoulli {
  Shape shape;
  double p = 0.5;
  std::int64_t stream = 0;
  bool operator==(const Bernoulli&) const = default;
  static constexpr auto fields() {
    return std::tuple{ir::Field{"shape", &Bernoulli::shape}, ir::Field{"p", &Bernoulli::p},
                      ir::Field{"stream", &Bernoulli::stream}};
  }
};
struct Dropout {
  double p = 0.5;
  std::int64_t stream = 0;
  bool operator==(const Dropout&) const = default;
  static constexpr auto fields() {
    return std::tuple{ir::Field{"p", &Dropout::p}, ir::Field{"stream", &Dropout::stream}};
  }
};

/// UserError unless operand i is a key and `stream` fits beside it.
void check_random_key(const NodeView& v, int i, std::int64_t stream);
std::vector<ir::Type> infer_uniform(const NodeView& v);
std::vector<ir::Type> infer_normal(const NodeView& v);
std::vector<ir::Type> infer_bernoulli(const NodeView& v);
std::vector<ir::Type> infer_dropout(const NodeView& v);
void eval_uniform(EvalCtx& c);
void eval_normal(EvalCtx& c);
void eval_bernoulli(EvalCtx& c);
std::vector<Tensor> decompose_dropout(DecomposeCtx& c);
Grads dropout_from_key(GradCtx& g);
Grads dropout_from_mask(GradCtx& g);

/// One per number drawn.
inline Dim drawn(const NodeView& v) { return v.out().elements(); }

// Entries are laid out by hand.
// clang-format off
inline constexpr Op uniform{
    .name = "uniform", .inputs = {"key"}, .dtypes = dtype_set(DType::i64), .traits = kRandom,
    .attrs = &ir::kSchema<Uniform>, .infer = infer_uniform, .eval = eval_uniform,
    .colour = Colour::kBlack, .operations = drawn,
    .samples = "i64[2]{0..1000} | shape=[7]; "
               "i64[2]{0..1000} | shape=[3,5], stream=3, lo=-2.0, hi=3.5; "
               "i64[2]{0..1000} | shape=[4], dtype=f16; i64[2]{0..1000} | shape=[], dtype=f64; "
               "i64[2]{-9000000000000..9000000000000} | shape=[5], stream=4294967295; "
               "i64[2] | shape=[0]",
    .doc = "evenly from [lo, hi), with 24 bits, rounded to dtype"};

inline constexpr Op normal{
    .name = "normal", .inputs = {"key"}, .dtypes = dtype_set(DType::i64), .traits = kRandom,
    .attrs = &ir::kSchema<Normal>, .infer = infer_normal, .eval = eval_normal,
    .colour = Colour::kBlack, .operations = drawn,
    .samples = "i64[2]{0..1000} | shape=[7]; "
               "i64[2]{0..1000} | shape=[3,5], stream=3, mean=1.5, std=0.02; "
               "i64[2]{0..1000} | shape=[4], dtype=bf16; i64[2]{0..1000} | shape=[], dtype=f64; "
               "i64[2] | shape=[0]"};

inline constexpr Op bernoulli{
    .name = "bernoulli", .inputs = {"key"}, .dtypes = dtype_set(DType::i64), .traits = kRandom,
    .attrs = &ir::kSchema<Bernoulli>, .infer = infer_bernoulli, .eval = eval_bernoulli,
    .colour = Colour::kBlack, .operations = drawn,
    .samples = "i64[2]{0..1000} | shape=[20]; i64[2]{0..1000} | shape=[3,5], p=0.1, stream=7; "
               "i64[2]{0..1000} | shape=[4], p=0.0; i64[2]{0..1000} | shape=[4], p=1.0; "
               "i64[2] | shape=[0]",
    .doc = "true with probability p"};

inline constexpr Op dropout{
    .name = "dropout", .inputs = {"x", "key"}, .dtypes = kFloats, .traits = kRandom,
    .attrs = &ir::kSchema<Dropout>, .infer = infer_dropout, .decompose = decompose_dropout,
    .grads = {{"key", dropout_from_key}, {"mask", dropout_from_mask}},
    .colour = Colour::kGray,
    .samples = "f32[20], i64[2]{0..1000}; f32[3,5], i64[2]{0..1000} | p=0.2, stream=5; "
               "f32[4], i64[2]{0..1000} | p=0.0; f32[4], i64[2]{0..1000} | p=1.0; f32[0], i64[2]",
    .doc = "0 with probability p, else x / (1 - p)"};
// clang-format on

inline constexpr const Op* kRandom[] = {&uniform, &normal, &bernoulli, &dropout};

}  // namespace plait::ops
