// What others call the weights of an RWKV-4. Ours are the reference's names (BlinkDL/RWKV-LM):
// a checkpoint of either is one of the other. Hugging Face's transformers have names of their own.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/array.h"

namespace plait::models {

enum class Rwkv4Names {
  kReference,     // blocks.0.att.time_mix_k
  kTransformers,  // rwkv.blocks.0.attention.time_mix_key
};

/// One of our names as they say it; ours again for what they lack (the copy head).
std::string rwkv4_name_as(Rwkv4Names names, std::string_view own);
/// Ours for a name of either; wrappers' prefixes (`module.`) are left off. What is no weight of the
/// model keeps its name.
std::string own_rwkv4_name(std::string_view given);

/// Weights under our names, for writing under theirs.
std::map<std::string, Array> rwkv4_weights_as(Rwkv4Names names,
                                              std::map<std::string, Array> weights);

}  // namespace plait::models
