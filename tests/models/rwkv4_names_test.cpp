// RWKV-4's weights under the names of the reference and of transformers, there and back.
#include "models/rwkv4_names.h"

#include <gtest/gtest.h>

#include "models/registry.h"
#include "tests/raises.h"

namespace plait::models {
namespace {

using test::message_of;
using Weights = std::map<std::string, Array>;

std::vector<ir::State> states(
    const char* spec = "rwkv4?layers=2&width=4&vocab=5&context=8&copy=3") {
  return state_table(build(spec));
}

/// Different numbers in all of them.
Weights weights_of(const std::vector<ir::State>& states) {
  Weights out;
  double next = 1;
  for (const ir::State& state : states) {
    Sizes sizes;
    for (const Dim& dim : state.type.shape) sizes.push_back(dim.value());
    Array array(state.type.dtype, sizes);
    for (std::int64_t i = 0; i < array.count(); ++i) array.set(i, next++);
    out.emplace(state.name, std::move(array));
  }
  return out;
}

bool same(const Weights& a, const Weights& b) {
  if (a.size() != b.size()) return false;
  for (const auto& [name, array] : a) {
    if (b.count(name) == 0 || !array.same_bits(b.at(name))) return false;
    if (array.sizes() != b.at(name).sizes()) return false;
  }
  return true;
}

TEST(Rwkv4Names, OursAreTheReferences) {
  std::vector<std::string> names{"emb.weight",    "blocks.0.ln0.weight", "blocks.0.ln0.bias",
                                 "ln_out.weight", "ln_out.bias",         "head.weight",
                                 "head_q.weight", "head_k.weight"};
  for (const char* block : {"blocks.0.", "blocks.1."}) {
    for (const char* name :
         {"ln1.weight", "ln1.bias", "ln2.weight", "ln2.bias", "att.time_decay", "att.time_first",
          "att.time_mix_k", "att.time_mix_v", "att.time_mix_r", "att.key.weight",
          "att.value.weight", "att.receptance.weight", "att.output.weight", "ffn.time_mix_k",
          "ffn.time_mix_r", "ffn.key.weight", "ffn.receptance.weight", "ffn.value.weight"}) {
      names.push_back(std::string(block) + name);
    }
  }
  std::vector<std::string> own;
  for (const ir::State& state : states()) {
    own.push_back(state.name);
    EXPECT_EQ(rwkv4_name_as(Rwkv4Names::kReference, state.name), state.name);
    EXPECT_EQ(own_rwkv4_name(state.name), state.name);
  }
  std::sort(names.begin(), names.end());
  std::sort(own.begin(), own.end());
  EXPECT_EQ(own, names);
}

TEST(Rwkv4Names, OfTransformers) {
  const std::pair<const char*, const char*> pairs[] = {
      {"emb.weight", "rwkv.embeddings.weight"},
      {"blocks.0.ln0.bias", "rwkv.blocks.0.pre_ln.bias"},
      {"blocks.11.ln1.weight", "rwkv.blocks.11.ln1.weight"},
      {"blocks.3.att.time_decay", "rwkv.blocks.3.attention.time_decay"},
      {"blocks.3.att.time_mix_k", "rwkv.blocks.3.attention.time_mix_key"},
      {"blocks.3.att.time_mix_v", "rwkv.blocks.3.attention.time_mix_value"},
      {"blocks.3.ffn.time_mix_r", "rwkv.blocks.3.feed_forward.time_mix_receptance"},
      {"blocks.3.ffn.key.weight", "rwkv.blocks.3.feed_forward.key.weight"},
      {"blocks.3.att.output.weight", "rwkv.blocks.3.attention.output.weight"},
      {"ln_out.bias", "rwkv.ln_out.bias"},
      {"head.weight", "head.weight"},
  };
  for (const auto& [own, theirs] : pairs) {
    EXPECT_EQ(rwkv4_name_as(Rwkv4Names::kTransformers, own), theirs);
    EXPECT_EQ(own_rwkv4_name(theirs), own);
  }
}

TEST(Rwkv4Names, ThereAndBack) {
  const Weights own = weights_of(states());
  for (const Rwkv4Names names : {Rwkv4Names::kReference, Rwkv4Names::kTransformers}) {
    const Weights theirs = rwkv4_weights_as(names, own);
    EXPECT_EQ(theirs.size(), own.size());
    Weights back;
    for (const auto& [name, array] : theirs) back.emplace(own_rwkv4_name(name), array);
    EXPECT_TRUE(same(back, own));
  }
}

}  // namespace
}  // namespace plait::models
