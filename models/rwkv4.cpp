// RWKV-4.
#include "models/rwkv4.h"

#include <algorithm>
#include <cmath>

#include "models/package.h"
#include "ops/activation.h"
#include "ops/arithmetic.h"
#include "ops/constant.h"
#include "ops/contract.h"
#include "ops/index.h"
#include "ops/shape.h"
#include "ops/wkv.h"

namespace plait::models {
namespace {

double ratio(std::int64_t a, std::int64_t b) {
  return static_cast<double>(a) / static_cast<double>(b);
}

/// l / (L - 1): 0 in the first layer, 1 in the last.
double rise(const Rwkv4Sizes& s, std::int64_t layer) {
  return s.layers == 1 ? 0 : ratio(layer, s.layers - 1);
}

/// 1 - l / L.
double fall(const Rwkv4Sizes& s, std::int64_t layer) { return 1 - ratio(layer, s.layers); }

/// offset + (i / C)^exponent
ir::Init ramp(const Rwkv4Sizes& s, double exponent, double offset = 0) {
  return init::make(
      init::Power{.offset = offset, .divisor = static_cast<double>(s.width), .exponent = exponent});
}

ir::Init decay(const Rwkv4Sizes& s, std::int64_t layer) {
  return init::make(
      init::Power{.offset = -5,
                  .scale = 8,
                  .divisor = static_cast<double>(std::max<std::int64_t>(s.width - 1, 1)),
                  .exponent = 0.7 + 1.3 * rise(s, layer)});
}

/// ln 0.3 + 0.5 ((i + 1) mod 3 - 1)
ir::Init first_bonus() {
  const double middle = std::log(0.3);
  return init::make(init::Cycle{{middle, middle + 0.5, middle - 0.5}});
}

/// A matrix: orthogonal rows or columns times gain, or zeros for gain 0.
ir::Init matrix(const Rwkv4Sizes& s, double gain) {
  if (s.xavier) return init::make(init::Xavier{});
  return gain == 0 ? init::zeros() : init::make(init::Orthogonal{gain});
}

double embedding_gain(const Rwkv4Sizes& s) {
  return 1e-4 * std::sqrt(static_cast<double>(std::max(s.vocab, s.width)));
}

double head_gain(const Rwkv4Sizes& s) {
  return s.vocab > s.width ? 0.5 * std::sqrt(ratio(s.vocab, s.width)) : 0.5;
}

constexpr double kNothingSeen = -1e38;  // wkv's o before the first token

/// A state that runs hand on: no parameter, so that weights have none of it.
Tensor carried(Builder& b, const std::string& name, DType dtype, Shape shape,
               ir::Init first = init::zeros()) {
  return b.state({name, {dtype, std::move(shape)}, ir::Role::kBuffer, std::move(first)});
}

/// x one step later, with zeros first.
Tensor shifted(const nn::Module& module, const Tensor& x, Past past) {
  if (past == Past::kCarried) {
    const std::string name = module.path() + ".xx";
    const Tensor before = carried(x.builder(), name, x.dtype(), {x.dim(0), x.dim(2)});
    x.builder().next(name, x.squeeze({1}));
    return before.unsqueeze({1});
  }
  return ops::pad(x, ops::Pad{.low = {0, 1, 0}, .high = {0, -1, 0}, .interior = {}});
}

/// Blended with the step before, per channel.
Tensor mixed(const Tensor& x, const Tensor& before, const nn::Parameter& mix) {
  return ops::lerp(before, x, mix.in(x));
}

/// wkv with its state carried, in f32 for halves: it sums the whole past.
Tensor carried_wkv(const nn::Module& module, const Tensor& k, const Tensor& v, const Tensor& w,
                   const Tensor& u) {
  Builder& b = k.builder();
  const Tensor wide = widen(k);
  const Shape shape{k.dim(0), k.dim(2)};
  const std::string at = module.path() + ".";
  const Tensor aa = carried(b, at + "aa", wide.dtype(), shape);
  const Tensor bb = carried(b, at + "bb", wide.dtype(), shape);
  const Tensor pp =
      carried(b, at + "pp", wide.dtype(), shape, init::make(init::Constant{kNothingSeen}));
  const std::vector<Tensor> y = ops::wkv.all({wide, widen(v), widen(w), widen(u), aa, bb, pp});
  b.next(at + "aa", y[1]);
  b.next(at + "bb", y[2]);
  b.next(at + "pp", y[3]);
  return narrow(y[0], k.dtype());
}

}  // namespace

TimeMix::TimeMix(nn::Module* parent, const std::string& name, const Rwkv4Sizes& s,
                 std::int64_t layer)
    : ModuleOf(parent, name),
      time_decay(this, "time_decay", {s.width}, decay(s, layer)),
      time_first(this, "time_first", {s.width}, first_bonus()),
      time_mix_k(this, "time_mix_k", {1, 1, s.width}, ramp(s, fall(s, layer))),
      time_mix_v(this, "time_mix_v", {1, 1, s.width},
                 ramp(s, fall(s, layer), 0.3 * rise(s, layer))),
      time_mix_r(this, "time_mix_r", {1, 1, s.width}, ramp(s, fall(s, layer) / 2)),
      key(this, "key", s.width, s.width, false, matrix(s, 0)),
      value(this, "value", s.width, s.width, false, matrix(s, 1)),
      receptance(this, "receptance", s.width, s.width, false, matrix(s, 0)),
      output(this, "output", s.width, s.width, false, matrix(s, 0)) {}

Tensor TimeMix::forward(const Tensor& x, Past past) {
  const Tensor before = shifted(*this, x, past);
  const Tensor k = key(mixed(x, before, time_mix_k));
  const Tensor v = value(mixed(x, before, time_mix_v));
  const Tensor r = receptance(mixed(x, before, time_mix_r));
  const Tensor w = -time_decay.in(x).exp();
  const Tensor u = time_first.in(x);
  const Tensor y =
      past == Past::kCarried ? carried_wkv(*this, k, v, w, u) : ops::wkv.all({k, v, w, u})[0];
  return output(ops::sigmoid(r) * y);
}

ChannelMix::ChannelMix(nn::Module* parent, const std::string& name, const Rwkv4Sizes& s,
                       std::int64_t layer)
    : ModuleOf(parent, name),
      time_mix_k(this, "time_mix_k", {1, 1, s.width}, ramp(s, fall(s, layer))),
      time_mix_r(this, "time_mix_r", {1, 1, s.width}, ramp(s, fall(s, layer))),
      key(this, "key", s.width, 4 * s.width, false, matrix(s, 2)),
      receptance(this, "receptance", s.width, s.width, false, matrix(s, 0)),
      value(this, "value", 4 * s.width, s.width, false, matrix(s, 0)) {}

Tensor ChannelMix::forward(const Tensor& x, Past past) {
  const Tensor before = shifted(*this, x, past);
  const Tensor k = ops::relu(key(mixed(x, before, time_mix_k))).square();
  const Tensor gate = ops::sigmoid(receptance(mixed(x, before, time_mix_r)));
  return gate * value(k);
}

Rwkv4Block::Rwkv4Block(nn::Module* parent, const std::string& name, const Rwkv4Sizes& s,
                       std::int64_t layer)
    : ModuleOf(parent, name),
      ln0(layer == 0 ? std::optional<nn::LayerNorm>(std::in_place, this, "ln0", s.width)
                     : std::optional<nn::LayerNorm>()),
      ln1(this, "ln1", s.width),
      ln2(this, "ln2", s.width),
      att(this, "att", s, layer),
      ffn(this, "ffn", s, layer) {}

Tensor Rwkv4Block::forward(const Tensor& x, Past past) {
  Tensor y = ln0 ? (*ln0)(x) : x;
  y = y + att(ln1(y), past);
  return y + ffn(ln2(y), past);
}

Rwkv4::Rwkv4(DType dtype, const Rwkv4Sizes& s)
    : ModuleOf(dtype),
      sizes(s),
      emb(this, "emb", s.vocab, s.width, matrix(s, embedding_gain(s))),
      blocks(this, "blocks"),
      ln_out(this, "ln_out", s.width),
      head(this, "head", s.width, s.vocab, false, matrix(s, head_gain(s))) {
  for (std::int64_t layer = 0; layer < s.layers; ++layer) blocks.add(s, layer);
  if (s.copy == 0) return;
  head_q.emplace(this, "head_q", s.width, s.copy, false, matrix(s, 0));
  head_k.emplace(this, "head_k", s.width, s.copy, false, matrix(s, 0.1));
}

Tensor Rwkv4::forward(const Tensor& idx, Past past) {
  Tensor x = emb(idx);
  for (Rwkv4Block& block : blocks) x = block(x, past);
  const Tensor h = ln_out(x);
  const Tensor logits = head(h);
  if (sizes.copy == 0) return logits;
  if (past == Past::kCarried) return logits + copy_from_ring(h, idx);
  const Tensor scores = copy_scores(h);
  const Scope scope(idx.builder(), "copy");
  return logits + ops::scatter_columns(scores, idx, ops::Depth{sizes.vocab});
}

Tensor Rwkv4::copy_scores(const Tensor& h) {
  Builder& b = h.builder();
  const Tensor q = (*head_q)(h), k = (*head_k)(h);
  const Scope scope(b, "copy");
  const Tensor c =
      ops::matmul(q, k, ops::Matmul{.transpose_b = true}) / static_cast<double>(sizes.copy);
  if (!sizes.mask) return c;
  const Dim time = h.dim(1);
  const Tensor now = ops::iota.make(b, ops::Iota{{time, 1}, 0});
  const Tensor seen = ops::iota.make(b, ops::Iota{{1, time}, 1});
  return where(seen <= now, c, 0);
}

Tensor Rwkv4::copy_from_ring(const Tensor& h, const Tensor& idx) {
  Builder& b = h.builder();
  const Tensor q = (*head_q)(h), k = (*head_k)(h);  // [batch,1,copy]
  const Scope scope(b, "copy");
  const Dim batch = h.dim(0), places = sizes.context;
  const Tensor slot = carried(b, "copy.slot", DType::i64, {});
  const Tensor keys = carried(b, "copy.keys", h.dtype(), {batch, places, sizes.copy});
  const Tensor tokens = carried(b, "copy.tokens", DType::i64, {batch, places});

  const Tensor here = equal(ops::iota.make(b, ops::Iota{{places}, 0}), slot);
  const Tensor all_keys = where(here.unsqueeze({1}), k, keys);
  const Tensor all_tokens = where(here, idx, tokens);
  const Tensor next = slot + 1;
  b.next("copy.slot", where(next < static_cast<double>(sizes.context), next, 0));
  b.next("copy.keys", all_keys);
  b.next("copy.tokens", all_tokens);
  // A place that is still empty has a key of zeros: it adds 0.
  const Tensor scores = ops::matmul(q, all_keys, ops::Matmul{.transpose_b = true}) /
                        static_cast<double>(sizes.copy);  // [batch,1,context]
  return ops::scatter_columns(scores, all_tokens, ops::Depth{sizes.vocab});
}

Rwkv4Sizes rwkv4_sizes(const Settings& s) {
  return {s.whole("layers", 10000),
          s.whole("width"),
          s.whole("vocab"),
          s.whole("context"),
          s.count("copy"),
          s.flag("mask"),
          s.text("init", {"reference", "xavier"}) == "xavier"};
}

ir::Package build_rwkv4(const Settings& s) {
  const Rwkv4Sizes sizes = rwkv4_sizes(s);
  const Shape tokens{s.whole("batch"), sizes.context};
  Rwkv4 net(s.dtype(), sizes);
  const Network network{
      net, "rwkv4", "logits", [&](Builder& b) { return net(b.feed("idx", DType::i64, tokens)); },
      [&](Builder& b, const Tensor& logits) {
        return classification_loss(logits, b.feed("targets", DType::i64, tokens), -1);
      }};
  return package_of(network, s, nn::Adam{.lr = 8e-4});
}

}  // namespace plait::models
