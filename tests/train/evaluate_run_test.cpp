// Trained models on data: every sample counts once whatever the batch, on the data that was asked
// for; classes come out with their names.
#include "train/evaluate_run.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "io/file.h"
#include "io/npy.h"
#include "tests/raises.h"
#include "tests/train/data_pictures.h"
#include "tests/train/small_run.h"
#include "train/predict.h"

namespace plait::train {
namespace {

using test::filled;
using test::message_of;
using test::SmallRuns;

constexpr std::string_view kNet = R"(symbol batch = 1..64
graph net(x: f32[batch,3,4,4], labels: i64[batch]) state(w: f32[3,48] = xavier, b: f32[3]) {
  %flat = reshape(x, shape=[batch,48]) : f32[batch,48]
  %logits = linear(%flat, w, b)        : f32[batch,3]
  %loss = cross_entropy(%logits, labels) : f32[]
  return %loss, %logits
}
)";

/// Pictures of three classes by their colour, 7 of each, in FOLDER/CLASS.
void write_pictures(const std::string& folder) {
  const std::pair<const char*, std::vector<std::uint8_t>> classes[] = {
      {"cat", {220, 30, 30}}, {"dog", {30, 220, 30}}, {"eel", {30, 30, 220}}};
  for (const auto& [name, colour] : classes) {
    io::make_folder(folder + "/" + name);
    for (int i = 0; i < 7; ++i) {
      std::vector<std::uint8_t> pixels = filled(25, colour);
      for (std::size_t k = 0; k < pixels.size(); k += 3)
        pixels[k] += static_cast<std::uint8_t>(5 * i);
      io::write_file(str(folder, "/", name, "/", i, ".png"),
                     {test::png_bytes(5, 5, PNG_FORMAT_RGB, pixels)});
    }
  }
}

class Trained3 : public ::testing::Test {
 protected:
  Trained3() {
    io::write_file(folder / "net.plait", {kNet});
    write_pictures(folder / "pets");
    runs.emplace(std::vector<std::string>{"model.file=" + folder / "net.plait", "data.kind=images",
                                          "data.path=" + folder / "pets", "valid_fraction=0.2",
                                          "lr=0.05"});
    runs->run("run");
    run = runs->path("run");
  }
  Evaluated evaluated(std::vector<std::string> arguments = {}) {
    return evaluate_run({.source = run, .arguments = std::move(arguments)});
  }
  std::vector<Prediction> predicted(PredictRequest request) {
    std::vector<Prediction> out;
    predict(request, [&](const Prediction& p) { out.push_back(p); });
    return out;
  }
  test::TemporaryFolder folder;
  std::optional<SmallRuns> runs;
  std::string run;
};

TEST_F(Trained3, IsEvaluatedOnWhatItKeptForThat) {
  const Evaluated e = evaluated();
  EXPECT_EQ(e.samples, 4);
  EXPECT_EQ(e.left_out, 0);
  EXPECT_EQ(e.step, 20);
  EXPECT_EQ(e.parameters, 147);
  EXPECT_EQ(e.result.accuracy, 1.0);
  EXPECT_EQ(e.result.perplexity, std::nullopt);
  EXPECT_NE(e.data.find("every 5th sample: 4 (kept for evaluation)"), std::string::npos) << e.data;
}

TEST_F(Trained3, EverySampleCountsOnceWhateverTheBatch) {
  const std::string all = "data.path=" + folder / "pets/.";  // named: all of it
  const double loss = evaluated({all, "batch=21"}).result.loss;
  for (const char* batch : {"batch=1", "batch=4", "batch=8", "batch=30"}) {
    const Evaluated e = evaluated({all, batch});
    EXPECT_EQ(e.samples, 21) << batch;
    EXPECT_NEAR(e.result.loss, loss, 1e-6) << batch;
  }
  const Evaluated some = evaluate_run({.source = run, .arguments = {all}, .batches = 2});
  EXPECT_EQ(some.samples, 8);
  EXPECT_EQ(some.left_out, 13);
}

TEST_F(Trained3, OtherDataMustHaveTheSameClasses) {
  const std::string other = folder / "other";
  for (const char* name : {"cat", "cow"}) {
    std::filesystem::create_directories(other + "/" + name);
    std::filesystem::copy(folder / "pets/cat/1.png", other + "/" + name + "/1.png");
  }
  EXPECT_EQ(message_of([&] { evaluated({"data.path=" + other}); }),
            other +
                ": its classes (cat, cow) are not those that the model was trained on (cat, dog, "
                "eel)");
}

TEST_F(Trained3, AConfigIsEvaluatedWithWeightsOrWithout) {
  const std::string config = run + "/config.toml", weights = evaluated().weights;
  const Evaluated first = evaluate_run({.source = config});
  EXPECT_EQ(first.weights, "initial values, not trained");
  EXPECT_EQ(first.step, std::nullopt);
  const Evaluated given =
      evaluate_run({.source = config, .weights = weights + "/weights.safetensors"});
  EXPECT_EQ(given.result.loss, evaluated().result.loss);
  EXPECT_LT(given.result.loss, first.result.loss);
}

TEST_F(Trained3, PredictsClassesByName) {
  const TrainedRun trained = load_run(run);
  const auto all = predicted({trained, folder / "pets", 2});
  ASSERT_EQ(all.size(), 21u);
  const char* names[] = {"cat", "dog", "eel"};
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string expected = names[i / 7];
    EXPECT_EQ(all[i].input, folder / ("pets/" + expected + "/" + std::to_string(i % 7) + ".png"));
    ASSERT_EQ(all[i].top.size(), 2u);
    EXPECT_EQ(all[i].top[0].name, expected);
    EXPECT_GT(all[i].top[0].probability, 0.5);
    EXPECT_TRUE(all[i].results.empty());
  }
  const auto one = predicted({trained, folder / "pets/dog/3.png", 5, true});
  ASSERT_EQ(one.size(), 1u);
  ASSERT_EQ(one[0].top.size(), 3u);
  double sum = 0;
  for (const ClassScore& score : one[0].top) sum += score.probability;
  EXPECT_NEAR(sum, 1, 1e-9);
  EXPECT_NEAR(one[0].top[0].probability, all[10].top[0].probability, 1e-6);
  EXPECT_EQ(type_text(one[0].results.at("logits")), "f32[3]");
}

