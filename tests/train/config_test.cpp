// Configs read and written: settings, arguments over them, round trips, presets, the documentation.
#include "train/config.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/philox.h"
#include "base/text.h"
#include "io/file.h"
#include "models/registry.h"
#include "tests/temporary.h"
#include "train/presets.h"
#include "train/schema.h"

namespace plait::train {
namespace {

constexpr std::string_view kSmall = R"([model]
name = "rwkv4"
layers = 3
mask = false
[data]
path = ["a.txt", "b.txt"]
[train]
steps = 100
[optimizer]
kind = "sgd"
lr = 1
momentum = 0.9
)";

TEST(Config, TakesWhatTheFileSaysAndDefaultsElsewhere) {
  const Config c = parse_config(kSmall, "small.toml");
  EXPECT_EQ(c.model.name, "rwkv4");
  EXPECT_EQ(c.model.keys.at("layers"), "3");
  EXPECT_EQ(c.model.keys.at("mask"), "0");
  EXPECT_EQ(c.model.keys.at("width"), "1024");  // the model's default
  EXPECT_EQ(c.data.path, (std::vector<std::string>{"a.txt", "b.txt"}));
  EXPECT_EQ(c.train.steps, 100);
  EXPECT_EQ(c.optimizer.lr, 1.0);
  EXPECT_EQ(c.optimizer.momentum, 0.9);
  EXPECT_EQ(c.checkpoint, Config::Checkpoint{});
  EXPECT_EQ(model_size(c, "layers"), 3);
  EXPECT_EQ(model_size(c, "classes"), std::nullopt);
}

TEST(Config, ArgumentsComeOverTheFile) {
  const Config c = parse_config(
      kSmall, "small.toml",
      {"train.steps=7", "layers=2", "lr=1e-3", "data.path=it's.txt", "folder=\"quoted \\u00e9\"",
       "model.mask=1", "data.shuffle=false", "valid_path=[\"v\"]", "prompt=", "vocab=data"});
  EXPECT_EQ(c.train.steps, 7);
  EXPECT_EQ(c.model.keys.at("layers"), "2");
  EXPECT_EQ(c.model.keys.at("mask"), "1");
  EXPECT_EQ(c.model.keys.at("vocab"), "data");
  EXPECT_EQ(c.optimizer.lr, 1e-3);
  EXPECT_EQ(c.data.path, std::vector<std::string>{"it's.txt"});
  EXPECT_EQ(c.output.folder, "quoted \u00e9");
  EXPECT_FALSE(c.data.shuffle);
  EXPECT_EQ(c.data.valid_path, std::vector<std::string>{"v"});
  EXPECT_EQ(c.sample.prompt, "");
}

TEST(Config, AnArgumentThatChangesAKindForgetsWhatTheFileSaidForIt) {
  const Config c = parse_config(kSmall, "small.toml", {"optimizer.kind=adam"});
  EXPECT_EQ(c.optimizer.momentum, 0);
  const Config epochs = parse_config(kSmall, "small.toml", {"train.epochs=2"});
  EXPECT_EQ(epochs.train.steps, 0);
  EXPECT_EQ(epochs.train.epochs, 2);
  const Config gpt2 = parse_config(kSmall, "small.toml", {"model.name=gpt2", "heads=4"});
  EXPECT_EQ(gpt2.model.keys.count("mask"), 0u);
  EXPECT_EQ(gpt2.model.keys.at("layers"), "3");
  EXPECT_EQ(gpt2.model.keys.at("heads"), "4");
}

TEST(Config, ModelSpecSaysWhatDiffersAndHowItIsTrained) {
  const Config c = parse_config(kSmall, "small.toml", {"batch=2", "train.clip=1"});
  EXPECT_EQ(model_spec(c),
            "rwkv4?layers=3&mask=0&batch=2&clip=1.0&optimizer=sgd&lr=1.0&momentum=0.9&nesterov=0&"
            "weight_decay=0.0&weight_decay_of=matrices&train=1");
  const Config half = parse_config(kSmall, "small.toml", {"precision=f16", "optimizer.kind=adamw"});
  EXPECT_EQ(model_spec(half),
            "rwkv4?layers=3&mask=0&batch=8&precision=f16&optimizer=adamw&lr=1.0&beta1=0.9&"
            "beta2=0.999&eps=1e-08&weight_decay=0.0&weight_decay_of=matrices&train=1");
  const Config groups = parse_config(kSmall, "small.toml",
                                     {"groups=[\"*.bias lr=0.5\", \"emb.* weight_decay=0\"]",
                                      "freeze=blocks.0.*", "layers=1", "weight_decay_of=all"});
  EXPECT_EQ(groups.optimizer.freeze, std::vector<std::string>{"blocks.0.*"});
  EXPECT_TRUE(model_spec(groups).ends_with(
      "weight_decay_of=all&groups=*.bias lr=0.5,emb.* weight_decay=0&freeze=blocks.0.*&train=1"))
      << model_spec(groups);
}

TEST(Config, ARunMeansWhatItMeantBeforeThereWereMoreKeys) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "config.toml";
  const std::vector<std::string> added{
      "file = \"\"\n", "weight_decay_of = \"matrices\"\ngroups = []\nfreeze = []\n"};
  const std::string now = to_toml(parse_config(kSmall, "small.toml"));
  std::string old = now;
  for (const std::string& lines : added) {
    ASSERT_NE(old.find(lines), std::string::npos) << now;
    old.erase(old.find(lines), lines.size());
  }
  io::write_file(path, {old});
  EXPECT_EQ(load_config(path).optimizer.weight_decay_of, "matrices");
  const Config run = load_run_config(path);
  EXPECT_EQ(run.optimizer.weight_decay_of, "all") << "everything decayed in that run";
  EXPECT_EQ(lasting_text(run), old) << "so that it is known as the same run";
  EXPECT_EQ(load_run_config(path, {"weight_decay_of=matrices"}).optimizer.weight_decay_of,
            "matrices");
  io::write_file(path, {now});
  EXPECT_EQ(to_toml(load_run_config(path)), now);
}

