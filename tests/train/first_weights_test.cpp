// model.init_from: names by rules, dtypes, what is left out, and the account of it.
#include "train/first_weights.h"

#include <gtest/gtest.h>

#include "models/registry.h"
#include "tests/raises.h"
#include "tests/train/small_run.h"

namespace plait::train {
namespace {

using test::message_of;

Array counting(DType dtype, Sizes sizes, double from) {
  Array out(dtype, std::move(sizes));
  for (std::int64_t i = 0; i < out.count(); ++i) out.set(i, from + static_cast<double>(i) / 4);
  return out;
}

ir::State state(const std::string& name, DType dtype, Shape shape,
                ir::Role role = ir::Role::kParam) {
  return {name, {dtype, std::move(shape)}, role, {}};
}

/// A body, a head, and a running mean; moments are no weights.
const std::vector<ir::State> kStates{
    state("body.0.weight", DType::f32, {2, 3}), state("body.0.bias", DType::f32, {2}),
    state("head.weight", DType::f16, {4, 2}),
    state("body.0.mean", DType::f32, {2}, ir::Role::kBuffer),
    state("optim.m.head.weight", DType::f32, {4, 2}, ir::Role::kSlot)};

io::TensorFile file_of(Tensors tensors) { return {std::move(tensors), {}}; }

Tensors own_file() {
  return {{"body.0.weight", counting(DType::f32, {2, 3}, 1)},
          {"body.0.bias", counting(DType::f32, {2}, 2)},
          {"head.weight", counting(DType::f16, {4, 2}, 3)},
          {"body.0.mean", counting(DType::f32, {2}, 4)}};
}

Config::Model rules(std::vector<std::string> strip, std::vector<std::string> map,
                    std::vector<std::string> skip) {
  Config::Model model;
  model.name = "mlp";
  model.init_from = "w";
  model.init_strip = std::move(strip);
  model.init_map = std::move(map);
  model.init_skip = std::move(skip);
  return model;
}

std::string wrong(Tensors tensors, const Config::Model& model) {
  return message_of([&] { first_weights(file_of(std::move(tensors)), model, kStates); });
}

TEST(FirstWeights, AreTheFilesWhereAllFits) {
  const FirstWeights found = first_weights(file_of(own_file()), rules({}, {}, {}), kStates);
  EXPECT_TRUE(test::same(found.taken, own_file()));
  EXPECT_EQ(found.notes, std::vector<std::string>{
                             "model.init_from w: taken 4 of the model's 4 parameters and buffers"});
}

TEST(FirstWeights, ThatAreNotFiniteAreNamed) {
  Tensors file = own_file();
  file["body.0.bias"].set(1, std::nan(""));
  EXPECT_EQ(wrong(file, rules({}, {}, {})),
            "w: body.0.bias is not finite: it holds a NaN or an infinity. To begin it anew: "
            "model.init_skip = [\"body.0.bias\"]");
  EXPECT_EQ(first_weights(file_of(file), rules({}, {}, {"body.0.bias"}), kStates).taken.size(), 3u);
}

TEST(FirstWeights, CastsRulesAndPatternsAreAccountedFor) {
  const Tensors file{{"module.encoder.0.weight", counting(DType::f64, {2, 3}, 1)},
                     {"module.encoder.0.bias", counting(DType::bf16, {2}, 2)},
                     {"module.classifier.weight", counting(DType::f32, {7, 2}, 0)},
                     {"step", Array::scalar(DType::i64, 5)}};
  const FirstWeights found = first_weights(
      file_of(file), rules({"module."}, {"encoder. -> body.", "classifier. -> head."}, {"head.*"}),
      kStates);
  EXPECT_TRUE(test::same(found.taken, {{"body.0.weight", counting(DType::f32, {2, 3}, 1)},
                                       {"body.0.bias", counting(DType::f32, {2}, 2)}}));
  EXPECT_EQ(join(found.notes, "\n"),
            "model.init_from w: taken 2 of the model's 4 parameters and buffers, 2 renamed, 1 cast "
            "from bf16 to f32, 1 cast from f64 to f32\n"
            "model.init_from w: left 2: head.weight (module.classifier.weight) f32[7,2], step "
            "i64[]\n"
            "model.init_from w: new 2: head.weight f16[4,2], body.0.mean f32[2]");
}

TEST(FirstWeights, PrefixesCanBeAddedAndGoInOrder) {
  const Tensors file{{"a.b.0.weight", counting(DType::f32, {2, 3}, 1)},
                     {"b.0.bias", counting(DType::f32, {2}, 2)}};
  const FirstWeights found =
      first_weights(file_of(file), rules({"a.", "b."}, {"-> body."}, {"head.weight"}), kStates);
  EXPECT_EQ(found.taken.count("body.0.weight"), 1u) << "both prefixes";
  EXPECT_EQ(found.taken.count("body.0.bias"), 1u) << "the second";
  const PrefixRule away = parse_prefix_rule("model.encoder.->", "c");
  EXPECT_EQ(away.from, "model.encoder.");
  EXPECT_EQ(away.to, "");
}

TEST(FirstWeights, WhatDoesNotFitIsNamed) {
  Tensors file = own_file();
  file.erase("head.weight");
  file["classifier.weight"] = counting(DType::f32, {4, 2}, 0);
  EXPECT_EQ(wrong(file, rules({}, {}, {})),
            "w lacks 1 parameter of the model: head.weight; it has besides classifier.weight. "
            "Names are fitted by model.init_strip and model.init_map; model.init_skip leaves out "
            "what is to begin anew");
  file = own_file();
  file["head.weight"] = counting(DType::f16, {7, 2}, 0);
  EXPECT_EQ(wrong(file, rules({}, {}, {})),
            "w: head.weight is f16[7,2], the model's head.weight is f16[4,2]. To begin it anew: "
            "model.init_skip = [\"head.weight\"]");
  file["head.weight"] = Array(DType::i64, {4, 2});
  EXPECT_TRUE(
      wrong(file, rules({}, {}, {})).starts_with("w: head.weight is i64[4,2], the model's"));
  file["head.weight"] = counting(DType::f32, {4, 2}, 70000);
  EXPECT_EQ(wrong(file, rules({}, {}, {})),
            "w: head.weight: f32 values do not fit the model's f16");
  file = own_file();
  file["x.head.weight"] = file.at("head.weight");
  EXPECT_EQ(wrong(file, rules({"x."}, {}, {})),
            "w: both head.weight and x.head.weight become head.weight");
  EXPECT_EQ(wrong(own_file(), rules({"modul."}, {}, {})),
            "w: no name begins with 'modul.' (model.init_strip)");
  EXPECT_EQ(wrong(own_file(), rules({}, {"body. -> body.", "body.0 -> x"}, {})),
            "model.init_map: \"body. -> body.\" is no rule: say \"FROM -> TO\", two prefixes of "
            "names");
  EXPECT_TRUE(wrong(own_file(), rules({}, {"enc. -> body."}, {}))
                  .starts_with("w: no name begins with 'enc.' (model.init_map)"));
  EXPECT_EQ(wrong(own_file(), rules({}, {}, {"haed.weight"})),
            "w: model.init_skip: no weight of the model or the file is matched by 'haed.weight'. "
            "Did you mean 'head.weight'?");
  EXPECT_EQ(wrong(own_file(), rules({}, {}, {"*"})),
            "w: nothing of it is taken: model.init_skip leaves out all that the model has");
}

TEST(FirstWeights, OfRwkv4HaveItsNamesOrTheTransformers) {
  std::vector<ir::State> states;
  Tensors own, theirs;
  for (const ir::State& s :
       state_table(models::build("rwkv4?layers=1&width=8&vocab=16&context=4&copy=0&train=1"))) {
    if (s.role != ir::Role::kParam) continue;
    states.push_back(s);
    own.emplace(s.name, counting(DType::f32, sizes_of(s.type.shape), 0));
  }
  for (const auto& [name, array] : own) {
    const bool mix = name.find("time_mix") != std::string::npos;
    const Array given = mix ? array.reshaped({8}) : array.cast(DType::f64);
    std::string longer = name.starts_with("head") ? name : "rwkv." + name;
    for (const auto& [ours, word] : {std::pair{".emb.", ".embeddings."},
                                     {".att.", ".attention."},
                                     {".ffn.", ".feed_forward."},
                                     {".ln0.", ".pre_ln."},
                                     {"time_mix_k", "time_mix_key"},
                                     {"time_mix_v", "time_mix_value"},
                                     {"time_mix_r", "time_mix_receptance"}}) {
      const std::size_t at = longer.find(ours);
      if (at != std::string::npos) longer.replace(at, std::string_view(ours).size(), word);
    }
    theirs.emplace(longer, given);
  }
  theirs.emplace("copy_mask", Array(DType::f32, {8, 8}));
  Config::Model model = rules({}, {}, {});
  model.name = "rwkv4";
  const FirstWeights found = first_weights(file_of(theirs), model, states);
  EXPECT_TRUE(test::same(found.taken, own));
  ASSERT_EQ(found.notes.size(), 2u);
  EXPECT_EQ(found.notes[1], "model.init_from w: left 1: copy_mask f32[8,8]");
}

// A network trained elsewhere, in f16 and under longer names, with another head.
TEST(FirstWeights, BeginARunWithANewHead) {
  test::SmallRuns runs;
  runs.run("first");
  const Tensors trained = runs.end_of("first").weights;
  Tensors file;
  for (const auto& [name, array] : trained) {
    if (name == "head.weight") continue;
    file.emplace("model." + name, array.cast(DType::f16));
  }
  file.emplace("model.lm_head.weight", Array(DType::f16, {3, 16}));
  const std::string path = runs.path("elsewhere.safetensors");
  io::write_safetensors(path, {file, {}});
  runs.said.clear();
  runs.run("second", 0,
           {"init_from=" + path, "init_strip=model.", "init_skip=[\"head.*\"]",
            "freeze=[\"emb.*\", \"blocks.*\"]", "lr=0"});
  const Tensors begun = runs.end_of("second").weights;
  for (const auto& [name, array] : trained) {
    const bool head = name == "head.weight";
    EXPECT_EQ(begun.at(name).same_bits(array.cast(DType::f16).cast(DType::f32)), !head) << name;
  }
  EXPECT_NE(runs.said.find(str("note: model.init_from ", path, ": taken ", trained.size() - 1,
                               " of the model's ", trained.size(), " parameters and buffers, ",
                               trained.size() - 1, " renamed, ", trained.size() - 1,
                               " cast from f16 to f32")),
            std::string::npos)
      << runs.said;
  EXPECT_NE(runs.said.find(": left 1: lm_head.weight (model.lm_head.weight) f16[3,16]\n"),
            std::string::npos);
  EXPECT_NE(runs.said.find(": new 1: head.weight f32["), std::string::npos);
}

}  // namespace
}  // namespace plait::train
