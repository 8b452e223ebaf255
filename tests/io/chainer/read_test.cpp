// Reading: every sample comes back byte for byte, and every mistake has its message.
#include "tests/io/chainer/steps.h"
#include "tests/raises.h"

namespace plait {
namespace {

using io::chainer::Record;
using io::chainer::Tag;

TEST(ChainerRead, WritesBackWhatItRead) {
  for (const char* name : test::kSamples) {
    const std::string text = test::sample(name);
    EXPECT_TRUE(io::chainer::detects(text)) << name;
    const Record record = io::chainer::read(text, name);
    EXPECT_EQ(io::chainer::write(record), text) << name;
    EXPECT_TRUE(io::chainer::read(io::chainer::write(record), name) == record) << name;
  }
}

TEST(ChainerRead, KeepsEverything) {
  const Record r = test::record_of("mlp");
  ASSERT_EQ(r.operations.size(), 8u);
  for (const auto& op : r.operations) {
    if (op.function != "Sigmoid" || !op.backward) continue;
    ASSERT_EQ(op.inputs.size(), 2u);
    EXPECT_EQ(op.inputs[0].tag, Tag::kGradient);
    EXPECT_EQ(op.inputs[1].tag, Tag::kOutput);
    EXPECT_FALSE(op.retained_inputs.has_value());
    EXPECT_EQ(op.retained_outputs, std::vector<std::int64_t>{0});
    EXPECT_EQ(op.rank, 1);
    EXPECT_EQ(op.attributes.front().name, "_input_indexes_to_retain");
  }
  const auto json = io::chainer::parse_members(
      R"({"a": [1, 2.5, null, "x"], "b": {"c": true}, "d": 99999999999999999999})");
  EXPECT_EQ(json.size(), 3u);
}

TEST(ChainerRead, JsonIsWrittenAsPythonDoes) {
  const std::string text = R"({"a": [1, 2.5, null, "x"], "b": {"c": true}, "e": "\u00e9"})";
  EXPECT_EQ(io::chainer::json_text(io::chainer::parse_members(text)), text);
}

TEST(ChainerRead, DetectsNothingElse) {
  for (const char* text :
       {"", "\n", "graph x", "=== IRGraph: x ===", "{\"profiler\": {}}", "1 2 3\n", "86\n",
        "01 2\n", "-1 2\n", "2 2\nhello\n", "2 2\n0 4\n", "Tensors: {", "1.5 2\n", "a b\n"}) {
    EXPECT_FALSE(io::chainer::detects(text)) << text;
  }
  EXPECT_TRUE(io::chainer::detects("86 92\n0 128"));  // cut off: reading says so
  EXPECT_TRUE(io::chainer::detects("0 0\n"));
}

std::string error(const std::string& text) {
  return test::message_of([&] { io::chainer::read(text, "f"); });
}

const std::string kRelu = "forward\n1 1\n0 _\n1\nReLU\n{\"rank\": 0}\n";
const std::string kTwo = "0 8 0\n1 8 _\n";

TEST(ChainerRead, MistakesAtTheTop) {
  EXPECT_EQ(error(""),
            "f:0: the text ends here, expected the counts `VARIABLES OPERATIONS` in the next line. "
            "Was it cut off?");
  EXPECT_EQ(error("2 1"),
            "f:1: the line does not end with a newline, expected the counts `VARIABLES "
            "OPERATIONS`. Was the text cut off?");
  EXPECT_EQ(error("2\n"), "f:1: found `2`, expected the counts `VARIABLES OPERATIONS`");
  EXPECT_EQ(error("2 -1\n"), "f:1: found `2 -1`, expected the counts `VARIABLES OPERATIONS`");
  EXPECT_EQ(error("999999999 1\n"),
            "f:1: found `999999999 1`, more than the 1,000,000 items that are read");
  EXPECT_EQ(error("600000 600000\n"),
            "f:1: counts 600,000 variables and 600,000 operations, more than the 1,000,000 that "
            "are read");
  EXPECT_EQ(error("2 1\r\n"),
            "f:1: the line ends with a carriage return. Write it with newlines alone");
}

TEST(ChainerRead, MistakesInVariables) {
  EXPECT_EQ(error("2 1\n0 8 0\n"),
            "f:2: the text ends here, expected variable 2 of 2, `id bytes name` in the next line. "
            "Was it cut off?");
  EXPECT_EQ(error("1 0\nx 8 0\n"), "f:2: found `x 8 0`, expected variable 1 of 1, `id bytes name`");
  EXPECT_EQ(error("1 0\n0 8\n"), "f:2: found `0 8`, expected variable 1 of 1, `id bytes name`");
  EXPECT_EQ(error("1 0\n0 08 a\n"),
            "f:2: found `0 08 a`, expected variable 1 of 1, `id bytes name`");
  EXPECT_EQ(error("1 0\n0 8 a b\n"),
            "f:2: found `0 8 a b`, expected variable 1 of 1, `id bytes name`");
  EXPECT_EQ(error("1 0\n0 -8 a\n"), "f:2: variable 0 has `-8` bytes, a negative size");
  EXPECT_EQ(error("1 0\n0 9999999999999 a\n"),
            "f:2: variable 0 has 9,999,999,999,999 bytes, more than 2^40 for one variable");
  EXPECT_EQ(error("2 0\n0 8 a\n0 8 b\n"), "f:3: variable 0 is declared again; it is in line 2");
  EXPECT_EQ(error("2 0\n0 8 a\n1 8 a\n"), "f:3: the name `a` belongs to another variable too");
}

TEST(ChainerRead, MistakesInOperations) {
  const auto op = [](const std::string& text) { return error("2 1\n" + kTwo + text); };
  EXPECT_EQ(op("onward\n"),
            "f:4: found `onward`, expected operation 1 of 1, `forward` or `backward`");
  EXPECT_EQ(op("forward\n1\n"),
            "f:5: found `1`, expected the counts `INPUTS OUTPUTS` of an operation");
  EXPECT_EQ(op("forward\n1 0\n"), "f:5: a forward operation makes nothing");
  EXPECT_EQ(op("forward\n1 1\n7 _\n"), "f:6: no variable has the id 7; 2 are declared at the top");
  EXPECT_EQ(op("forward\n1 1\n0 gradient\n"),
            "f:6: found `0 gradient`, expected input 1 of 1, `id _`");
  EXPECT_EQ(op("backward\n1 1\n0 _\n"),
            "f:6: found `0 _`, expected input 1 of 1, `id gradient`, `id input` or `id output`");
  EXPECT_EQ(op("forward\n1 1\n0 _\nReLU\n"), "f:7: found `ReLU`, expected output 1 of 1, `id`");
  EXPECT_EQ(op("forward\n1 1\n0 _\n1\n\n"), "f:8: found ``, expected the name of a function");
  EXPECT_EQ(op("forward\n1 1\n0 _\n1\nReLU\n"),
            "f:8: the text ends here, expected the attributes of `ReLU`, a JSON object in the next "
            "line. Was it cut off?");
  EXPECT_EQ(op(kRelu + "more\n"),
            "f:10: found `more` behind the last of 1 operations. Is the count in line 1 right?");
}

TEST(ChainerRead, MistakesInAttributes) {
  const auto attributes = [](const std::string& json) {
    return error("2 1\n" + kTwo + "forward\n1 1\n0 _\n1\nReLU\n" + json + "\n");
  };
  EXPECT_EQ(attributes("{\"a\": }"),
            "f:9: the attributes of `ReLU` are wrong: `{\"a\": }` is no JSON from byte 7 on");
  EXPECT_EQ(attributes("{\"a\": 1e999}"),
            "f:9: the attributes of `ReLU` are wrong: `{\"a\": 1e999}` holds a number that does "
            "not fit");
  EXPECT_EQ(attributes("[1]"), "f:9: the attributes of `ReLU` are wrong: `[1]` is no JSON object");
  EXPECT_EQ(attributes(std::string(100, '[')),
            "f:9: the attributes of `ReLU` are wrong: `[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["
            "...` is nested more than 32 deep");
  EXPECT_EQ(attributes("{\"a\": 1, \"a\": 2}"),
            "f:9: the attributes of `ReLU` are wrong: `{\"a\": 1, \"a\": 2}` has \"a\" twice");
  EXPECT_EQ(io::chainer::parse_members(R"({"a": [{"b": 1}, {"b": 2}], "b": 3})").size(), 2u);
  EXPECT_EQ(attributes("{\"rank\": -1}"), "f:9: rank is `-1`, expected a depth from 0 on");
  EXPECT_EQ(attributes("{\"rank\": \"x\"}"), "f:9: rank is `\"x\"`, expected a depth from 0 on");
  EXPECT_EQ(attributes("{\"_input_indexes_to_retain\": [1]}"),
            "f:9: _input_indexes_to_retain is `[1]`, expected null or a list of positions below 1");
  EXPECT_EQ(attributes("{\"_output_indexes_to_retain\": 0}"),
            "f:9: _output_indexes_to_retain is `0`, expected null or a list of positions below 1");
}

TEST(ChainerRead, MistakesInWhatHangsTogether) {
  EXPECT_EQ(error("2 2\n" + kTwo + kRelu + kRelu),
            "f:10: ReLU makes variable 1, which the forward of line 4 makes too. A variable has "
            "one maker");
  EXPECT_EQ(error("2 1\n" + kTwo + "forward\n1 1\n1 _\n1\nReLU\n{}\n"),
            "f:4: ReLU waits for what it makes itself: its inputs hang together in a circle");
  const std::string back = "backward\n1 1\n1 gradient\n0\nReLU\n{}\n";
  EXPECT_EQ(error("2 3\n" + kTwo + kRelu + back + back),
            "f:16: ReLU is a second backward of the forward of line 4; the first is in line 10");
}

}  // namespace
}  // namespace plait
