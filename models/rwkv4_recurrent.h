// RWKV-4 a token at a time: the layers of models/rwkv4.h with what they need of the past carried in
// states, so that a token costs the same time and memory however long the text is.
#pragma once

#include "models/rwkv4.h"

namespace plait::models {

/// One graph `step`: feed `token` i64[batch], fetch `logits` [batch,vocab]. Its parameters have the
/// names of the training graph's. Beside them it carries, per layer l, in f32 for halves:
///   blocks.l.att.xx, blocks.l.ffn.xx [batch,width]       the layer's operand at the token before
///   blocks.l.att.aa, .bb, .pp        [batch,width]       wkv's state
/// and with a copy head a ring of the last `context` tokens:
///   copy.keys [batch,context,copy], copy.tokens i64[batch,context], copy.slot i64[]
/// The copy head never sees the future here, whatever sizes.mask says.
ir::Package build_rwkv4_step(DType dtype, const Rwkv4Sizes& sizes, std::int64_t batch = 1);

/// The states that `step` carries, without the parameters. With their initial values nothing has
/// been seen.
std::vector<ir::State> carried_states(const ir::Graph& step);

}  // namespace plait::models