TEST(Config, EveryKeyForTheModelIsOneThatModelsHave) {
  std::vector<std::string> common;
  for (const models::Key& key : models::common_keys()) common.emplace_back(key.name);
  for (const Key& key : schema()) {
    if (key.spec.empty()) continue;
    EXPECT_NE(std::find(common.begin(), common.end(), key.spec), common.end()) << full_name(key);
  }
}

TEST(Config, SizesOfTheDataBecomeTheModels) {
  Config c = parse_config(kSmall, "small.toml", {"vocab=data"});
  EXPECT_EQ(model_size(c, "vocab"), std::nullopt);
  fit_to_data(c, "classes", 10);  // rwkv4 has none
  fit_to_data(c, "vocab", 256);
  EXPECT_EQ(model_size(c, "vocab"), 256);
  fit_to_data(c, "vocab", 200);  // room enough
  EXPECT_EQ(model_size(c, "vocab"), 256);
  EXPECT_EQ(parse_config(to_toml(c), "again"), c);
}

TEST(Config, ReadsFilesAndPresets) {
  const test::TemporaryFolder folder;
  io::write_file(folder / "c.toml", {kSmall});
  EXPECT_EQ(load_config(folder / "c.toml", {"train.steps=5"}).train.steps, 5);
  EXPECT_EQ(load_config("preset:rwkv4-small").model.keys.at("width"), "128");
  EXPECT_EQ(load_config("preset:rwkv4-log", {"train.steps=5"}).train.steps, 5);
}

TEST(Config, EveryModelHasAPresetThatReadsBackAsItself) {
  for (const models::Entry& entry : models::all_models()) {
    EXPECT_EQ(load_config(str("preset:", entry.name)).model.name, entry.name);
  }
  for (const Preset& preset : all_presets()) {
    const Config c = load_config(str("preset:", preset.name));
    EXPECT_EQ(parse_config(to_toml(c), "again"), c) << preset.name;
    EXPECT_EQ(c.output.folder, str("runs/", preset.name));
  }
}

TEST(Config, ModelsOfPresetsAreBuilt) {
  for (const Preset& preset : all_presets()) {
    Config c = load_config(str("preset:", preset.name));
    fit_to_data(c, "vocab", 256);
    const ir::Package package = models::build(model_spec(c));
    EXPECT_EQ(package.graphs.at(0).name, "train") << preset.name;
  }
}

/// Random values for every key, whatever keys there are.
class RandomConfig {
 public:
  explicit RandomConfig(std::uint64_t seed) : key_{.seed = seed} {}

  Config make() {
    const auto all = models::all_models();
    Config c;
    choose_words(c);
    const models::Entry& entry = all[below(all.size())];
    for (const Key& key : schema()) {
      if (!key.choices.empty() || !has_meaning(key, c)) continue;
      std::visit([&](auto* field) { draw(key.range, field); }, key.slot(c));
    }
    c.model.name = entry.name;
    for (const models::Key& key : model_keys(entry)) draw_model(key, c);
    reconcile(c);
    return c;
  }

 private:
  std::uint64_t below(std::uint64_t n) { return random_bits(key_, drawn_++)[0] % n; }
  double uniform() { return static_cast<double>(below(1u << 31)) / (1u << 31); }

  void choose_words(Config& c) {
    for (const Key& key : schema()) {
      if (key.choices.empty()) continue;
      const std::vector<std::string> words = words_of(key.choices);
      *std::get<std::string*>(key.slot(c)) = words[below(words.size())];
    }
    for (const Key& key : schema()) {
      if (!has_meaning(key, c)) set_default(key, c);
    }
  }

