// Reading a spec: the model's name, its keys, their values.
#include "models/registry.h"

#include <cmath>

#include "models/conv_add.h"
#include "models/gpt2.h"
#include "models/mlp.h"
#include "models/resnet50.h"
#include "models/rwkv4.h"
#include "models/unet.h"
#include "models/vgg19.h"

namespace plait::models {
namespace {

constexpr Entry kModels[] = {kMlp, kConvAdd, kResNet50, kVgg19, kRwkv4, kGpt2, kUnet};

constexpr Key kCommon[] = {
    {"batch", "1", "samples in a batch"},
    {"dtype", "f32", "f32, f16, bf16 or f64: of parameters and activations"},
    {"train", "0", "1: the whole training step, and a graph that evaluates"},
    {"optimizer", "own", "sgd, adam, adamw, or the model's own"},
    {"lr", "own", "learning rate, or the optimizer's own"},
    {"momentum", "own", "of sgd"},
    {"nesterov", "own", "1: sgd's momentum looks ahead"},
    {"beta1", "own", "of adam and adamw: decay of the mean of gradients"},
    {"beta2", "own", "of adam and adamw: decay of the mean of their squares"},
    {"eps", "own", "of adam and adamw: added to the root of that mean"},
    {"weight_decay", "own", "added to the gradient; by adamw taken from the weight"},
    {"weight_decay_of", "all", "all, or matrices: not of norms, biases, other 1-D parameters"},
    {"groups", "none", "of parameters: GLOB lr=RATE weight_decay=FACTOR,GLOB ..."},
    {"freeze", "none", "globs over names of parameters that are not trained: GLOB,GLOB"},
    {"clip", "0", "largest norm of all gradients together; 0: any"},
    {"accumulate", "1", "runs whose gradients are averaged into one update"},
    {"precision", "f32", "f32, or mixed: bf16 or f16 where ops allow it, weights stay f32"},
    {"loss_scale", "own", "first factor of the loss, 65536 with precision=f16; 0: none"},
    {"loss_scale_every", "2000", "updates without overflow after which it doubles"},
    {"on_nan", "stop", "skip: leave out updates whose gradients are not all finite"},
};

template <class Named>
std::vector<std::string> names_in(const Named& list) {
  std::vector<std::string> names;
  for (const auto& item : list) names.emplace_back(item.name);
  return names;
}

const Entry& entry_named(std::string_view name) {
  for (const Entry& entry : kModels) {
    if (entry.name == name) return entry;
  }
  const std::vector<std::string> names = names_in(kModels);
  fail("there is no model '", name, "'.", suggestion(name, names), " There are ",
       join(names, ", "));
}

/// Puts `key=value` in its place among the defaults.
void set_value(const Entry& entry, std::string_view pair, std::vector<bool>& said,
               std::vector<std::pair<std::string, std::string>>& values) {
  const std::size_t equals = pair.find('=');
  if (equals == std::string_view::npos) {
    fail(entry.name, ": '", pair, "' must be key=value");
  }
  const std::string_view key = pair.substr(0, equals), value = pair.substr(equals + 1);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i].first != key) continue;
    if (said[i]) fail(entry.name, ": ", key, " is given twice");
    if (value.empty()) fail(entry.name, ": ", key, " has no value");
    said[i] = true;
    values[i].second = value;
    return;
  }
  const std::vector<std::string> names = names_in(keys_of(entry));
  fail(entry.name, " has no key '", key, "'.", suggestion(key, names), " It has ",
       join(names, ", "));
}

}  // namespace

std::string Settings::name_of(std::string_view key) const { return str(model_, ": ", key); }

const std::string& Settings::find(std::string_view key) const {
  for (const auto& [name, value] : values_) {
    if (name == key) return value;
  }
  throw Bug(str("model ", model_, " reads the key ", key, ", which it does not list"));
}

std::int64_t Settings::whole(std::string_view key, std::int64_t at_most) const {
  const std::int64_t value = parse_integer(find(key), name_of(key));
  if (value < 1 || value > at_most) {
    fail(key, " must be from 1 to ", at_most, ", is ", value);
  }
  return value;
}

std::int64_t Settings::count(std::string_view key) const {
  return find(key) == "0" ? 0 : whole(key);
}

double Settings::real(std::string_view key) const {
  const double value = parse_real(find(key), name_of(key));
  if (!std::isfinite(value)) fail(key, " must be finite, is ", value);
  return value;
}

double Settings::probability(std::string_view key) const {
  const double value = real(key);
  if (!(value >= 0 && value < 1)) fail(key, " must be at least 0 and below 1, is ", value);
  return value;
}

bool Settings::flag(std::string_view key) const { return text(key, {"0", "1"}) == "1"; }

std::string Settings::text(std::string_view key, const std::vector<std::string>& choices) const {
  const std::string& value = find(key);
  for (const std::string& choice : choices) {
    if (value == choice) return value;
  }
  const bool words = choices[0].size() > 1;  // the nearest number means nothing
  fail(key, " cannot be '", value, "'.", words ? suggestion(value, choices) : "", " It is one of ",
       join(choices, ", "));
}

