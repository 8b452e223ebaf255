// One small case per message.
#include "tests/io/megengine/samples.h"

namespace plait::io::megengine {
namespace {

/// What reading a sample says after one change of its text.
std::string after(const std::string& name, const std::string& from, const std::string& to) {
  std::string text = sample_text(name);
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  if (at == std::string::npos) return "";
  text.replace(at, from.size(), to);
  return test::message_of([&] { to_graphs(read(text, "f")); });
}

std::string of_text(const std::string& text) {
  return test::message_of([&] { read(text, "f"); });
}

TEST(Errors, Syntax) {
  EXPECT_EQ(of_text(""),
            "f:1:1: not JSON: unexpected end of input; expected '[', '{', or a literal"
            ". Was the document cut off?");
  EXPECT_EQ(of_text("{\"profiler\": {},\n \"graph_exec\" {}}"),
            "f:2:15: not JSON: unexpected '{'; expected ':'");
  EXPECT_EQ(of_text("{\"a\": 1e999}"), "f:1:11: not JSON: number overflow parsing '1e999'");
  EXPECT_EQ(of_text("{\"a\": NaN}"), "f:1:7: not JSON: invalid literal");
  EXPECT_EQ(of_text("{\"graph_exec\": \"\xff\"}"),
            "f:1:17: not JSON: invalid string: ill-formed "
            "UTF-8 byte");
  EXPECT_EQ(of_text(sample_text("relu") + std::string("\0 rubbish", 9)).substr(0, 40),
            "f:12:1: not JSON: a NUL byte");
}

TEST(Errors, LimitsOfTheTree) {
  EXPECT_EQ(of_text("{\"a\": {\"b\": 1, \"c\": 2, \"b\": 3}}"),
            "f: a: the key \"b\" comes twice; a key may stand once in an object");
  EXPECT_EQ(of_text("{\"a\": 18446744073709551615}"),
            "f: a: the number 18446744073709551615 does not fit in 64 bits");
  std::string deep = "{\"a\": ";
  for (int i = 0; i < 100000; ++i) deep += '[';
  const std::string message = of_text(deep);
  EXPECT_TRUE(message.ends_with("nested more than 64 deep")) << message;
}

TEST(Errors, Kinds) {
  EXPECT_EQ(of_text("[]"), "f: expected an object, is a list of 0");
  EXPECT_EQ(of_text("{\"profiler\": {}}"),
            "f: has no \"graph_exec\". Was it cut out of the document?");
  EXPECT_EQ(after("relu", "\"input\": [ \"1\"]", "\"input\": [ 1]"),
            "f: graph_exec.operator.2.input[0]: expected a text, is the number 1");
  EXPECT_EQ(after("relu", "\"input\": [ \"1\"]", "\"input\": [ \"x1\"]"),
            "f: graph_exec.operator.2.input[0]: expected an id (digits in quotes), is the text "
            "\"x1\"");
  EXPECT_EQ(after("relu", "\"memory\": 32", "\"memory\": -32"),
            "f: profiler.opr_footprint.2.memory: is -32, must not be negative");
  EXPECT_EQ(after("relu", "\"memory\": 32", "\"memory\": 3.5"),
            "f: profiler.opr_footprint.2.memory: expected a whole number, is the number 3.5");
  EXPECT_EQ(after("relu", "\"memory\": 32", "\"memory\": 9000000000000000000"),
            "f: profiler.opr_footprint.2.memory: is 9000000000000000000, more than the "
            "4398046511104 that can be");
  EXPECT_EQ(after("relu", "\"param\": { \"mode\": \"RELU\"}", "\"param\": 1"),
            "f: profiler.opr_footprint.2.param: expected an object or a list, is the number 1");
  EXPECT_EQ(after("relu", "\"mode\": \"RELU\"", "\"mode\": 5"),
            "f: profiler.opr_footprint.2.param.mode: expected a text, is the number 5");
  EXPECT_EQ(after("relu", "\"type\": \"Elemwise\"", "\"type\": \"\""),
            "f: graph_exec.operator.2.type: is empty; expected the operator's type");
}

TEST(Errors, Sizes) {
  EXPECT_EQ(after("relu", "[ [ 4]], \"in_shapes\"", "[ [ -4]], \"in_shapes\""),
            "f: profiler.opr_footprint.2.out_shapes[0]: size -4 is negative");
  EXPECT_EQ(after("relu", "[ [ 4]], \"in_shapes\"", "[ [ 4000000, 4000000]], \"in_shapes\""),
            "f: profiler.opr_footprint.2.out_shapes[0]: sizes [4000000,4000000] are more elements "
            "than any device holds");
  EXPECT_EQ(after("relu", "[ [ 4]], \"in_shapes\"",
                  "[ [ 1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]], \"in_shapes\""),
            "f: profiler.opr_footprint.2.out_shapes[0]: has 17 sizes, more than 16");
  EXPECT_EQ(
      after("relu", "\"static_infer_tags\": { }, \"id\": \"3\"",
            "\"static_infer_tags\": { \"SHAPE\": { \"deps\": [], \"inferred_result\": [ -1], "
            "\"infer_type\": \"CONST\", \"node_type\": \"static_infer_tag\"}}, \"id\": \"3\""),
      "f: graph_exec.var.3.static_infer_tags.SHAPE.inferred_result: size -1 is negative");
}

TEST(Errors, Times) {
  EXPECT_EQ(after("relu", "\"end\": 0.0009", "\"end\": 0.0001"),
            "f: profiler.device.2.gpu0:0: expected start <= kern <= end, is 4e-04, 5e-04, 1e-04");
  EXPECT_EQ(after("relu", "\"end\": 0.0009", "\"end\": 1e300"),
            "f: profiler.device.2.gpu0:0.end: is 1e+300 seconds; expected no more than 1e9");
  EXPECT_EQ(after("relu", "\"kern\": 2e-6", "\"kern\": null"),
            "f: profiler.host.2.main.kern: expected a number, is null");
  EXPECT_EQ(after("relu", "\"host\": { \"2\"", "\"host\": { \"77\""),
            "f: profiler.host.77: there is no operator 77");
  EXPECT_EQ(after("relu", "\"host\": { \"2\"", "\"host\": { \"two\""),
            "f: profiler.host: the key \"two\" is no id; expected digits");
}

TEST(Errors, Ids) {
  EXPECT_EQ(after("relu", "\"input\": [ \"1\"]", "\"input\": [ \"9\"]"),
            "f: graph_exec.operator.2.input[0]: there is no var 9");
  EXPECT_EQ(after("relu", "\"input\": [ \"1\"]", "\"input\": [ \"0\"]"),
            "f: graph_exec.operator.2.input[0]: there is no var 0; it is an operator");
  EXPECT_EQ(after("relu", "\"output\": [ \"3\"]", "\"output\": [ \"1\"]"),
            "f: graph_exec.operator.2.output[0]: var 1 is an output of operator 0 already; one "
            "operator makes a var");
  EXPECT_EQ(after("relu", "\"output\": [ \"3\"]", "\"output\": []"),
            "f: graph_exec.var.3: is an output of no operator; was the operator cut out?");
  EXPECT_EQ(after("relu", "\"id\": \"3\"", "\"id\": \"5\""),
            "f: graph_exec.var.3.id: is \"5\" under the key \"3\"; expected the same id");
  EXPECT_EQ(after("relu", "\"id\": \"3\", \"node_type\": \"var\"",
                  "\"id\": \"3\", "
                  "\"node_type\": \"operator\""),
            "f: graph_exec.var.3.node_type: expected \"var\", is \"operator\"");
  std::string both = sample_text("relu");
  for (const char* part : {"\"4\": {", "\"id\": \"4\"", "\"2\", \"4\"]"}) {
    std::string changed = part;
    changed.replace(changed.find('4'), 1, "3");
    both.replace(both.find(part), std::string(part).size(), changed);
  }
  EXPECT_EQ(of_text(both),
            "f: graph_exec.operator.3: the id 3 is a var's too; ids of operators and "
            "vars are one space");
}

TEST(Errors, Sequence) {
  const std::string seq = "\"comp_seq\": [ \"0\", \"2\", \"4\"]";
  EXPECT_EQ(after("relu", seq, "\"comp_seq\": []"),
            "f: graph_exec.comp_seq: is empty; expected the operators that ran, in order");
  EXPECT_EQ(after("relu", seq, "\"comp_seq\": [ \"0\", \"2\", \"2\"]"),
            "f: graph_exec.comp_seq[2]: operator 2 stands at comp_seq[1] already; an operator is "
            "launched once");
  EXPECT_EQ(after("relu", seq, "\"comp_seq\": [ \"0\", \"2\", \"5\"]"),
            "f: graph_exec.comp_seq[2]: there is no operator 5");
  EXPECT_EQ(after("relu", seq, "\"comp_seq\": [ \"0\", \"3\", \"4\"]"),
            "f: graph_exec.comp_seq[1]: there is no operator 3; it is a var");
  EXPECT_EQ(after("relu", seq, "\"comp_seq\": [ \"0\", \"4\", \"2\"]"),
            "f: graph_exec.comp_seq[1]: operator 4 reads var 3, which operator 2 makes at "
            "comp_seq[2]; expected it before its reader");
}

TEST(Errors, Memory) {
  EXPECT_EQ(after("step", "\"mem_chunk_id\": \"chk3\"", "\"mem_chunk_id\": \"chk99\""),
            "f: graph_exec.var.3.mem_plan: there is no chunk \"chk99\"");
  EXPECT_EQ(
      after("step", "\"stride\": [3, 1], \"shape\": [4, 3]", "\"stride\": [3], \"shape\": [4, 3]"),
      "f: graph_exec.var.3.mem_plan.layout.stride: has 1 strides for 2 sizes");
  EXPECT_EQ(
      after("step", "\"stride\": [3, 1], \"shape\": [4, 3]",
            "\"stride\": [30, 1], \"shape\": [4, 3]"),
      "f: graph_exec.var.3.mem_plan: Float32[4,3] at byte 0 does not lie in the chunk chk3 of "
      "48 bytes");
  EXPECT_EQ(
      after("step",
            "\"offset_byte\": 0, \"layout\": {\"dtype\": \"Float32\", \"stride\": [3, 1], "
            "\"shape\": [4",
            "\"offset_byte\": 40, \"layout\": {\"dtype\": \"Float32\", \"stride\": [-3, -1], "
            "\"shape\": [4"),
      "f: graph_exec.var.3.mem_plan: Float32[4,3] at byte 40 does not lie in the chunk chk3 of "
      "48 bytes");
  EXPECT_EQ(after("step", "\"owner_var\": \"3\"", "\"owner_var\": \"999\""),
            "f: graph_exec.mem_chunk.chk3.owner_var: there is no var 999");
  EXPECT_EQ(after("step", "\"force_update_src\": \"3\"", "\"force_update_src\": \"333\""),
            "f: graph_exec.var.14.force_update_src: there is no var 333");
  EXPECT_EQ(
      after("relu", "\"prev_dev_ptr\": 0", "\"prev_dev_ptr_end\": 5, \"prev_dev_ptr\": 8"),
      "f: graph_exec.var.1.prev_dev_ptr_end: is 5 for the start 8; expected an end at or after "
      "it, no more than 4398046511104 bytes away");
}

TEST(Errors, WhatTheGraphNeeds) {
  EXPECT_EQ(after("relu", "\"in_shapes\": [ [ 4]]", "\"in_shapes\": []"),
            "f: operator 0 (Host2DeviceCopy): the shape of var 1 is recorded nowhere");
  EXPECT_EQ(
      after("step", "\"6\", \"9\", \"11\"", "\"6\", \"11\""),
      "f: operator 11 (Elemwise): var 10 has no value here: operator 9 (MatrixMul) makes it on "
      "the host");
}

TEST(Errors, EveryCutEndsInOneClearMessage) {
  const std::string text = sample_text("relu");
  for (std::size_t cut = 0; cut + 2 < text.size(); ++cut) {
    const std::string message = of_text(text.substr(0, cut));
    EXPECT_TRUE(message.starts_with("f:")) << message;
    EXPECT_LT(message.size(), 300u);
  }
}

}  // namespace
}  // namespace plait::io::megengine
