// What is said of wrong configs: the place, the value, the nearest right key.
#include <gtest/gtest.h>

#include "base/philox.h"
#include "io/file.h"
#include "tests/raises.h"
#include "tests/temporary.h"
#include "train/config.h"

namespace plait::train {
namespace {

using test::message_of;

const std::string kHead = "[model]\nname = \"rwkv4\"\n[train]\nsteps = 10\n";

/// What is said of the lines after kHead, which begin at line 5 in [train].
std::string of_file(const std::string& lines) {
  return message_of([&] { parse_config(kHead + lines, "c.toml"); });
}

std::string of_arguments(const std::vector<std::string>& arguments) {
  return message_of([&] { parse_config(kHead, "c.toml", arguments); });
}

std::string of_whole_file(const std::string& text) {
  return message_of([&] { parse_config(text, "c.toml"); });
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(ConfigErrors, UnknownNamesComeWithTheNearest) {
  const std::string key = of_file("bacth = 4\n");
  EXPECT_TRUE(key.starts_with("c.toml: line 5: [train] has no key 'bacth'. Did you mean 'batch'?"))
      << key;
  EXPECT_TRUE(holds(key, "It has batch, steps, epochs,")) << key;
  const std::string section = of_file("[optimiser]\nlr = 1\n");
  EXPECT_TRUE(
      section.starts_with("c.toml: line 6: there is no section [optimiser]. "
                          "Did you mean 'optimizer'? There are model, data,"))
      << section;
  const std::string model_key = of_file("[model.x]\n");
  EXPECT_TRUE(holds(model_key, "line 5: [model.x]: a section has no sections")) << model_key;
  EXPECT_EQ(of_file("lr = 1\n"), "c.toml: line 5: 'lr' is a key of [optimizer], not of [train]");
  const std::string width = of_whole_file("[model]\nname = \"rwkv4\"\nwitdh = 8\n");
  EXPECT_TRUE(
      width.starts_with("c.toml: line 3: [model] has no key 'witdh'. Did you mean "
                        "'width'? It has with rwkv4 name, file, sizes,"))
      << width;
  const std::string model = of_whole_file("[model]\n\nname = \"rwkv5\"\n");
  EXPECT_TRUE(model.starts_with("c.toml: line 3: there is no model 'rwkv5'. Did you mean 'rwkv4'?"))
      << model;
}

TEST(ConfigErrors, KeysOfTheModelThatOtherSectionsSay) {
  EXPECT_EQ(of_whole_file("[model]\nname = \"mlp\"\nbatch = 8\n"),
            "c.toml: line 3: batch is said as train.batch");
  EXPECT_TRUE(of_whole_file("[model]\nname = \"mlp\"\ntrain = 1\n")
                  .starts_with("c.toml: line 3: [model] has no key 'train'."));
}

TEST(ConfigErrors, KeysOutsideOfSections) {
  EXPECT_EQ(of_whole_file("steps = 3\n" + kHead.substr(0, 23)),
            "c.toml: line 1: 'steps' is a key of [train]: say which section");
  const std::string far = of_whole_file("[model]\nname = \"mlp\"\n[train]\nsteps = 1\n[[data]]\n");
  EXPECT_TRUE(holds(far, "c.toml: line 5: ")) << far;
  EXPECT_EQ(of_whole_file("setps = 3\n" + kHead.substr(0, 23)),
            "c.toml: line 1: there is no key 'setps'. Did you mean 'train.steps'?");
}

TEST(ConfigErrors, WrongTypes) {
  EXPECT_EQ(of_file("batch = \"eight\"\n"),
            "c.toml: line 5: train.batch must be a whole number, at least 1, at most 1073741824, "
            "is \"eight\"");
  EXPECT_TRUE(of_file("batch = 8.0\n").ends_with("is 8.0"));
  EXPECT_TRUE(of_file("batch = true\n").ends_with("is true"));
  EXPECT_TRUE(of_file("batch = 2024-01-01\n").ends_with("is a date or time"));
  EXPECT_TRUE(of_file("batch = [1]\n").ends_with("is a list of something else than texts"));
  EXPECT_EQ(of_file("[data]\nshuffle = 1\n"),
            "c.toml: line 6: data.shuffle must be true or false, is 1");
  EXPECT_EQ(of_file("[data]\npath = 3\n"),
            "c.toml: line 6: data.path must be a text or list of texts, is 3");
  EXPECT_EQ(of_file("[output]\nfolder = 3\n"),
            "c.toml: line 6: output.folder must be a text, is 3");
  EXPECT_EQ(of_file("precision = \"b16\"\n"),
            "c.toml: line 5: train.precision must be one of \"f32\", \"bf16\", \"f16\", is "
            "\"b16\". Did you mean 'bf16'?");
  EXPECT_EQ(of_whole_file("[model]\nname = \"rwkv4\"\nlayers = 1.5\n"),
            "c.toml: line 3: model.layers must be a whole number, at least 0, is 1.5");
  EXPECT_EQ(of_whole_file("[model]\nname = \"gpt2\"\nvocab = \"dat\"\n"),
            "c.toml: line 3: model.vocab must be a whole number, at least 0, or \"data\", is "
            "\"dat\"");
  EXPECT_EQ(of_whole_file("[model]\nname = \"rwkv4\"\ninit = \"x&layers=9\"\n"),
            "c.toml: line 3: model.init must be a word, is \"x&layers=9\"");
  EXPECT_EQ(of_whole_file("[model]\nname = 4\n"),
            "c.toml: line 2: model.name must be a text, is 4");
}

TEST(ConfigErrors, OutOfRange) {
  for (const char* line :
       {"batch = -1", "batch = 0", "epochs = -1", "accumulate = 0", "clip = -1.0", "clip = nan",
        "clip = inf", "seed = -1", "threads = 5000", "epochs = 1099511627777"}) {
    EXPECT_TRUE(of_file(str(line, "\n")).starts_with("c.toml: line 5: ")) << line;
  }
  EXPECT_EQ(of_file("[data]\nkind = \"synthetic\"\nsamples = 9223372036854775807\n"),
            "c.toml: line 7: data.samples must be a whole number, at least 1, at most 2^40, is "
            "9223372036854775807");
  EXPECT_EQ(of_file("[checkpoint]\nkeep = 4294967296\n"),
            "c.toml: line 6: checkpoint.keep must be a whole number, at least 1, at most 1048576, "
            "is 4294967296");
  EXPECT_EQ(of_file("[optimizer]\nlr = nan\n"),
            "c.toml: line 6: optimizer.lr must be a number, at least 0, is nan");
  EXPECT_TRUE(of_file("[optimizer]\nlr = -inf\n").ends_with("is -inf"));
  EXPECT_EQ(of_file("[optimizer]\nbeta1 = 1\n"),
            "c.toml: line 6: optimizer.beta1 must be a number, at least 0, below 1, is 1");
  EXPECT_EQ(of_file("[sample]\ntop_p = 0.0\n"),
            "c.toml: line 6: sample.top_p must be a number, above 0, at most 1, is 0.0");
  EXPECT_EQ(of_whole_file("[model]\nname = \"rwkv4\"\nwidth = -8\n"),
            "c.toml: line 3: model.width must be a whole number, at least 0, is -8");
  EXPECT_TRUE(holds(of_file("batch = 99999999999999999999\n"), "c.toml: line 5"));
}

TEST(ConfigErrors, ValuesThatDoNotGoTogether) {
  EXPECT_EQ(of_file("epochs = 2\n"),
            "c.toml: line 5: train.steps and train.epochs are both said: say one of them");
  EXPECT_EQ(of_whole_file("[model]\nname = \"mlp\"\n"),
            "c.toml: how long? Say train.steps or train.epochs");
  EXPECT_EQ(of_file("[optimizer]\nmomentum = 0.9\n"),
            "c.toml: line 6: optimizer.momentum has a meaning only with kind = \"sgd\", which is "
            "\"adam\"");
  EXPECT_EQ(of_file("loss_scale = 8\nprecision = \"bf16\"\n"),
            "c.toml: line 5: train.loss_scale has a meaning only with precision = \"f16\", which "
            "is \"bf16\"");
  EXPECT_EQ(of_file("[schedule]\nkind = \"linear\"\nmin_lr = 0.5\n"),
            "c.toml: line 7: schedule.min_lr is 0.5, above optimizer.lr, which is 0.001");
  EXPECT_EQ(of_file("[optimizer]\nkind = \"sgd\"\nnesterov = true\n"),
            "c.toml: line 7: optimizer.nesterov needs optimizer.momentum above 0");
  EXPECT_EQ(of_file("[data]\nkind = \"tokens\"\n"),
            "c.toml: line 6: data of kind \"tokens\" needs data.path");
  EXPECT_TRUE(of_file("[eval]\nevery = 5\n").starts_with("c.toml: line 6: nothing to evaluate on"));
  EXPECT_TRUE(of_file("[data]\nkind = \"synthetic\"\n[sample]\nlength = 5\n")
                  .starts_with("c.toml: line 8: data of kind \"synthetic\" gives no sample"));
  EXPECT_TRUE(of_file("[data]\nvalid_fraction = 0.1\nvalid_path = \"v\"\n")
                  .ends_with("data.valid_fraction and data.valid_path are both said: say one of "
                             "them"));
}

TEST(ConfigErrors, RulesForFirstWeights) {
  const std::string head = "[model]\nname = \"mlp\"\n";
  EXPECT_EQ(of_whole_file(head + "init_skip = \"fc.*\"\n[train]\nsteps = 1\n"),
            "c.toml: line 3: model.init_skip has a meaning only with model.init_from");
  EXPECT_EQ(of_whole_file(head + "init_from = \"w\"\ninit_map = \"a\"\n[train]\nsteps = 1\n"),
            "c.toml: line 4: model.init_map: \"a\" is no rule: say \"FROM -> TO\", two prefixes of "
            "names");
}

TEST(ConfigErrors, GroupsOfParameters) {
  EXPECT_EQ(of_file("[optimizer]\ngroups = [\"*.bias lr=0.1\", \"fc.*\"]\n"),
            "c.toml: line 6: 'fc.*' says nothing of its group. Say lr=RATE or "
            "weight_decay=FACTOR");
  EXPECT_EQ(of_file("[optimizer]\ngroups = \"fc.* rate=1\"\n"),
            "c.toml: line 6: 'rate=1' in 'fc.* rate=1' is unknown: a group is `GLOB lr=RATE "
            "weight_decay=FACTOR`, with one of the two or both");
  EXPECT_EQ(of_file("[optimizer]\nfreeze = \"a b\"\n"),
            "c.toml: line 6: optimizer.freeze has \"a b\", which is no pattern over names: they "
            "have none of \",& =\\\"\"");
  EXPECT_EQ(of_file("[schedule]\nkind = \"linear\"\nmin_lr = 1e-4\n[optimizer]\ngroups = "
                    "\"fc.* lr=1e-5\"\n"),
            "c.toml: line 9: schedule.min_lr is 1e-04, above the rate of the group \"fc.* "
            "lr=1e-5\"");
}

TEST(ConfigErrors, SizesThatTheDataDoesNotKnow) {
  const std::string head = "[model]\nname = \"gpt2\"\nvocab = \"data\"\n[train]\nsteps = 1\n";
  EXPECT_EQ(of_whole_file(head + "[data]\nkind = \"synthetic\"\n"),
            "c.toml: line 3: data of kind \"synthetic\" does not know model.vocab: say a number");
  Config c = parse_config(head, "c.toml");
  EXPECT_EQ(message_of([&] { model_spec(c); }), "model.vocab is the data's, which is not read yet");
  c.model.keys["vocab"] = "100";
  EXPECT_EQ(message_of([&] { fit_to_data(c, "vocab", 6064); }),
            "the data has a vocab of 6,064, model.vocab is only 100. Say \"data\" to take the "
            "data's");
}

TEST(ConfigErrors, HalfModelsAreNotTrainedInMixedPrecision) {
  EXPECT_EQ(of_whole_file("[model]\nname = \"mlp\"\n[train]\nsteps = 1\nprecision = \"bf16\"\n"),
            "c.toml: line 5: train.precision = \"bf16\" keeps f32 weights, but model.dtype is "
            "\"f16\". Leave one out");
}

TEST(ConfigErrors, Arguments) {
  EXPECT_EQ(of_arguments({"steps=5", "batch"}),
            "argument 2 (batch): must be key=value or section.key=value");
  EXPECT_TRUE(of_arguments({"train.bacth=5"})
                  .starts_with("argument 1 (train.bacth=5): [train] has no key 'bacth'. Did you "
                               "mean 'batch'?"));
  EXPECT_EQ(of_arguments({"setps=5"}),
            "argument 1 (setps=5): there is no key 'setps'. Did you mean 'train.steps'?");
  EXPECT_EQ(of_arguments({"every=5"}),
            "argument 1 (every=5): 'every' is a key of [eval] and [checkpoint]: say which section");
  EXPECT_TRUE(of_arguments({"trian.batch=5"})
                  .starts_with("argument 1 (trian.batch=5): there is no section [trian]. Did you "
                               "mean 'train'?"));
  EXPECT_TRUE(of_arguments({"batch=many"}).ends_with("is \"many\""));
  EXPECT_TRUE(of_arguments({"batch="}).ends_with("is \"\""));
  EXPECT_EQ(of_arguments({"batch=5", "train.batch=6"}),
            "argument 2 (train.batch=6): train.batch was said by argument 1 (batch=5)");
  EXPECT_EQ(of_arguments({"batch=5\nsteps=9"}).substr(0, 12), "argument 1 (");
  EXPECT_TRUE(holds(of_arguments({"prompt=\"open"}), "argument 1 "));
  EXPECT_TRUE(holds(of_arguments({"prompt=\xff\xfe"}), "argument 1 "));
  EXPECT_TRUE(holds(of_arguments({"model.batch=2"}), "batch is said as train.batch"));
  EXPECT_TRUE(holds(of_arguments({"name=rwkv"}), "Did you mean 'rwkv4'?"));
  EXPECT_TRUE(holds(of_arguments({"steps=2", "epochs=2"}), "are both said"));
  EXPECT_TRUE(holds(of_arguments({"=3"}), "argument 1 (=3): there is no key ''"));
}

TEST(ConfigErrors, NamesOfFilesThatAreNone) {
  EXPECT_EQ(of_file("[data]\npath = [\"a\", \"\"]\n"),
            "c.toml: line 6: data.path has an empty name");
  EXPECT_EQ(of_arguments({"data.path="}), "argument 1 (data.path=): data.path has an empty name");
  EXPECT_EQ(of_file("[output]\nfolder = \"a\\u0000b\"\n"),
            "c.toml: line 6: output.folder has a NUL byte");
  EXPECT_EQ(of_arguments({"output.folder="}),
            "argument 1 (output.folder=): output.folder is empty");
}

// What walks over parts of keys calls itself at each.
TEST(ConfigErrors, KeysOfManyParts) {
  std::string deep = "a";
  for (int i = 0; i < 200'000; ++i) deep += ".a";
  EXPECT_EQ(of_whole_file("\n[" + deep + "]\n"), "c.toml: line 2: a key of more than 100 parts");
  EXPECT_EQ(of_whole_file(deep + " = 1\n"), "c.toml: line 1: a key of more than 100 parts");
  const std::string text =
      "[sample]\nprompt = \"" + std::string(500, '.') + "\"  # " + std::string(500, '.') + "\n";
  EXPECT_TRUE(holds(of_whole_file(text), "no model")) << of_whole_file(text);
}

TEST(ConfigErrors, TextThatIsNotToml) {
  EXPECT_TRUE(of_file("batch = \n").starts_with("c.toml: line 5, column "))
      << of_file("batch = \n");
  EXPECT_TRUE(of_file("batch = 4\nbatch = 5\n").starts_with("c.toml: line 6, column "));
  EXPECT_TRUE(of_file("[train]\n").starts_with("c.toml: line 5, column "));
  EXPECT_TRUE(of_file("# \xff\xfe\n").starts_with("c.toml: line 5, column "));
  EXPECT_TRUE(of_file("on_nan = \"sto").starts_with("c.toml: line 5, column "));
  EXPECT_TRUE(of_whole_file(std::string(2000, '[')).starts_with("c.toml: line 1, column "));
  EXPECT_TRUE(of_whole_file("x = " + std::string(100000, '[')).starts_with("c.toml: line 1"));
  EXPECT_TRUE(holds(of_whole_file(std::string("\0\1\2", 3)), "c.toml: line 1"));
  EXPECT_EQ(of_whole_file(""),
            "c.toml: no model: [model] needs file, or name, one of mlp, conv_add, "
            "resnet50, vgg19, rwkv4, gpt2, unet");
}

TEST(ConfigErrors, EveryPrefixIsReadOrRefused) {
  const std::string whole = to_toml(load_config("preset:rwkv4-small"));
  int refused = 0;
  for (std::size_t n = 0; n < whole.size(); ++n) {
    try {
      parse_config(std::string_view(whole).substr(0, n), "c.toml");
    } catch (const UserError& e) {
      ++refused;
      EXPECT_TRUE(std::string_view(e.what()).starts_with("c.toml:")) << n << ": " << e.what();
    }
  }
  EXPECT_GT(refused, 100);
}

TEST(ConfigErrors, MutatedTextsAreReadOrRefused) {
  const std::string whole = to_toml(load_config("preset:rwkv4-small"));
  const std::string_view bytes = "[]{}=\"'.,\n\\#-_0e\x80\xff\x00 tn";
  int refused = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    std::string text = whole;
    for (std::uint64_t i = 0; i <= seed % 4; ++i) {
      const Philox draw = random_bits({.seed = seed}, i);
      const std::size_t at = draw[0] % text.size();
      if (draw[1] % 4 == 0) text.erase(at, draw[2] % 9);
      if (draw[1] % 4 == 1) text[at] = bytes[draw[2] % bytes.size()];
      if (draw[1] % 4 >= 2) text.insert(at, 1 + draw[3] % 3, bytes[draw[2] % bytes.size()]);
    }
    try {
      parse_config(text, "c.toml");
    } catch (const UserError& e) {
      ++refused;
      EXPECT_TRUE(std::string_view(e.what()).starts_with("c.toml:")) << e.what() << "\n" << text;
    }
  }
  EXPECT_GT(refused, 100);
}

TEST(ConfigErrors, FilesThatCannotBeConfigs) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "long.toml";
  io::write_file(path, {std::string(3 << 20, '#')});
  EXPECT_EQ(message_of([&] { load_config(path); }),
            path + ": longer than 1,048,576 bytes: not a config");
  EXPECT_TRUE(holds(message_of([&] { load_config(folder / "none.toml"); }), "none.toml"));
  EXPECT_TRUE(message_of([] {
                load_config("preset:rwkv4-smal");
              }).starts_with("there is no preset 'rwkv4-smal'. Did you mean 'rwkv4-small'?"));
}

}  // namespace
}  // namespace plait::train
