// What files and configs say, and a program must not follow: depths, numbers, wrong types.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "io/file.h"
#include "tests/cli/mistakes.h"

namespace plait::test {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kDeep = 200'000;

TEST_F(Mistakes, DeepFiles) {
  const std::string deep = nested(kDeep);
  write("list.safetensors", {safetensors("{\"a\":" + deep + "}")});
  write("dtype.safetensors",
        {safetensors("{\"a\":{\"dtype\":" + deep + ",\"shape\":[],\"data_offsets\":[0,0]}}")});
  write("size", {"graph g(x: f32[", std::string(kDeep, '('), "2", std::string(kDeep, ')'),
                 "]) {\n  return x\n}\n"});
  write("profile", {"{\"profiler\": ", deep, "}"});
  write("tensors", {"Tensors: {\n", deep});
  write("values.toml", {"v = ", deep});
  std::string key = "[a";
  for (std::size_t i = 0; i < kDeep; ++i) key += ".a";
  write("keys.toml", {key, "]"});
  expect({
      {"show list.safetensors", 1, "list.safetensors: its header is nested more than 32 deep"},
      {"show dtype.safetensors --json", 1, "its header is nested more than 32 deep"},
      {"run model:mlp --weights dtype.safetensors", 1, "its header is nested more than 32 deep"},
      {"show size", 1, "a size expression is nested more than 64 deep"},
      {"report profile", 1, "nested more than 64 deep"},
      {"stats tensors", 1, "values are nested deeper than 64"},
      {"train values.toml", 1, "values.toml: line 1, column 261"},
      {"train keys.toml", 1, "keys.toml: line 1: a key of more than 100 parts"},
  });
}

TEST_F(Mistakes, FilesOfARun) {
  train("run", kSmallMlp);
  copy("run", "deep");
  write("metrics", {"{\"step\":1,\"loss\":", nested(kDeep), "}\n"});
  fs::copy_file(folder / "metrics", folder / "deep/metrics.jsonl",
                fs::copy_options::overwrite_existing);
  copy("run", "typed");
  write("typed/train.plan.json", {R"({"hash": 5, "build": "x"})"});
  expect({
      {"train --curves deep -o o.svg", 0, ""},
      {"train --resume deep steps=5", 0, ""},
      {"train --resume typed steps=5", 0, ""},
  });
  copy("run", "unread");
  fs::remove(folder / "unread/metrics.jsonl");
  write("unread/metrics.jsonl", {"x\n"});
  copy("run", "taken");
  write("absurd.safetensors", {std::string(16, '\xff')});
  write("lists.safetensors", {safetensors(nested(9))});
  fs::create_symlink("elsewhere", folder / "taken/checkpoints/step-00000005");
  expect({
      {"train --curves unread -o o.svg", 0, "unread/metrics.jsonl has no readable line"},
      {"train --resume taken steps=5", 1,
       "taken/checkpoints/step-00000005: something is there that this run has not written. Move it "
       "away."},
      {"show absurd.safetensors", 1, "not a safetensors file: its header would have"},
      {"show lists.safetensors", 1, "its header does not start with '{'"},
      {"train preset:mlp model.init_from=a 'model.init_strip=[\"\"]'", 1,
       "model.init_strip has an empty prefix"},
  });
  for (const char* name : {"config.toml", "metrics.jsonl", "train.plan.json"}) {
    const std::string of = std::string("fifo-") + name, path = folder / (of + "/" + name);
    copy("run", of);
    fs::remove(path);
    ASSERT_EQ(::mkfifo(path.c_str(), 0666), 0);
    const bool kept = std::string(name) == "train.plan.json";  // planned anew, and written
    expect(
        {{"train --resume " + of + " steps=5", kept ? 0 : 1, kept ? "" : "is a FIFO, not a file"}});
  }
}

/// Names that only runs on other data use.
TEST_F(Mistakes, FilesOfTheUserInARun) {
  train("run", kSmallMlp);
  for (const char* name : {"vocab.json", "text.txt", "classes.json", "model.plait"}) {
    write(std::string("run/") + name, {"mine"});
  }
  expect({
      {"train --resume run steps=5", 0, ""},
      {"eval run", 0, ""},
      {"predict run --input x.npy", 1, "mlp"},
  });
  EXPECT_EQ(io::read_file(folder / "run/vocab.json"), "mine");
}

TEST_F(Mistakes, FilesOfAModelOfText) {
  train("text", kSmallText);
  const auto with_vocabulary = [&](const std::string& text) { write("text/vocab.json", {text}); };
  with_vocabulary("{\"unit\": " + nested(kDeep) + "}");
  expect({{"generate text", 1, "text/vocab.json is nested more than 32 deep"}});
  with_vocabulary("{\"unit\": 5}");
  expect({{"generate text", 1, "text/vocab.json has as \"unit\" 5, not a text"}});
  with_vocabulary("[1,");
  expect({{"generate text --json", 1, "text/vocab.json is no JSON from byte 4 on"}});
  fs::remove(folder / "text/vocab.json");
  ASSERT_EQ(::mkfifo((folder / "text/vocab.json").c_str(), 0666), 0);
  expect({{"generate text", 1, "text/vocab.json is a FIFO, not a file"}});
}

TEST_F(Mistakes, NumbersThatNobodyMeans) {
  const auto mlp = [](const std::string& words) {
    return "train preset:mlp output.folder=o steps=2 " + words;
  };
  expect({
      {mlp("samples=9223372036854775807"), 1, "data.samples must be a whole number, at least 1"},
      {"train preset:mlp epochs=9223372036854775807", 1, "train.epochs must be"},
      {"train preset:mlp steps=0 epochs=1099511627776 output.folder=o", 1, "samples in all"},
      {mlp("checkpoint.keep=4294967296"), 1, "checkpoint.keep must be"},
      {mlp("schedule.warmup_steps=9223372036854775807"), 1, "schedule.warmup_steps must be"},
      {mlp("batch=1073741825"), 1, "train.batch must be"},
      {mlp("width=1073741824 dtype=f32"), 1, "; this machine has "},
      {mlp("prefetch=1025"), 1, "data.prefetch must be"},
      {mlp("clip=nan"), 1, "train.clip must be"},
      {"run 'model:mlp?batch=9223372036854775807'", 1, "batch must be from 1 to 1073741824"},
      {"stats 'model:rwkv4?layers=1000000000'", 1, "layers must be from 1 to 10000"},
      {"bench g --seconds nan", 2, "--seconds must be more than 0, is nan"},
      {"bench g --seconds inf --json", 2, "--seconds must be more than 0"},
      {"bench g --row 5000000000", 2, "--row must be at most 65536, is 5000000000"},
      {"profile g --runs 0", 2, "--runs must be at least 1, is 0"},
      {"run g --seed -1", 2, "--seed must be at least 0, is -1"},
      {"profile g --seed -1", 2, "--seed must be at least 0, is -1"},
      {"run g --steps -1", 2, "--steps must be at least 1, is -1"},
      {"run g --steps 99999999999999999999", 2, "--steps must be a whole number"},
      {"run g --against g --within nan", 2, "--within must be 0 or above, is nan"},
      {"run g --within 1", 2, "--within needs --against"},
  });
}

}  // namespace
}  // namespace plait::test
