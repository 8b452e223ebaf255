// RWKV-4's recurrence: a weighted mean over the past, exponentially decayed, per batch and channel.
// It takes and returns its running state (a, b, o), so that generation is the same op fed forward.
// The maximum o keeps every exponent at or below 0: nothing overflows however large k or T.
#pragma once

#include "ops/builder.h"
#include "ops/infer.h"

namespace plait::ops {

std::vector<ir::Type> infer_wkv(const NodeView& v);
std::vector<ir::Type> infer_wkv_backward(const NodeView& v);
void eval_wkv(EvalCtx& c);
void eval_wkv_backward(EvalCtx& c);
Grads grad_wkv(GradCtx& g);

/// Scalar operations of a step: 12 for y, 11 for the state.
inline Dim wkv_operations(const NodeView& v) { return v.in(0).elements() * Dim(23); }
/// 11 for the state going forwards; going back 23 for the step again, 13 through the state's
/// update and 19 through y.
inline Dim wkv_backward_operations(const NodeView& v) { return v.in(0).elements() * Dim(66); }

// Entries are laid out by hand.
// clang-format off
inline constexpr Op wkv{
    .name = "wkv", .inputs = {"k", "v", "w", "u", "a0?", "b0?", "o0?"},
    .outputs = {"y", "a", "b", "o"}, .dtypes = kFloats,
    .infer = infer_wkv, .eval = eval_wkv,
    .grads = {{"a0,b0,k,o0,u,v,w", grad_wkv}},
    .colour = Colour::kGray, .operations = wkv_operations,
    .samples = "f32[2,5,3], f32[2,5,3], f32[3]{-2..-0.1}, f32[3]; "
               "f32[1,4,2], f32[1,4,2], f32[2]{-2..-0.1}, f32[2], f32[1,2], f32[1,2]{0.5..2}, "
               "f32[1,2]; f32[2,1,3], f32[2,1,3], f32[3]{-9..-5}, f32[3]; "
               "f32[1,6,2]{-60..60}, f32[1,6,2], f32[2]{-3..-0.01}, f32[2]; "
               "f32[2,0,3], f32[2,0,3], f32[3], f32[3], f32[2,3], f32[2,3], f32[2,3]",
    .doc = "mean of v weighted by e^(k + w age), the newest by e^(k + u); [batch,time,channels], "
           "w is negative; an absent state is (0, 0, -1e38); beside halves k and v the others may be f32"};

inline constexpr Op wkv_backward{
    .name = "wkv_backward",
    .inputs = {"k", "v", "w", "u", "a0?", "b0?", "o0?", "dy?", "da?", "db?", "do?"},
    .outputs = {"dk", "dv", "dw", "du", "da0", "db0", "do0"}, .dtypes = kFloats,
    .infer = infer_wkv_backward, .eval = eval_wkv_backward,
    .colour = Colour::kGray, .operations = wkv_backward_operations,
    .samples = "f32[2,5,3], f32[2,5,3], f32[3]{-2..-0.1}, f32[3], _, _, _, f32[2,5,3]; "
               "f32[1,4,2], f32[1,4,2], f32[2]{-2..-0.1}, f32[2], f32[1,2], f32[1,2]{0.5..2}, "
               "f32[1,2], f32[1,4,2], f32[1,2], f32[1,2], f32[1,2]; "
               "f32[2,3,1], f32[2,3,1], f32[1]{-2..-0.1}, f32[1], _, _, _, _, f32[2,1], f32[2,1]; "
               "f32[1,6,2]{-60..60}, f32[1,6,2], f32[2]{-3..-0.01}, f32[2], _, _, _, f32[1,6,2]; "
               "f32[2,0,3], f32[2,0,3], f32[3], f32[3], _, _, _, f32[2,0,3], f32[2,3], _, f32[2,3]",
    .doc = "the gradients of wkv's operands from those of its results, absent ones being 0; has no "
           "gradient itself"};
// clang-format on

inline constexpr const Op* kWkv[] = {&wkv, &wkv_backward};

}  // namespace plait::ops
