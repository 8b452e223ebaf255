// Reductions over axes: sums, means, extrema, products, logical ones, log-sum-exp.
#pragma once

#include "ops/builder.h"
#include "ops/infer.h"

namespace plait::ops {

/// The operand's type without the reduced axes, or with size 1 there.
std::vector<ir::Type> infer_reduction(const NodeView& v);
/// The same; UserError when there is nothing to choose from.
std::vector<ir::Type> infer_choice(const NodeView& v);
/// `ab->a`: the operand's elements reduced, without a finish.
loop::Nest nest_reduction(const NodeView& v, loop::Reduce reduce);
loop::Nest nest_mean(const NodeView& v);

/// A tensor of the result's shape, brought to the operand's with size 1 along the reduced axes.
Tensor kept(const GradCtx& g, const Tensor& t);
Grads grad_sum(GradCtx& g);
Grads grad_mean(GradCtx& g);
Grads grad_extremum(GradCtx& g);
Grads grad_extremum_by_mask(GradCtx& g);
Grads grad_prod(GradCtx& g);
std::vector<Tensor> decompose_logsumexp(DecomposeCtx& c);
Grads grad_logsumexp(GradCtx& g);
Grads grad_logsumexp_anew(GradCtx& g);

// Entries are laid out by hand.
// clang-format off
inline constexpr Op sum{
    .name = "sum", .inputs = {"x"}, .dtypes = kNumbers, .attrs = &ir::kSchema<Reduction>,
    .infer = infer_reduction,
    .nest = [](const NodeView& v) { return nest_reduction(v, loop::Reduce::kSum); },
    .grads = {{"", grad_sum}},
    .colour = Colour::kGray,
    .samples = "f32[7]; f32[3,5] | axes=[0]; f32[3,5] | axes=[-1], keep=true; "
               "f32[2,3,4] | axes=[0,2]; f32[2,3,4] | axes=[2,0], keep=true; "
               "f32[2,1,3] | axes=[1]; f32[]; f32[0,3] | axes=[0]; f32[2,0]; "
               "f32[0,3] | axes=[1]; i64[2,3] | axes=[1]; i8[3]; u8[3,2] | axes=[0]"};

inline constexpr Op mean{
    .name = "mean", .inputs = {"x"}, .dtypes = kFloats, .traits = kWideGrad,
    .attrs = &ir::kSchema<Reduction>, .infer = infer_reduction, .nest = nest_mean,
    .grads = {{"", grad_mean}},
    .colour = Colour::kGray,
    .samples = "f32[7]; f32[3,5] | axes=[0]; f32[3,5] | axes=[-1], keep=true; "
               "f32[2,3,4] | axes=[0,2]; f32[2,1,3] | axes=[1]; f32[]; f32[0,3] | axes=[1]",
    .doc = "NaN over no elements"};

inline constexpr Op max{
    .name = "max", .inputs = {"x"}, .dtypes = kNumbers, .traits = kWideGrad,
    .attrs = &ir::kSchema<Reduction>, .infer = infer_choice,
    .nest = [](const NodeView& v) { return nest_reduction(v, loop::Reduce::kMax); },
    .grads = {{"x,y", grad_extremum}, {"mask", grad_extremum_by_mask}},
    .colour = Colour::kClear,
    .samples = "f32[7]; f32[3,5] | axes=[0]; f32[3,5] | axes=[-1], keep=true; "
               "f32[2,3,4] | axes=[0,2]; f32[2,1,3] | axes=[1]; f32[]; f32[0,3] | axes=[1]; "
               "i64[2,3]{-5..5} | axes=[1]; u8[3,2] | axes=[0]",
    .doc = "NaN when one is; the gradient is split evenly among equals"};

inline constexpr Op min{
    .name = "min", .inputs = {"x"}, .dtypes = kNumbers, .traits = kWideGrad,
    .attrs = &ir::kSchema<Reduction>, .infer = infer_choice,
    .nest = [](const NodeView& v) { return nest_reduction(v, loop::Reduce::kMin); },
    .grads = {{"x,y", grad_extremum}, {"mask", grad_extremum_by_mask}},
    .colour = Colour::kClear, .samples = max.samples, .doc = max.doc};

inline constexpr Op prod{
    .name = "prod", .inputs = {"x"}, .dtypes = kNumbers, .traits = kWideGrad,
    .attrs = &ir::kSchema<Reduction>, .infer = infer_reduction,
    .nest = [](const NodeView& v) { return nest_reduction(v, loop::Reduce::kProd); },
    .grads = {{"x", grad_prod}},
    .colour = Colour::kBlack,
    .samples = "f32[5]; f32[3,4] | axes=[0]; f32[3,4] | axes=[-1], keep=true; "
               "f32[2,3,2] | axes=[0,2]; f32[2,1,3] | axes=[1]; f32[]; f32[0,3] | axes=[0]; "
               "f32[2,1]{0..0} | axes=[1]; f32[2,2]{0..0} | axes=[1]; f32[2,3]{0..0} | axes=[1]; "
               "i64[2,3]{-5..5} | axes=[1]; i32[0]",
    .doc = "1 over no elements"};

inline constexpr Op any{
    .name = "any", .inputs = {"x"}, .dtypes = kBools, .attrs = &ir::kSchema<Reduction>,
    .infer = infer_reduction,
    .nest = [](const NodeView& v) {
      loop::Nest nest = nest_reduction(v, loop::Reduce::kMax);
      nest.finish = loop::Expr::acc() > 0;  // over no elements: false
      return nest;
    },
    .colour = Colour::kClear,
    .samples = "bool[5]; bool[3,4] | axes=[1]; bool[3,2,2] | axes=[0,-1], keep=true; bool[]; "
               "bool[2,0] | axes=[1]"};

inline constexpr Op all{
    .name = "all", .inputs = {"x"}, .dtypes = kBools, .attrs = &ir::kSchema<Reduction>,
    .infer = infer_reduction,
    .nest = [](const NodeView& v) {
      loop::Nest nest = nest_reduction(v, loop::Reduce::kMin);
      nest.finish = loop::Expr::acc() > 0;  // over no elements: true
      return nest;
    },
    .colour = Colour::kClear, .samples = any.samples};

inline constexpr Op logsumexp{
    .name = "logsumexp", .inputs = {"x"}, .dtypes = kFloats, .attrs = &ir::kSchema<Reduction>,
    .infer = infer_choice, .decompose = decompose_logsumexp,
    .grads = {{"x,y", grad_logsumexp}, {"x", grad_logsumexp_anew}},
    .colour = Colour::kBlack,
    .samples = "f32[7]; f32[3,5] | axes=[0]; f32[3,5]{-80..80} | axes=[-1], keep=true; "
               "f32[2,3,4] | axes=[0,2]; f32[2,1,3] | axes=[1]; f32[]; f32[0,3] | axes=[1]; "
               "f32[2,4]{1000..1004} | axes=[1]",
    .doc = "log of the sum of exponentials; never overflows, -inf where all are"};
// clang-format on

inline constexpr const Op* kReduce[] = {&sum, &mean, &max, &min, &prod, &any, &all, &logsumexp};

}  // namespace plait::ops
