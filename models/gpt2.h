// GPT-2 with Hugging Face's names. The head is the token embedding. x is [batch, time, width].
#pragma once

#include "models/registry.h"
#include "nn/layers.h"

namespace plait::models {

struct Gpt2Sizes {
  std::int64_t layers = 12, width = 768, heads = 12, vocab = 50257, context = 1024;
  double dropout = 0.1;  // of attention's weights, behind the embeddings and each projection
};

/// A linear layer stored as [in, out].
struct Conv1D : nn::ModuleOf<Conv1D> {
  Conv1D(nn::Module* parent, const std::string& name, std::int64_t in, std::int64_t out,
         double deviation);
  Tensor forward(const Tensor& x);
  nn::Parameter weight, bias;
};

struct CausalAttention : nn::ModuleOf<CausalAttention> {
  CausalAttention(nn::Module* parent, const std::string& name, const Gpt2Sizes& sizes);
  Tensor forward(const Tensor& x);
  std::int64_t heads;
  double attn_dropout;
  Conv1D c_attn, c_proj;
  nn::Dropout resid_dropout;
};

struct Gpt2Mlp : nn::ModuleOf<Gpt2Mlp> {
  Gpt2Mlp(nn::Module* parent, const std::string& name, const Gpt2Sizes& sizes);
  Tensor forward(const Tensor& x);
  Conv1D c_fc, c_proj;
  nn::Dropout dropout;
};

struct Gpt2Block : nn::ModuleOf<Gpt2Block> {
  Gpt2Block(nn::Module* parent, const std::string& name, const Gpt2Sizes& sizes);
  Tensor forward(const Tensor& x);
  nn::LayerNorm ln_1;
  CausalAttention attn;
  nn::LayerNorm ln_2;
  Gpt2Mlp mlp;
};

struct Gpt2 : nn::ModuleOf<Gpt2> {
  Gpt2(DType dtype, const Gpt2Sizes& sizes);
  Tensor forward(const Tensor& idx);  // i64[batch,time], time <= context -> [batch,time,vocab]
  nn::Embedding wte, wpe;
  nn::Dropout drop;
  nn::ModuleList<Gpt2Block> h;
  nn::LayerNorm ln_f;
};

ir::Package build_gpt2(const Settings& settings);

inline constexpr Key kGpt2Keys[] = {
    {"batch", "4", "sequences"},
    {"layers", "12", "blocks"},
    {"width", "768", "channels, a multiple of heads"},
    {"heads", "12", "of attention"},
    {"vocab", "50257", "tokens there are"},
    {"context", "1024", "tokens in a sequence"},
    {"dropout", "0.1", "while training"},
};
inline constexpr Entry kGpt2{"gpt2", "GPT-2 language model; AdamW", kGpt2Keys, build_gpt2};

}  // namespace plait::models