TEST_F(Trained3, PredictsForArrays) {
  Array x(DType::f64, {5, 3, 4, 4});
  for (std::int64_t i = 0; i < x.count(); ++i) x.set(i, i % 48 < 16 ? 2 : -2);
  io::write_npy(folder / "x.npy", x);
  const auto all = predicted({load_run(run), folder / "x.npy"});
  ASSERT_EQ(all.size(), 5u);
  EXPECT_EQ(all[4].input, folder / "x.npy[4]");
  EXPECT_EQ(all[4].top[0].name, "cat");
  io::write_npy(folder / "y.npy", Array(DType::f32, {4, 4}));
  EXPECT_EQ(message_of([&] {
              predicted({load_run(run), folder / "y.npy"});
            }),
            folder / "y.npy" +
                ": f32[4,4]; the model wants x f32[3,4,4], or several of them along a "
                "first axis");
}

TEST(EvaluateRun, OfATextKnowsItsPerplexityAndItsCharacters) {
  SmallRuns runs({"unit=char"});
  runs.run("run");
  const std::string run = runs.path("run");
  const Evaluated e = evaluate_run({.source = run});
  EXPECT_EQ(e.result.perplexity, std::exp(e.result.loss));
  EXPECT_EQ(e.tokens, e.samples * 8);
  io::write_file(run + "/other.txt", {"line 12;\nline 34;\nline 56;\nline 78;\n"});
  EXPECT_EQ(evaluate_run({.source = run, .arguments = {"data.path=" + run + "/other.txt"}}).samples,
            3);
  EXPECT_EQ(message_of([&] { evaluate_run({.source = "/nowhere"}); }),
            "cannot open /nowhere: No such file or directory");
}

TEST(EvaluateRun, AFixedBatchLeavesOutWhatDoesNotFillOne) {
  const test::TemporaryFolder folder;
  const std::string fixed =
      "graph net(x: f32[4,2], t: f32[4,2]) state(w: f32[2,2] = xavier) {\n"
      "  %y = linear(x, w) : f32[4,2]\n  %d = sub(%y, t) : f32[4,2]\n"
      "  %q = square(%d) : f32[4,2]\n  %loss = mean(%q) : f32[]\n"
      "  return %loss, %y\n}\n";
  io::write_file(folder / "net.plait", {fixed});
  SmallRuns runs({"model.file=" + folder / "net.plait", "data.kind=synthetic", "samples=40"});
  runs.run("run");
  const Evaluated e =
      evaluate_run({.source = runs.path("run"),
                    .arguments = {"samples=22", "valid_fraction=0", "eval.every=0"}});
  EXPECT_EQ(e.samples, 20);
  EXPECT_EQ(e.left_out, 2);
  EXPECT_EQ(e.data, "synthetic, 22 samples, seed 3 (trained on)");
  EXPECT_EQ(message_of([&] {
              predict({load_run(runs.path("run")), "x.npy"}, [](const auto&) {});
            }),
            "net has no classes: say where its results go (--out DIR)");
}

}  // namespace
}  // namespace plait::train
