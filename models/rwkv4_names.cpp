// Names of RWKV-4's weights: a name is a path of words, and a table says which words differ.
#include "models/rwkv4_names.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"

namespace plait::models {
namespace {

constexpr std::string_view kRoot = "rwkv.";  // of all names of transformers but the head's

struct Word {
  std::string_view own, transformers;
};
constexpr Word kWords[] = {
    {"emb", "embeddings"},
    {"ln0", "pre_ln"},
    {"att", "attention"},
    {"ffn", "feed_forward"},
    {"time_mix_k", "time_mix_key"},
    {"time_mix_v", "time_mix_value"},
    {"time_mix_r", "time_mix_receptance"},
};

/// Data-parallel training puts one before every name.
constexpr std::string_view kWrappers[] = {"_forward_module.", "module.", "_orig_mod."};

/// Not weights: the reference keeps the copy head's mask beside them.
bool is_left_out(std::string_view own) { return own == "copy_mask"; }

std::string translated(std::string_view name, std::string_view Word::*from,
                       std::string_view Word::*to) {
  std::vector<std::string> path = split(name, '.');
  for (std::string& part : path) {
    const auto word = std::find_if(std::begin(kWords), std::end(kWords),
                                   [&](const Word& w) { return w.*from == part; });
    if (word != std::end(kWords)) part = word->*to;
  }
  return join(path, ".");
}

/// The sizes that are not 1.
Sizes without_ones(const Sizes& sizes) {
  Sizes out;
  for (const std::int64_t size : sizes) {
    if (size != 1) out.push_back(size);
  }
  return out;
}

Array fitted(const Array& array, const ir::State& state, std::string_view source) {
  Sizes sizes;
  for (const Dim& dim : state.type.shape) sizes.push_back(dim.value());
  if (without_ones(array.sizes()) != without_ones(sizes)) {
    fail(source, ": ", state.name, " is ", type_text(array), ", the model's is ", state.type);
  }
  const Array shaped = array.sizes() == sizes ? array : array.reshaped(sizes);
  return shaped.dtype() == state.type.dtype ? shaped : shaped.cast(state.type.dtype);
}

}  // namespace

std::string rwkv4_name_as(Rwkv4Names names, std::string_view own) {
  if (names == Rwkv4Names::kReference || own.starts_with("head")) return std::string(own);
  return std::string(kRoot) + translated(own, &Word::own, &Word::transformers);
}

std::string own_rwkv4_name(std::string_view given) {
  for (const std::string_view wrapper : kWrappers) {
    if (given.starts_with(wrapper)) given.remove_prefix(wrapper.size());
  }
  if (!given.starts_with(kRoot)) return std::string(given);
  return translated(given.substr(kRoot.size()), &Word::transformers, &Word::own);
}

std::map<std::string, Array> rwkv4_weights_as(Rwkv4Names names,
                                              std::map<std::string, Array> weights) {
  std::map<std::string, Array> out;
  for (auto& [name, array] : weights) out.emplace(rwkv4_name_as(names, name), std::move(array));
  return out;
}

std::map<std::string, Array> own_rwkv4_weights(std::map<std::string, Array> weights,
                                               const std::vector<ir::State>& wanted,
                                               std::string_view source) {
  std::map<std::string, Array> given, out;
  for (auto& [name, array] : weights) {
    const std::string own = own_rwkv4_name(name);
    if (is_left_out(own)) continue;
    if (!given.emplace(own, std::move(array)).second) fail(source, ": ", own, " is there twice");
  }
  std::vector<std::string> missing, known;
  for (const ir::State& state : wanted) {
    if (state.role != ir::Role::kParam) continue;
    known.push_back(state.name);
    const auto found = given.find(state.name);
    if (found == given.end()) {
      missing.push_back(state.name);
      continue;
    }
    out.emplace(state.name, fitted(found->second, state, source));
    given.erase(found);
  }
  if (!missing.empty()) {
    fail(source, ": lacks ", counted(missing.size(), "weight", "weights"), " of the model, as ",
         missing.front());
  }
  if (!given.empty()) {
    const std::string& name = given.begin()->first;
    fail(source, ": ", name, " is no weight of the model.", suggestion(name, known));
  }
  return out;
}

}  // namespace plait::models
