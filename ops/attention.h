// Scaled dot-product attention as one op, so that a backend can run it without the T x S
// probabilities ever being stored. As a composite: matmul, mask, softmax, matmul.
#pragma once

#include "ops/builder.h"
#include "ops/infer.h"

namespace plait::ops {

struct Attention {
  bool causal = false;  // query i sees keys j <= i, also where there are more keys than queries
  double scale = 0;     // of q.k; 0 means 1/sqrt(D)
  bool operator==(const Attention&) const = default;
  static constexpr auto fields() {
    return std::tuple{ir::Field{"causal", &Attention::causal},
                      ir::Field{"scale", &Attention::scale}};
  }
};

std::vector<ir::Type> infer_attention(const NodeView& v);
std::vector<Tensor> decompose_attention(DecomposeCtx& c);
Grads attention_from_operands(GradCtx& g);
Grads attention_from_probabilities(GradCtx& g);

// Entries are laid out by hand.
// clang-format off
inline constexpr Op attention{
    .name = "attention", .inputs = {"q", "k", "v", "mask?"}, .dtypes = kFloats,
    .attrs = &ir::kSchema<Attention>, .infer = infer_attention,
    .decompose = decompose_attention,
    .grads = {{"k,mask,q,v", attention_from_operands},
              {"k,probabilities,q,v", attention_from_probabilities}},
    .colour = Colour::kWhite,
    .samples = "f32[2,2,3,4], f32[2,2,3,4], f32[2,2,3,4] | causal=true; "
               "f32[1,2,3,4], f32[1,2,5,4], f32[1,2,5,2]; "
               "f32[1,1,4,3], f32[1,1,2,3], f32[1,1,2,3] | causal=true, scale=0.7; "
               "f32[1,1,2,3], f32[1,1,4,3], f32[1,1,4,1] | causal=true; "
               "f32[1,2,3,2], f32[1,2,4,2], f32[1,2,4,2], f32[2,1,4]; "
               "f32[1,1,2,2], f32[1,1,9,2], f32[1,1,9,2], bool[2,9] | scale=0.5; "
               "f32[1,2,1,2], f32[1,2,3,2], f32[1,2,3,2], f32[3] | causal=true; "
               "f32[0,1,2,3], f32[0,1,2,3], f32[0,1,2,3]",
    .doc = "softmax(q.k scale + mask) v; a bool mask is true where a key is seen, another is "
           "added; NaN for a query that sees no key"};
// clang-format on

inline constexpr const Op* kAttention[] = {&attention};

}  // namespace plait::ops
