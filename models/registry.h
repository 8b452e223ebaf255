// The networks by name, as the command line and the trainer ask for them:
// `rwkv4?layers=3&width=128&train=1`.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "nn/optimizer.h"

namespace plait::models {

struct Key {
  std::string_view name;
  std::string_view value;  // the default
  std::string_view doc;
};

/// The values a model is built with: its keys' defaults, changed by what the user said.
class Settings {
 public:
  Settings(std::string_view model, std::vector<std::pair<std::string, std::string>> values)
      : model_(model), values_(std::move(values)) {}
  /// UserError naming model and key when the text is not such a value or is out of range.
  std::int64_t whole(std::string_view key, std::int64_t at_most = 1 << 30) const;  // >= 1
  std::int64_t count(std::string_view key) const;                                  // >= 0
  double real(std::string_view key) const;
  double probability(std::string_view key) const;  // in [0, 1)
  bool flag(std::string_view key) const;           // 0 or 1
  /// One of `choices`; UserError with the nearest of them otherwise.
  std::string text(std::string_view key, const std::vector<std::string>& choices) const;
  DType dtype() const;
  /// What the keys optimizer, lr, momentum, beta1... ask for: `own`, where the model has said how
  /// it is trained, or another kind with PyTorch's settings. UserError on a key that its kind
  /// lacks.
  nn::Optimizer optimizer(const nn::Optimizer& own) const;
  /// What the keys clip, accumulate, loss_scale, on_nan ask for (f16 has a loss scale of its own),
  /// and weight_decay_of, groups, freeze of these parameters.
  nn::StepOptions step(const std::vector<nn::Parameter*>& parameters) const;
  /// bf16 or f16 for mixed precision, which wants dtype=f32; none for f32.
  std::optional<DType> mixed() const;

  /// UserError `model: parts`, for values that do not go together.
  template <class... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    plait::fail(model_, ": ", parts...);
  }

 private:
  const std::string& find(std::string_view key) const;
  bool is_own(std::string_view key) const { return find(key) == "own"; }
  double not_negative(std::string_view key) const;
  /// Texts between commas; none for `none`.
  std::vector<std::string> list(std::string_view key) const;
  void set_hyperparameters(nn::Sgd& sgd) const;
  void set_hyperparameters(nn::Adam& adam) const;
  void set_hyperparameters(nn::AdamW& adamw) const;
  template <class A>
  void set_adam(A& adam) const;
  /// UserError when one of them was said.
  void want_own(const std::vector<std::string_view>& keys, std::string_view kind) const;
  /// `model: key`
  std::string name_of(std::string_view key) const;
  std::string model_;
  std::vector<std::pair<std::string, std::string>> values_;
};

struct Entry {
  std::string_view name;
  std::string_view doc;
  std::span<const Key> keys;  // its own, and common ones where its default is another
  ir::Package (*build)(const Settings& settings);
};

/// Keys that every model has: batch, dtype, train, and how it is trained.
std::span<const Key> common_keys();
/// All keys of a model with its own defaults: the common ones, then its own.
std::vector<Key> keys_of(const Entry& entry);
std::span<const Entry> all_models();

/// From `NAME` or `NAME?key=value&key=value`, with or without `model:` before it. UserError with
/// the nearest name on an unknown model, key or value.
ir::Package build(std::string_view spec);

}  // namespace plait::models