DType Settings::dtype() const { return *dtype_named(text("dtype", {"f32", "f16", "bf16", "f64"})); }

nn::Optimizer Settings::optimizer(const nn::Optimizer& own) const {
  const nn::Optimizer kinds[] = {nn::Sgd{}, nn::Adam{}, nn::AdamW{}};
  const std::vector<std::string> names{"sgd", "adam", "adamw"};  // in the variant's order
  const std::string wanted = text("optimizer", {"own", "sgd", "adam", "adamw"});
  nn::Optimizer chosen = own;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (wanted == names[i] && own.index() != i) chosen = kinds[i];
  }
  std::visit(
      [&](auto& o) {
        if (!is_own("lr")) o.lr = not_negative("lr");
        if (!is_own("weight_decay")) o.weight_decay = not_negative("weight_decay");
        set_hyperparameters(o);
      },
      chosen);
  return chosen;
}

double Settings::not_negative(std::string_view key) const {
  const double value = real(key);
  if (value < 0) fail(key, " must not be negative, is ", value);
  return value;
}

void Settings::want_own(const std::vector<std::string_view>& keys, std::string_view kind) const {
  for (std::string_view key : keys) {
    if (!is_own(key)) fail(key, " is no setting of ", kind, ". Leave it out, or set optimizer");
  }
}

void Settings::set_hyperparameters(nn::Sgd& sgd) const {
  want_own({"beta1", "beta2", "eps"}, "sgd");
  if (!is_own("momentum")) sgd.momentum = probability("momentum");
  if (!is_own("nesterov")) sgd.nesterov = flag("nesterov");
  if (sgd.nesterov && sgd.momentum == 0) fail("nesterov=1 needs a momentum");
}

template <class A>
void Settings::set_adam(A& adam) const {
  if (!is_own("beta1")) adam.beta1 = probability("beta1");
  if (!is_own("beta2")) adam.beta2 = probability("beta2");
  if (!is_own("eps")) adam.eps = not_negative("eps");
}

void Settings::set_hyperparameters(nn::Adam& adam) const {
  want_own({"momentum", "nesterov"}, "adam");
  set_adam(adam);
}

void Settings::set_hyperparameters(nn::AdamW& adamw) const {
  want_own({"momentum", "nesterov"}, "adamw");
  set_adam(adamw);
}

std::vector<std::string> Settings::list(std::string_view key) const {
  return find(key) == "none" ? std::vector<std::string>() : split(find(key), ',');
}

nn::StepOptions Settings::step(const std::vector<nn::Parameter*>& parameters) const {
  nn::StepOptions step;
  nn::GroupRules rules{{}, list("freeze")};
  for (const std::string& rule : list("groups")) {
    rules.rules.push_back(nn::parse_group_rule(rule, name_of("groups")));
  }
  step.groups = nn::groups_by(rules, parameters, model_);
  const bool all = text("weight_decay_of", {"all", "matrices"}) == "all";
  step.decay = all ? nn::Decay::kAll : nn::Decay::kMatrices;
  step.clip = not_negative("clip");
  step.accumulate = whole("accumulate", 1 << 20);
  step.loss_scale_every = whole("loss_scale_every");
  step.guard = text("on_nan", {"stop", "skip"}) == "skip";
  if (!is_own("loss_scale")) {
    step.loss_scale = not_negative("loss_scale");
  } else if (mixed() == DType::f16) {
    step.loss_scale = 65536;
  }
  return step;
}

std::optional<DType> Settings::mixed() const {
  const DType half = *dtype_named(text("precision", {"f32", "bf16", "f16"}));
  if (half == DType::f32) return {};
  if (dtype() != DType::f32) {
    fail("precision=", half, " keeps weights in f32, but dtype is ", dtype(), ". Say dtype=f32");
  }
  return half;
}

std::span<const Key> common_keys() { return kCommon; }
std::span<const Entry> all_models() { return kModels; }

std::vector<Key> keys_of(const Entry& entry) {
  std::vector<Key> keys(std::begin(kCommon), std::end(kCommon));
  for (const Key& key : entry.keys) {
    const auto same = [&](const Key& k) { return k.name == key.name; };
    const auto at = std::find_if(keys.begin(), keys.end(), same);
    if (at == keys.end()) {
      keys.push_back(key);
    } else {
      *at = key;
    }
  }
  return keys;
}

ir::Package build(std::string_view spec) {
  constexpr std::string_view kPrefix = "model:";
  if (spec.starts_with(kPrefix)) spec.remove_prefix(kPrefix.size());
  const std::size_t question = spec.find('?');
  const Entry& entry = entry_named(spec.substr(0, question));
  std::vector<std::pair<std::string, std::string>> values;
  for (const Key& key : keys_of(entry)) values.emplace_back(key.name, key.value);
  std::vector<bool> said(values.size(), false);
  if (question != std::string_view::npos && question + 1 < spec.size()) {
    for (const std::string& pair : split(spec.substr(question + 1), '&')) {
      set_value(entry, pair, said, values);
    }
  }
  return entry.build(Settings(entry.name, std::move(values)));
}

}  // namespace plait::models
