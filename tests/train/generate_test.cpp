// Text from runs made by hand: what is written, from which checkpoint, and what is refused.
#include "train/generate.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "models/registry.h"
#include "run/session.h"
#include "tests/raises.h"
#include "tests/temporary.h"
#include "train/run_folder.h"
#include "train/text_model.h"
#include "train/utf8_stream.h"

namespace plait::train {
namespace {

namespace fs = std::filesystem;
using test::message_of;
using test::TemporaryFolder;

void put(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

Vocabulary characters(const std::string& of) {
  const std::vector<Text> texts{{"made up", of}};
  return Vocabulary::characters(texts);
}

Config config_with(const std::string& model, const std::string& unit) {
  return parse_config("[model]\n" + model + "\n[data]\nunit = \"" + unit +
                          "\"\npath = [\"x.txt\"]\n[train]\nsteps = 1\nbatch = 2\n",
                      "made up");
}

constexpr const char* kRwkv4 =
    "name = \"rwkv4\"\nlayers = 2\nwidth = 16\ncontext = 8\ncopy = 4\nvocab = \"data\"\n"
    "init = \"xavier\"";
constexpr const char* kGpt2 =
    "name = \"gpt2\"\nlayers = 1\nwidth = 8\nheads = 2\ncontext = 6\nvocab = \"data\"";

/// What the training graph would start with.
Tensors weights_of(Config config, std::int64_t vocab, std::uint64_t seed) {
  fit_to_data(config, "vocab", vocab);
  const Session session = make_session(models::build(model_spec(config)), "ref", seed);
  Tensors out;
  for (const ir::State& state : state_table(session.package())) {
    if (state.role == ir::Role::kParam) out.emplace(state.name, session.state(state.name));
  }
  return out;
}

void write_run(const std::string& run, const Config& config, const Vocabulary& vocabulary) {
  fs::create_directories(run);
  put(run + "/" + kConfigFile, to_toml(config));
  put(run + "/" + kVocabFile, vocabulary.json());
}

std::string add_checkpoint(const std::string& run, const Config& config,
                           const Vocabulary& vocabulary, std::int64_t step) {
  TrainState state;
  state.step = step;
  return write_checkpoint(run, state,
                          weights_of(config, vocabulary.size(), static_cast<std::uint64_t>(step)),
                          {}, 9)
      .path;
}

/// A run of the model with one checkpoint.
struct MadeRun {
  TemporaryFolder folder;
  Config config;
  Vocabulary vocabulary;
  std::string checkpoint;
  MadeRun(const char* model, const Vocabulary& v)
      : config(config_with(model, v.unit() == Unit::kByte ? "byte" : "char")), vocabulary(v) {
    write_run(folder.path(), config, v);
    checkpoint = add_checkpoint(folder.path(), config, v, 100);
  }
};

GenerateOptions on_ref(const std::string& prompt, std::int64_t length) {
  return {.prompt = prompt, .length = length, .sampling = {}, .backend = "ref", .threads = 1};
}

TEST(Generate, WritesFromARunOrACheckpoint) {
  const MadeRun run(kRwkv4, characters("abc äöü\n"));
  std::string streamed;
  const Generated g = generate(run.folder.path(), on_ref("abä", 40),
                               [&](std::string_view text) { streamed += text; });
  EXPECT_EQ(g.text, streamed);
  EXPECT_EQ(g.tokens, 40);
  EXPECT_EQ(g.prompt_tokens, 3);
  std::int64_t count = 0;
  for (const char byte : g.text) count += (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
  EXPECT_EQ(count, 40);
  EXPECT_TRUE(g.notes.empty());
  // Per layer five rows of 16 f32; the ring: 8 x (4 f32 + i64) and its place.
  EXPECT_EQ(g.kept_bytes, 2 * 5 * 16 * 4 + 8 * (4 * 4 + 8) + 8);
  EXPECT_EQ(generate(run.checkpoint, on_ref("abä", 40)).text, g.text);
  EXPECT_EQ(generate(run.checkpoint + "/", on_ref("abä", 40)).text, g.text);
}

TEST(Generate, IsDeterminedByWeightsPromptAndSeed) {
  const MadeRun run(kRwkv4, characters("abcdefgh\n"));
  GenerateOptions options = on_ref("ab", 60);
  const std::string text = generate(run.folder.path(), options).text;
  EXPECT_EQ(generate(run.folder.path(), options).text, text);
  EXPECT_GT(std::set<char>(text.begin(), text.end()).size(), 3u);
  options.length = 20;
  EXPECT_EQ(generate(run.folder.path(), options).text, text.substr(0, 20));
  options.length = 60;
  options.sampling.seed = 1;
  EXPECT_NE(generate(run.folder.path(), options).text, text);
  add_checkpoint(run.folder.path(), run.config, run.vocabulary, 200);
  EXPECT_NE(generate(run.folder.path(), on_ref("ab", 60)).text, text);
}

TEST(Generate, IsWhatTheTrainedGraphSays) {
  for (const char* model : {kRwkv4, kGpt2}) {
    const MadeRun run(model, characters("abcdefgh"));
    GenerateOptions options = on_ref("ha", 4);
    options.sampling.temperature = 0;
    const std::string text = "ha" + generate(run.folder.path(), options).text;
    // The whole text at once: at each place the likeliest is what was written.
    Config config = run.config;
    fit_to_data(config, "vocab", 8);
    config.train.batch = 1;
    Session session = make_session(models::build(model_spec(config)), "ref", 100);
    const std::int64_t context = *model_size(config, "context");
    Array idx(DType::i64, {1, context});
    for (std::size_t i = 0; i < text.size(); ++i) {
      idx.set_integer(static_cast<std::int64_t>(i), text[i] - 'a');
    }
    const Arrays got = session.run({"eval", {{"idx", idx}, {"targets", idx}}, {"logits"}});
    const std::span<const float> logits = got.at("logits").as<float>();
    for (std::size_t i = 2; i < text.size(); ++i) {
      EXPECT_EQ(draw(logits.subspan((i - 1) * 8, 8), options.sampling, 0), text[i] - 'a')
          << run.config.model.name << " at " << i;
    }
  }
}

TEST(Generate, OnTheCpuAsOnTheReference) {
  const MadeRun run(kRwkv4, characters("abcdefgh\n"));
  GenerateOptions options = on_ref("abc", 30);
  options.sampling.temperature = 0;
  const std::string text = generate(run.folder.path(), options).text;
  options.backend = "cpu";
  EXPECT_EQ(generate(run.folder.path(), options).text, text);
}

TEST(Generate, Gpt2SlidesItsWindow) {
  const MadeRun run(kGpt2, characters("abcdefgh"));
  const Generated g = generate(run.folder.path(), on_ref("abcd", 12));
  EXPECT_EQ(g.tokens, 12);
  EXPECT_EQ(g.tokens_read, 6);
  ASSERT_EQ(g.notes.size(), 1u);
  EXPECT_NE(g.notes[0].find("reads its window of 6 tokens again"), std::string::npos);
  // Only the last six tokens count.
  Config config = run.config;
  fit_to_data(config, "vocab", 8);
  const auto after = [&](std::vector<std::int64_t> tokens) {
    return make_text_model(config, weights_of(config, 8, 1), "w", "ref", 1)->read(tokens);
  };
  EXPECT_TRUE(after({0, 1, 2, 3, 4, 5, 6, 7}).same_bits(after({2, 3, 4, 5, 6, 7})));
  EXPECT_FALSE(after({2, 3, 4, 5, 6, 7}).same_bits(after({1, 3, 4, 5, 6, 7})));
}

TEST(Generate, EmptyPromptBeginsWithANewline) {
  const MadeRun run(kRwkv4, characters("abcdefgh\n"));
  EXPECT_EQ(generate(run.folder.path(), on_ref("", 30)).text,
            generate(run.folder.path(), on_ref("\n", 30)).text);
  EXPECT_NE(generate(run.folder.path(), on_ref("", 30)).text,
            generate(run.folder.path(), on_ref("a", 30)).text);
  const MadeRun one_line(kRwkv4, characters("abcdefgh"));
  EXPECT_EQ(generate(one_line.folder.path(), on_ref("", 5)).tokens, 5);
}

TEST(Generate, BytesAreAlwaysWholeText) {
  const MadeRun run(kRwkv4, Vocabulary::bytes());
  GenerateOptions options = on_ref("\xc3", 200);  // half a character
  options.sampling.temperature = 3;
  const std::string text = generate(run.folder.path(), options).text;
  Utf8Stream check;
  EXPECT_EQ(check.add(text) + check.finish(), text);
  EXPECT_NE(text.find("\xef\xbf\xbd"), std::string::npos);
}

TEST(Generate, IdsBeyondTheVocabularyAreNotWritten) {
  const std::string wide =
      std::string(kRwkv4).replace(std::string(kRwkv4).find("\"data\""), 6, "64");
  const MadeRun run(wide.c_str(), characters("ab"));
  EXPECT_EQ(generate(run.folder.path(), on_ref("a", 50)).text.find_first_not_of("ab"),
            std::string::npos);
}

TEST(Generate, DamagedCheckpointIsPassedOver) {
  const MadeRun run(kRwkv4, characters("abcdefgh\n"));
  const std::string text = generate(run.folder.path(), on_ref("ab", 30)).text;
  const std::string newer = add_checkpoint(run.folder.path(), run.config, run.vocabulary, 200);
  fs::resize_file(newer + "/" + kWeightsFile, 100);
  const Generated g = generate(run.folder.path(), on_ref("ab", 30));
  EXPECT_EQ(g.text, text);
  ASSERT_EQ(g.notes.size(), 1u);
  EXPECT_NE(g.notes[0].find("step-00000200"), std::string::npos);
}

TEST(Generate, SaysThatACopyHeadMissesTheFuture) {
  const MadeRun run((std::string(kRwkv4) + "\nmask = 0").c_str(), characters("ab\n"));
  const Generated g = generate(run.folder.path(), on_ref("ab", 3));
  ASSERT_EQ(g.notes.size(), 1u);
  EXPECT_NE(g.notes[0].find("mask=0"), std::string::npos);
}

TEST(Generate, Errors) {
  const MadeRun run(kRwkv4, characters("abc\n"));
  const auto refused = [](const std::string& path, const GenerateOptions& options) {
    return message_of([&] { generate(path, options); });
  };
  EXPECT_EQ(refused("/nowhere/run", on_ref("a", 1)),
            "there is no run '/nowhere/run': no such folder");
  const TemporaryFolder empty;
  EXPECT_EQ(refused(empty.path(), on_ref("a", 1)),
            "'" + empty.path() + "' is no run: it has no config.toml, and is no checkpoint of one");
  EXPECT_EQ(refused(run.folder.path(), on_ref("axbyyé", 1)),
            "the prompt has 3 characters that the training text lacks: \"x\", \"y\", \"é\"");
  EXPECT_EQ(
      refused(run.folder.path(), on_ref("\xff", 1)).find("the prompt: not UTF-8 at byte 0 (0xff)"),
      0u);
  EXPECT_EQ(refused(run.folder.path(), on_ref("a", -1)),
            "the length to write must be 0 or above, is -1");

  write_run(empty.path(), run.config, run.vocabulary);
  EXPECT_NE(refused(empty.path(), on_ref("a", 1)).find("checkpoint"), std::string::npos);
  fs::remove(empty / kVocabFile);
  EXPECT_EQ(refused(empty.path(), on_ref("a", 1)), "run '" + empty.path() + "' has no vocab.json");
}

TEST(Generate, WeightsThatAreNotTheModels) {
  const MadeRun run(kRwkv4, characters("abc\n"));
  Trained trained = load_trained(run.folder.path());
  const auto refused = [&](const Trained& t) {
    return message_of([&] { generate(t, on_ref("a", 1)); });
  };
  Trained changed = trained;
  changed.weights.erase("ln_out.bias");
  EXPECT_EQ(refused(changed),
            run.checkpoint + ": lacks the weight 'ln_out.bias' of the config's model");
  changed = trained;
  changed.weights.emplace("ln_in.bias", Array(DType::f32, {16}));
  EXPECT_EQ(refused(changed), run.checkpoint +
                                  ": 'ln_in.bias' is no weight of the config's model. Did you "
                                  "mean 'ln_out.bias'?");
  changed = trained;
  changed.weights.insert_or_assign("ln_out.bias", Array(DType::f32, {17}));
  EXPECT_EQ(refused(changed).find(run.checkpoint + ": "), 0u);
  changed = trained;
  changed.config.model.name = "vgg19";
  EXPECT_EQ(refused(changed), "model vgg19 writes no text: rwkv4 and gpt2 do");
}

TEST(Generate, OnlyTextHasCharacters) {
  const TemporaryFolder folder;
  write_run(folder.path(),
            parse_config("[model]\nname = \"rwkv4\"\nvocab = 10\n[data]\nkind = \"tokens\"\n"
                         "path = [\"x.npy\"]\n[train]\nsteps = 1\n",
                         "made up"),
            Vocabulary::bytes());
  EXPECT_EQ(message_of([&] { load_trained(folder.path()); }),
            "run '" + folder.path() +
                "' was trained on tokens, which has no characters: only models of text write");
}

}  // namespace
}  // namespace plait::train