  void draw(const Range&, bool* field) { *field = below(2) == 1; }
  void draw(const Range& range, std::int64_t* field) {
    const double least = std::max(range.least, 0.0), most = std::min(range.most, 9.0e15);
    *field = static_cast<std::int64_t>(least + uniform() * (most - least) *
                                                   std::exp2(-static_cast<double>(below(50))));
  }
  void draw(const Range& range, double* field) {
    const double least = std::max(range.least, 0.0), most = std::min(range.most, 1e30);
    do {
      *field = least + uniform() * (most - least) * std::exp2(-static_cast<double>(below(200)));
    } while (!range.holds(*field));
  }
  void draw(const Range&, std::string* field) {
    const std::string parts[] = {"a", "\"", "\\", "\n", "\x01",   "\x7f",       "'",  "#",
                                 "=", "[",  "]",  " ",  "\u00e9", "\U0001F600", "\t", "\\u0041"};
    field->assign("x");
    for (std::uint64_t n = below(8); n > 0; --n) *field += parts[below(std::size(parts))];
  }
  void draw(const Range& range, std::vector<std::string>* field) {
    field->resize(below(3));
    for (std::string& text : *field) draw(range, &text);
  }
  void draw_model(const models::Key& key, Config& c) {
    std::string& value = c.model.keys[std::string(key.name)];
    value = key.value;
    if (kind_of(key) == ModelValue::kWhole) value = std::to_string(below(1u << 30));
    if (kind_of(key) == ModelValue::kReal) value = real_text(uniform());
  }

  /// What check_together wants of them.
  void reconcile(Config& c) {
    if (below(4) == 0) {
      c.model.name.clear();
      c.model.keys.clear();
    } else {
      c.model.file.clear();
      c.model.sizes.clear();
      c.model.feeds.clear();
      c.model.loss = "loss";
      if (c.optimizer.kind == "own") c.optimizer.kind = "adamw";
    }
    if (c.optimizer.kind == "own") {
      c.train.accumulate = 1;
      c.train.clip = c.optimizer.weight_decay = 0;
      c.train.on_nan = "stop";
    }
    c.train.steps = std::max<std::int64_t>(c.train.steps, 1);
    c.train.epochs = 0;
    if (below(2)) std::swap(c.train.steps, c.train.epochs);
    if (below(2)) {
      c.data.valid_fraction = 0;
    } else {
      c.data.valid_path.clear();
    }
    if (c.data.valid_fraction == 0 && c.data.valid_path.empty()) c.eval.every = 0;
    if (c.data.kind != "text") c.sample.length = 0;
    if (c.data.kind != "text" && c.data.kind != "synthetic") c.data.path = {"x"};
    c.schedule.min_lr = std::min(c.schedule.min_lr, c.optimizer.lr);
    c.optimizer.nesterov = c.optimizer.nesterov && c.optimizer.momentum > 0;
    if (c.train.precision != "f32" && !c.model.name.empty()) c.model.keys["dtype"] = "f32";
    if (!c.model.init_map.empty()) c.model.init_map = {"a.b -> c"};
    c.optimizer.freeze.clear();
    c.optimizer.groups.clear();
    if (c.optimizer.kind == "own") return;
    c.optimizer.freeze.assign(below(3), "layer?.*");
    c.optimizer.groups.assign(below(3), "*.bias weight_decay=0.5");
  }

  RandomKey key_;
  std::uint64_t drawn_ = 0;
};

TEST(Config, RandomOnesReadBackAsThemselves) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Config c = RandomConfig(seed).make();
    const std::string text = to_toml(c);
    ASSERT_EQ(to_toml(parse_config(text, "again")), text) << "seed " << seed;
    ASSERT_EQ(parse_config(text, "again"), c) << "seed " << seed << "\n" << text;
  }
}

TEST(Config, EveryKeyStandsInASectionAndIsWrittenWhenItHasAMeaning) {
  for (const Key& key : schema()) {
    bool found = false;
    for (const Section& section : sections()) found = found || section.name == key.section;
    EXPECT_TRUE(found) << full_name(key);
    EXPECT_EQ(find_key(key.section, key.name), &key) << "twice: " << full_name(key);
    if (!key.only.key.empty()) {
      const Key* other = find_key(key.section, key.only.key);
      ASSERT_NE(other, nullptr) << full_name(key);
      for (const std::string& word : words_of(key.only.words)) {
        EXPECT_TRUE(holds_word(other->choices, word)) << full_name(key) << " " << word;
      }
    }
    if (!key.instead_of.empty()) {
      EXPECT_NE(find_key(key.section, key.instead_of), nullptr) << full_name(key);
    }
    if (!key.choices.empty()) {
      EXPECT_TRUE(holds_word(key.choices, std::get<std::string>(value_of(key, {}))))
          << full_name(key);
    }
  }
}

TEST(Config, DocumentationHasEveryKey) {
  const std::string page = io::read_file("docs/train.md");
  const std::string wanted = schema_markdown();
  EXPECT_NE(page.find(wanted), std::string::npos)
      << "docs/train.md must hold, below its own text:\n"
      << wanted;
  const std::size_t example = page.find("```toml\n") + 8;
  const Config c = parse_config(page.substr(example, page.find("```", example) - example), "page");
  EXPECT_EQ(c.model.name, "rwkv4");
}

}  // namespace
}  // namespace plait::train
