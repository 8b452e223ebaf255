// Trained language models, token by token.
#include "train/text_model.h"

#include <algorithm>

#include "base/text.h"
#include "models/registry.h"
#include "models/rwkv4_recurrent.h"
#include "ops/initializers.h"
#include "run/session.h"

namespace plait::train {
namespace {

/// A session with these weights as its parameters. All are about to be set: nothing is drawn.
Session session_with(ir::Package package, Tensors weights, const std::string& source,
                     const std::string& backend, int threads) {
  std::vector<std::string> parameters;
  for (ir::StateUse& use : package.graphs.front().states) {
    if (use.state.role != ir::Role::kParam) continue;
    use.state.init = init::zeros();
    parameters.push_back(use.state.name);
    if (weights.count(use.state.name) == 0) {
      fail(source, ": lacks the weight '", use.state.name, "' of the config's model");
    }
  }
  Session session = make_session(std::move(package), backend, 0, threads);
  for (auto& [name, array] : weights) {
    if (std::find(parameters.begin(), parameters.end(), name) == parameters.end()) {
      fail(source, ": '", name, "' is no weight of the config's model.",
           suggestion(name, parameters));
    }
    try {
      session.set_state(name, std::move(array));
    } catch (const UserError& e) {
      fail(source, ": ", e.what());
    }
  }
  return session;
}

std::int64_t bytes_of(const ir::Type& type) {
  std::int64_t bytes = static_cast<std::int64_t>(size_of(type.dtype));
  for (const Dim& dim : type.shape) bytes *= dim.value();
  return bytes;
}

/// Row `row` of the last axis, as f32.
Array row_of(const Array& logits, std::int64_t row) {
  const std::int64_t width = logits.sizes().back();
  Array out(logits.dtype(), {width});
  const std::size_t bytes = out.byte_count();
  std::copy_n(logits.data() + static_cast<std::size_t>(row) * bytes, bytes, out.data());
  return out.dtype() == DType::f32 ? out : out.cast(DType::f32);
}

models::Settings settings_of(const Config& config) {
  return {config.model.name, {config.model.keys.begin(), config.model.keys.end()}};
}

/// Only its states know the past: a token costs the same wherever it stands.
class Recurrent : public TextModel {
 public:
  Recurrent(const Config& config, Tensors weights, const std::string& source,
            const std::string& backend, int threads)
      : sizes_(models::rwkv4_sizes(settings_of(config))),
        session_(session_with(models::build_rwkv4_step(settings_of(config).dtype(), sizes_),
                              std::move(weights), source, backend, threads)) {
    session_.prepare({"step", {}, {}});
  }

  Array read(std::span<const std::int64_t> tokens) override {
    Arrays results;
    for (const std::int64_t token : tokens) {
      Array feed(DType::i64, {1});
      feed.set_integer(0, token);
      results = session_.run({"step", {{"token", std::move(feed)}}, {}});
    }
    return row_of(results.at("logits"), 0);
  }

  TokenCost cost() const override {
    TokenCost cost;
    for (const ir::State& state : models::carried_states(session_.package().graphs.front())) {
      cost.kept_bytes += bytes_of(state.type);
    }
    if (sizes_.copy > 0 && !sizes_.mask) {
      cost.notes.emplace_back(
          "the copy head was trained seeing the future (mask=0), which does not exist while "
          "writing: expect less than its loss promises");
    }
    return cost;
  }

 private:
  models::Rwkv4Sizes sizes_;
  Session session_;
};

std::string inference_spec(const Config& config) {
  std::string spec = config.model.name + "?batch=1";
  for (const auto& [key, value] : config.model.keys) spec += str("&", key, "=", value);
  return spec;
}

/// The last tokens, as many as the context holds, all read again for every new one: there is no
/// cache of keys and values.
class Windowed : public TextModel {
 public:
  Windowed(const Config& config, Tensors weights, const std::string& source,
           const std::string& backend, int threads)
      : context_(*model_size(config, "context")),
        session_(session_with(models::build(inference_spec(config)), std::move(weights), source,
                              backend, threads)) {
    session_.prepare({"", {}, {}});
  }

  Array read(std::span<const std::int64_t> tokens) override {
    window_.insert(window_.end(), tokens.begin(), tokens.end());
    const auto size = static_cast<std::int64_t>(window_.size());
    if (size > context_) window_.erase(window_.begin(), window_.end() - context_);
    // Attention is causal: what stands behind the last token changes nothing before it.
    Array idx(DType::i64, {1, context_});
    for (std::size_t i = 0; i < window_.size(); ++i) {
      idx.set_integer(static_cast<std::int64_t>(i), window_[i]);
    }
    const Arrays results = session_.run({"", {{"idx", std::move(idx)}}, {}});
    return row_of(results.at("logits"), static_cast<std::int64_t>(window_.size()) - 1);
  }

  TokenCost cost() const override {
    return {context_ * static_cast<std::int64_t>(sizeof(std::int64_t)),
            context_,
            {str("every token of ", session_.package().graphs.front().name, " reads its window of ",
                 context_, " tokens again: it has no recurrent form, and there is no cache")}};
  }

 private:
  std::int64_t context_;
  std::vector<std::int64_t> window_;
  Session session_;
};

}  // namespace

std::unique_ptr<TextModel> make_text_model(const Config& config, Tensors weights,
                                           const std::string& source, const std::string& backend,
                                           int threads) {
  if (config.model.name == "rwkv4") {
    return std::make_unique<Recurrent>(config, std::move(weights), source, backend, threads);
  }
  if (config.model.name == "gpt2") {
    return std::make_unique<Windowed>(config, std::move(weights), source, backend, threads);
  }
  fail("model ", model_title(config), " writes no text: rwkv4 and gpt2 do");
}

}  // namespace plait::train
