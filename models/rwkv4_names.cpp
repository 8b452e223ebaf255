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

}  // namespace plait::models
