// RWKV-4: a recurrent language model that trains like a transformer, with or without a copy head.
// x and what it becomes are [batch, time, width] throughout. models/rwkv4_recurrent.h is the same
// network a token at a time.
#pragma once

#include "models/registry.h"
#include "nn/layers.h"

namespace plait::models {

struct Rwkv4Sizes {
  std::int64_t layers = 6, width = 1024, vocab = 6064, context = 1024;
  std::int64_t copy = 256;  // width of the copy head; 0: none
  bool mask = true;         // the copy head sees only tokens up to its own
  bool xavier = false;      // all matrices Xavier-normal; else as the reference draws them
};

/// What comes before the first token of x: nothing, or the tokens of the graph's earlier runs,
/// which states carry (models/rwkv4_recurrent.h); time then is 1.
enum class Past { kNone, kCarried };

/// att: a decaying average over the past, gated.
struct TimeMix : nn::ModuleOf<TimeMix> {
  TimeMix(nn::Module* parent, const std::string& name, const Rwkv4Sizes& sizes, std::int64_t layer);
  Tensor forward(const Tensor& x, Past past = Past::kNone);
  nn::Parameter time_decay, time_first, time_mix_k, time_mix_v, time_mix_r;
  nn::Linear key, value, receptance, output;
};

/// ffn: a squared relu of four times the width, gated.
struct ChannelMix : nn::ModuleOf<ChannelMix> {
  ChannelMix(nn::Module* parent, const std::string& name, const Rwkv4Sizes& sizes,
             std::int64_t layer);
  Tensor forward(const Tensor& x, Past past = Past::kNone);
  nn::Parameter time_mix_k, time_mix_r;
  nn::Linear key, receptance, value;
};

struct Rwkv4Block : nn::ModuleOf<Rwkv4Block> {
  Rwkv4Block(nn::Module* parent, const std::string& name, const Rwkv4Sizes& sizes,
             std::int64_t layer);
  Tensor forward(const Tensor& x, Past past = Past::kNone);
  std::optional<nn::LayerNorm> ln0;  // of the first block only
  nn::LayerNorm ln1, ln2;
  TimeMix att;
  ChannelMix ffn;
};

struct Rwkv4 : nn::ModuleOf<Rwkv4> {
  Rwkv4(DType dtype, const Rwkv4Sizes& sizes);
  /// i64[batch,time] -> logits [batch,time,vocab]
  Tensor forward(const Tensor& idx, Past past = Past::kNone);
  /// How much token j adds to its own logit at time t, from h = ln_out(x): [batch,t,j].
  Tensor copy_scores(const Tensor& h);
  /// What the copy head adds to the logits of one token, from a ring of the last `context` ones.
  Tensor copy_from_ring(const Tensor& h, const Tensor& idx);
  Rwkv4Sizes sizes;
  nn::Embedding emb;
  nn::ModuleList<Rwkv4Block> blocks;
  nn::LayerNorm ln_out;
  nn::Linear head;
  std::optional<nn::Linear> head_q, head_k;
};

Rwkv4Sizes rwkv4_sizes(const Settings& settings);
ir::Package build_rwkv4(const Settings& settings);

inline constexpr Key kRwkv4Keys[] = {
    {"batch", "8", "sequences"},
    {"layers", "6", "blocks"},
    {"width", "1024", "channels"},
    {"vocab", "6064", "tokens there are"},
    {"context", "1024", "tokens in a sequence"},
    {"copy", "256", "width of the copy head; 0: none"},
    {"mask", "1", "0: the copy head sees the future too, as in the log"},
    {"init", "reference", "reference, or xavier as in the log"},
};
inline constexpr Entry kRwkv4{"rwkv4", "RWKV-4 language model with copy head; Adam", kRwkv4Keys,
                              build_rwkv4};

}  // namespace plait::models
