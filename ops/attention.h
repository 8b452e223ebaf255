// Scaled dot-product attention as one op, so that a backend can run it, and its gradient, without
// the T x S scores ever being stored. As composites: matmul, mask, softmax, matmul.
#pragma once

#include "ops/builder.h"
#include "ops/infer.h"

namespace plait::ops {

/// Query i stands at key i + offset. What it sees is an interval of keys, whichever of the three
/// below bound it, so that whole blocks of keys can be left out.
struct Attention {
  bool causal = false;      // sees keys up to its own place
  double scale = 0;         // of q.k; 0 means 1/sqrt(D)
  std::int64_t window = 0;  // sees keys nearer than this; 0: any
  std::int64_t offset = 0;
  double dropout = 0;  // probability that a weight is dropped
  std::int64_t stream = 0;
  bool operator==(const Attention&) const = default;
  static constexpr auto fields() {
    return std::tuple{
        ir::Field{"causal", &Attention::causal},   ir::Field{"scale", &Attention::scale},
        ir::Field{"window", &Attention::window},   ir::Field{"offset", &Attention::offset},
        ir::Field{"dropout", &Attention::dropout}, ir::Field{"stream", &Attention::stream}};
  }
};

/// Pairs of queries and keys, [..,T,S].
struct AttentionKeep {
  Shape shape;
  double p = 0.5;
  std::int64_t stream = 0;
  bool operator==(const AttentionKeep&) const = default;
  static constexpr auto fields() {
    return std::tuple{ir::Field{"shape", &AttentionKeep::shape},
                      ir::Field{"p", &AttentionKeep::p},
                      ir::Field{"stream", &AttentionKeep::stream}};
  }
};

/// Scale of the scores, as a number.
double attention_scale(const NodeView& v);

std::vector<ir::Type> infer_attention(const NodeView& v);
std::vector<ir::Type> infer_attention_keep(const NodeView& v);
void eval_attention_keep(EvalCtx& c);
std::vector<ir::Type> infer_attention_backward(const NodeView& v);
std::vector<Tensor> decompose_attention(DecomposeCtx& c);
std::vector<Tensor> decompose_attention_backward(DecomposeCtx& c);
Grads attention_from_result(GradCtx& g);
Grads attention_from_probabilities(GradCtx& g);
Dim attention_operations(const NodeView& v);
Dim attention_backward_operations(const NodeView& v);

// Entries are laid out by hand.
// clang-format off
inline constexpr Op attention{
    .name = "attention",
    .inputs = {"q", "k", "v", "mask?", "slopes?", "offsets?", "key?"}, .outputs = {"y", "lse"},
    .dtypes = kFloats, .traits = kOpGrad,
    .attrs = &ir::kSchema<Attention>, .infer = infer_attention,
    .decompose = decompose_attention,
    .grads = {{"k,key,lse,mask,offsets,q,slopes,v,y", attention_from_result},
              {"k,key,probabilities,q,v", attention_from_probabilities}},
    .colour = Colour::kWhite, .operations = attention_operations,
    .samples = "f32[2,2,3,4], f32[2,2,3,4], f32[2,2,3,4] | causal=true; "
               "f32[1,2,3,4], f32[1,2,5,4], f32[1,2,5,2]; "
               "f32[1,1,4,3], f32[1,1,2,3], f32[1,1,2,3] | causal=true, scale=0.7; "
               "f32[1,1,2,3], f32[1,1,4,3], f32[1,1,4,1] | causal=true, offset=2; "
               "f32[1,2,3,2], f32[1,2,4,2], f32[1,2,4,2], f32[2,1,4]; "
               "f32[1,1,2,2], f32[1,1,9,2], f32[1,1,9,2], bool[2,9] | scale=0.5; "
               "f32[1,2,1,2], f32[1,2,3,2], f32[1,2,3,2], f32[3] | causal=true; "
               "f32[2,4,3,2], f32[2,2,3,2], f32[2,2,3,3] | causal=true; "
               "f32[3,5,2], f32[1,5,2], f32[1,5,2] | window=2; "
               "f32[1,2,7,2], f32[1,2,7,2], f32[1,2,7,2] | causal=true, window=3; "
               "f32[1,2,3,2], f32[1,2,4,2], f32[1,2,4,2], _, f32[2]{0..1} | causal=true, offset=1; "
               "f32[2,1,6,2], f32[2,1,6,2], f32[2,1,6,2], _, _, i64[2,2] | causal=true; "
               "f32[5,3], f32[5,3], f32[5,3], _, _, i32[3]; "
               "f32[1,2,4,3], f32[1,2,5,3], f32[1,2,5,3], _, _, _, i64[2]{0..1000} | "
               "dropout=0.3, stream=2; "
               "f32[0,1,2,3], f32[0,1,2,3], f32[0,1,2,3]",
    .doc = "softmax(q.k scale + mask) v and the log of each row's sum; a bool mask is true where a "
           "key is seen, another is added; slopes: ALiBi's, by head; offsets: where documents of a "
           "row begin; NaN for a query that sees no key"};

inline constexpr Op attention_backward{
    .name = "attention_backward",
    .inputs = {"q", "k", "v", "y", "lse", "dy", "mask?", "slopes?", "offsets?", "key?", "dlse?"},
    .outputs = {"dq", "dk", "dv"}, .dtypes = kFloats,
    .attrs = &ir::kSchema<Attention>, .infer = infer_attention_backward,
    .decompose = decompose_attention_backward,
    .colour = Colour::kWhite, .operations = attention_backward_operations,
    .samples = "f32[2,2,3,4], f32[2,2,3,4], f32[2,2,3,4], f32[2,2,3,4], f32[2,2,3]{2..4}, "
               "f32[2,2,3,4] | causal=true; "
               "f32[1,4,3,2], f32[1,2,5,2], f32[1,2,5,3], f32[1,4,3,3], f32[1,4,3]{2..4}, "
               "f32[1,4,3,3], f32[3,5], _, _, _, f32[1,4,3]; "
               "f32[2,2,6,2], f32[2,2,6,2], f32[2,2,6,2], f32[2,2,6,2], f32[2,2,6]{2..4}, "
               "f32[2,2,6,2], _, f32[2]{0..1}, i64[2,2], i64[2]{0..1000} | window=4, dropout=0.2, "
               "stream=3",
    .doc = "the gradients of attention's q, k and v from those of its results"};

inline constexpr Op attention_keep{
    .name = "attention_keep", .inputs = {"key"}, .dtypes = dtype_set(DType::i64),
    .traits = plait::kRandom, .attrs = &ir::kSchema<AttentionKeep>, .infer = infer_attention_keep,
    .eval = eval_attention_keep, .colour = Colour::kBlack,
    .operations = [](const NodeView& v) { return v.out().elements(); },
    .samples = "i64[2]{0..1000} | shape=[2,19,37], p=0.4, stream=3; "
               "i64[2]{0..1000} | shape=[1,2], p=0.0; i64[2] | shape=[2,0,3]",
    .doc = "which pairs of queries and keys attention's dropout keeps; false with probability p"};
// clang-format on

inline constexpr const Op* kAttention[] = {&attention, &attention_backward, &attention_keep};

}  // namespace plait::ops
