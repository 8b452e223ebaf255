// Losses, with PyTorch's meanings. Composites: computed in f32 for halves.
#pragma once

#include "ops/builder.h"
#include "ops/infer.h"

namespace plait::ops {

struct CrossEntropy {
  std::int64_t axis = -1;            // of the classes
  std::int64_t ignore_index = -100;  // targets of this value do not count
  double label_smoothing = 0;        // spread evenly over all classes
  std::string reduction = "mean";    // over targets that count; or "sum", "none"
  bool operator==(const CrossEntropy&) const = default;
  static constexpr auto fields() {
    return std::tuple{ir::Field{"axis", &CrossEntropy::axis},
                      ir::Field{"ignore_index", &CrossEntropy::ignore_index},
                      ir::Field{"label_smoothing", &CrossEntropy::label_smoothing},
                      ir::Field{"reduction", &CrossEntropy::reduction}};
  }
};
struct MseLoss {
  std::string reduction = "mean";
  bool operator==(const MseLoss&) const = default;
  static constexpr auto fields() { return std::tuple{ir::Field{"reduction", &MseLoss::reduction}}; }
};

std::vector<ir::Type> infer_cross_entropy(const NodeView& v);
std::vector<Tensor> decompose_cross_entropy(DecomposeCtx& c);
Grads cross_entropy_from_logits(GradCtx& g);
Grads cross_entropy_from_lse(GradCtx& g);
std::vector<ir::Type> infer_mse_loss(const NodeView& v);
std::vector<Tensor> decompose_mse_loss(DecomposeCtx& c);
Grads grad_mse_loss(GradCtx& g);

// Entries are laid out by hand.
// clang-format off
inline constexpr Op cross_entropy{
    .name = "cross_entropy", .inputs = {"logits", "targets"}, .dtypes = kFloats,
    .attrs = &ir::kSchema<CrossEntropy>, .infer = infer_cross_entropy,
    .decompose = decompose_cross_entropy,
    .grads = {{"logits,targets", cross_entropy_from_logits},
              {"logits,lse,targets", cross_entropy_from_lse}},
    .colour = Colour::kBlack,
    .samples = "f32[7,5], i64[7]; f32[2,3,6], i64[2,3] | reduction=\"sum\"; "
               "f32[7,5], i64[7]{-1..5} | ignore_index=-1; f32[5], i64[]; "
               "f32[2,5,3], i64[2,3]{-1..5} | axis=1, ignore_index=-1, label_smoothing=0.1; "
               "f32[4,5], i32[4] | reduction=\"none\", label_smoothing=0.2; "
               "f32[3,6]{-60..60}, i64[3]{0..6} | reduction=\"none\"; "
               "f32[4,5], i64[4]{2..5} | ignore_index=3, reduction=\"sum\"; "
               "f32[0,5], i64[0] | reduction=\"sum\"",
    .doc = "-log softmax(logits)[target]; the mean over no counted target is NaN, and a target "
           "outside the classes is an error"};

inline constexpr Op mse_loss{
    .name = "mse_loss", .inputs = {"pred", "target"}, .dtypes = kFloats,
    .attrs = &ir::kSchema<MseLoss>, .infer = infer_mse_loss,
    .decompose = decompose_mse_loss, .grads = {{"pred,target", grad_mse_loss}},
    .colour = Colour::kBlack,
    .samples = "f32[3,5], f32[3,5]; f32[4], f32[4] | reduction=\"sum\"; "
               "f32[2,3], f32[2,3] | reduction=\"none\"; f32[], f32[]; "
               "f32[0], f32[0] | reduction=\"sum\"",
    .doc = "the squared difference"};
// clang-format on

inline constexpr const Op* kLoss[] = {&cross_entropy, &mse_loss};

}  // namespace plait::ops
