// GPT-2.
#include "models/gpt2.h"

#include <cmath>

#include "models/package.h"
#include "ops/activation.h"
#include "ops/attention.h"
#include "ops/contract.h"
#include "ops/shape.h"

namespace plait::models {
namespace {

constexpr double kDeviation = 0.02;

/// Of the two projections of each block, so that the residual stream does not grow with depth.
double projection_deviation(const Gpt2Sizes& s) {
  return kDeviation / std::sqrt(2 * static_cast<double>(s.layers));
}

ir::Init normal(double deviation) { return init::make(init::Normal{.std = deviation}); }

}  // namespace

Conv1D::Conv1D(nn::Module* parent, const std::string& name, std::int64_t in, std::int64_t out,
               double deviation)
    : ModuleOf(parent, name),
      weight(this, "weight", {in, out}, normal(deviation)),
      bias(this, "bias", {out}, init::zeros()) {}

Tensor Conv1D::forward(const Tensor& x) {
  const Tensor y = ops::matmul(x, weight.in(x));
  return y + bias.in(x);
}

CausalAttention::CausalAttention(nn::Module* parent, const std::string& name, const Gpt2Sizes& s)
    : ModuleOf(parent, name),
      heads(s.heads),
      attn_dropout(s.dropout),
      c_attn(this, "c_attn", s.width, 3 * s.width, kDeviation),
      c_proj(this, "c_proj", s.width, s.width, projection_deviation(s)),
      resid_dropout(this, "resid_dropout", s.dropout) {}

Tensor CausalAttention::forward(const Tensor& x) {
  const Dim batch = x.dim(0), time = x.dim(1), width = x.dim(2);
  const std::vector<Tensor> qkv =
      ops::split.all({c_attn(x)}, ops::Split{-1, {width, width, width}});
  const auto by_head = [&](const Tensor& t) {  // [batch,time,width] -> [batch,heads,time,rest]
    return t.reshape({batch, time, heads, -1}).transpose({0, 2, 1, 3});
  };
  ops::Attention how{.causal = true};
  Tensor key;
  if (training() && attn_dropout > 0) {
    how.dropout = attn_dropout;
    how.stream = x.builder().next_stream();
    key = x.builder().random_key();
  }
  const Tensor none, q = by_head(qkv[0]), k = by_head(qkv[1]), v = by_head(qkv[2]);
  const Tensor y = key ? ops::attention.all({q, k, v, none, none, none, key}, how)[0]
                       : ops::attention.all({q, k, v}, how)[0];
  return resid_dropout(c_proj(y.transpose({0, 2, 1, 3}).reshape({batch, time, width})));
}

Gpt2Mlp::Gpt2Mlp(nn::Module* parent, const std::string& name, const Gpt2Sizes& s)
    : ModuleOf(parent, name),
      c_fc(this, "c_fc", s.width, 4 * s.width, kDeviation),
      c_proj(this, "c_proj", 4 * s.width, s.width, projection_deviation(s)),
      dropout(this, "dropout", s.dropout) {}

Tensor Gpt2Mlp::forward(const Tensor& x) {
  return dropout(c_proj(ops::gelu(c_fc(x), ops::Gelu{"tanh"})));
}

Gpt2Block::Gpt2Block(nn::Module* parent, const std::string& name, const Gpt2Sizes& s)
    : ModuleOf(parent, name),
      ln_1(this, "ln_1", s.width),
      attn(this, "attn", s),
      ln_2(this, "ln_2", s.width),
      mlp(this, "mlp", s) {}

Tensor Gpt2Block::forward(const Tensor& x) {
  const Tensor y = x + attn(ln_1(x));
  return y + mlp(ln_2(y));
}

Gpt2::Gpt2(DType dtype, const Gpt2Sizes& s)
    : ModuleOf(dtype),
      wte(this, "wte", s.vocab, s.width, normal(kDeviation)),
      wpe(this, "wpe", s.context, s.width, normal(kDeviation)),
      drop(this, "drop", s.dropout),
      h(this, "h"),
      ln_f(this, "ln_f", s.width) {
  for (std::int64_t layer = 0; layer < s.layers; ++layer) h.add(s);
}

Tensor Gpt2::forward(const Tensor& idx) {
  const Tensor all = wpe.weight.in(idx);
  const Tensor places = idx.dim(1) == all.dim(0) ? all : all.slice(0, 0, idx.dim(1));
  Tensor x = drop(wte(idx) + places);
  for (Gpt2Block& block : h) x = block(x);
  return ops::linear.all({ln_f(x), wte.weight.in(x)})[0];
}

ir::Package build_gpt2(const Settings& s) {
  const Gpt2Sizes sizes{s.whole("layers", 10000), s.whole("width"),   s.whole("heads"),
                        s.whole("vocab"),         s.whole("context"), s.probability("dropout")};
  if (sizes.width % sizes.heads != 0) {
    s.fail("width=", sizes.width, " is not a multiple of heads=", sizes.heads);
  }
  const Shape tokens{s.whole("batch"), sizes.context};
  Gpt2 net(s.dtype(), sizes);
  const Network network{
      net, "gpt2", "logits", [&](Builder& b) { return net(b.feed("idx", DType::i64, tokens)); },
      [&](Builder& b, const Tensor& logits) {
        return classification_loss(logits, b.feed("targets", DType::i64, tokens), -1);
      }};
  return package_of(network, s, nn::AdamW{.lr = 1e-3});
}

}  // namespace plait::models
