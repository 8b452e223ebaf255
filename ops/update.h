// Optimizer updates: one node per parameter takes it and its moments to their next values.
// Composites: computed in f32 for halves, each result rounded to its own dtype; moments of a half
// parameter may be f32. lr is a scalar tensor, so that a schedule changes no graph.
#pragma once

#include "ops/builder.h"
#include "ops/infer.h"

namespace plait::ops {

struct SgdUpdate {
  double momentum = 0, dampening = 0;
  bool nesterov = false;
  double weight_decay = 0;  // times w, added to the gradient
  bool operator==(const SgdUpdate&) const = default;
  static constexpr auto fields() {
    return std::tuple{ir::Field{"momentum", &SgdUpdate::momentum},
                      ir::Field{"dampening", &SgdUpdate::dampening},
                      ir::Field{"nesterov", &SgdUpdate::nesterov},
                      ir::Field{"weight_decay", &SgdUpdate::weight_decay}};
  }
};
struct AdamUpdate {
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
  double weight_decay = 0;
  bool decoupled = false;  // AdamW: decay the weight itself, not through the gradient
  bool operator==(const AdamUpdate&) const = default;
  static constexpr auto fields() {
    return std::tuple{ir::Field{"beta1", &AdamUpdate::beta1},
                      ir::Field{"beta2", &AdamUpdate::beta2}, ir::Field{"eps", &AdamUpdate::eps},
                      ir::Field{"weight_decay", &AdamUpdate::weight_decay},
                      ir::Field{"decoupled", &AdamUpdate::decoupled}};
  }
};

std::vector<ir::Type> infer_sgd_update(const NodeView& v);
std::vector<ir::Type> infer_adam_update(const NodeView& v);
std::vector<Tensor> decompose_sgd_update(DecomposeCtx& c);
std::vector<Tensor> decompose_adam_update(DecomposeCtx& c);

// Entries are laid out by hand.
// clang-format off
inline constexpr Op sgd_update{
    .name = "sgd_update", .inputs = {"w", "g", "lr", "m?"}, .outputs = {"next_w", "next_m..."},
    .dtypes = kFloats, .attrs = &ir::kSchema<SgdUpdate>, .infer = infer_sgd_update,
    .decompose = decompose_sgd_update, .colour = Colour::kBlack,
    .samples = "f32[3,5], f32[3,5], f32[]{0.01..0.1}; "
               "f32[7], f32[7], f32[]{0.01..0.1} | weight_decay=0.1; "
               "f32[7], f32[7], f32[]{0.01..0.1}, f32[7] | momentum=0.9; "
               "f32[2,3], f32[2,3], f32[]{0.01..0.1}, f32[2,3] | momentum=0.9, dampening=0.3; "
               "f32[4], f32[4], f32[]{0.01..0.1}, f32[4] | momentum=0.8, nesterov=true, "
               "weight_decay=0.1; f32[0], f32[0], f32[]{0.01..0.1}",
    .doc = "w - lr g, or with momentum w - lr m, and the buffer m, which starts as 0 and grows by "
           "(1 - dampening) g also in the first step"};

inline constexpr Op adam_update{
    .name = "adam_update", .inputs = {"w", "g", "lr", "m", "v", "step"},
    .outputs = {"next_w", "next_m", "next_v"}, .dtypes = kFloats,
    .attrs = &ir::kSchema<AdamUpdate>, .infer = infer_adam_update,
    .decompose = decompose_adam_update, .colour = Colour::kBlack,
    .samples = "f32[3,5], f32[3,5], f32[]{0.01..0.1}, f32[3,5], f32[3,5]{0.1..2}, i64[]{1..2}; "
               "f32[7], f32[7], f32[]{0.01..0.1}, f32[7], f32[7]{0.1..2}, i64[]{5..9} | beta1=0.8, "
               "beta2=0.99, eps=0.001, weight_decay=0.1; "
               "f32[7], f32[7], f32[]{0.01..0.1}, f32[7], f32[7]{0.1..2}, i64[]{900..1000} | "
               "weight_decay=0.1, decoupled=true; "
               "f32[4], f32[4], f32[]{0.01..0.1}, f32[4], f32[4]{0.1..2}, i64[]{1..3} | beta1=0.0; "
               "f32[0], f32[0], f32[]{0.01..0.1}, f32[0], f32[0], i64[]{1..2}",
    .doc = "Adam with bias correction, AdamW when decoupled; step counts from 1"};
// clang-format on

inline constexpr const Op* kUpdate[] = {&sgd_update, &adam_update};

}  // namespace plait::ops
