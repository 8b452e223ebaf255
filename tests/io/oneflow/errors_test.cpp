// One small case per message of the reader.
#include <gtest/gtest.h>

#include "tests/io/oneflow/sample.h"
#include "tests/raises.h"

namespace plait::io::oneflow {
namespace {

std::string message(const std::string& text) {
  return test::message_of([&] { record_of(text); });
}

/// The message that the classifier's log gives with one change.
std::string changed(const std::string& from, const std::string& to) {
  return message(replaced(sample_text("classifier.log"), from, to));
}

/// The same for the tree.
std::string tree(const std::string& from, const std::string& to) {
  return message(replaced(sample_text("tree.txt"), from, to));
}

TEST(OneflowErrors, NoGraph) {
  const std::string hint =
      "the log ends without an op: neither op confs nor a tree of operators. Was the graph's debug "
      "level (graph.debug) below 2?";
  EXPECT_EQ(message(""), "log:0: " + hint);
  EXPECT_EQ(message("[01/05 10:00:00 libai]: hello\n"), "log:1: " + hint);
}

TEST(OneflowErrors, OpConfs) {
  EXPECT_EQ(changed("device_tag: \"cpu\"", "device_tag \"cpu\""),
            "log:22: field device_tag has no value. Is the log cut off?");
  EXPECT_EQ(changed("device_tag: \"cpu\"", "device_tag: cpu"),
            "log:22: op _Tiny_0_input.1.0_x: device_tag must be a string in quotes");
  EXPECT_EQ(changed("device_tag: \"cpu\"", "device_tag: \"cpu"),
            "log:22: a string without its closing quote");
  EXPECT_EQ(changed("device_tag: \"cpu\"", "device_tag: \"c\"u\""),
            "log:22: a quote inside a string. Write \\\"");
  EXPECT_EQ(
      changed("device_tag: \"cpu\"", "(device_tag)"),
      "log:22: expected a field of an op conf, `key: value` or `key {`, found \"(device_tag)\"");
  EXPECT_EQ(changed("device_tag: \"cpu\"\n", ""),
            "log:21: op _Tiny_0_input.1.0_x: the conf has no device_tag");
  EXPECT_EQ(changed("device_tag: \"cpu\"\n", "}\n"), "log:22: a '}' that closes nothing");
  EXPECT_EQ(changed("scope_symbol_id: 5", "scope_symbol_id: five"),
            "log:23: op _Tiny_0_input.1.0_x: scope_symbol_id must be a whole number, not \"five\"");
  EXPECT_EQ(changed("scope_symbol_id: 5", "scope_symbol_id: 5\nscope_symbol_id: 6"),
            "log:24: op _Tiny_0_input.1.0_x: scope_symbol_id stands twice");
  EXPECT_EQ(changed("  out: \"out\"\n", ""),
            "log:24: op _Tiny_0_input.1.0_x: input_conf has no out");
  EXPECT_EQ(changed("      dim: 4", "      dim: -4"),
            "log:27: op _Tiny_0_input.1.0_x: size -4 is negative");
  EXPECT_EQ(
      changed("      dim: 4", "      dim: 999999999999999"),
      "log:27: op _Tiny_0_input.1.0_x: sizes [999999999999999,3] are more than 2^48 elements");
  EXPECT_EQ(
      changed("      dim: 4", "      dim: 99999999999999999999"),
      "log:28: op _Tiny_0_input.1.0_x: dim must be a whole number, not \"99999999999999999999\"");
  EXPECT_EQ(changed("      dim: 4", "      size: 4"),
            "log:28: op _Tiny_0_input.1.0_x: shape holds size, expected dim");
  EXPECT_EQ(changed("data_type: kFloat", "data_type: kQuaternion"),
            "log:31: op _Tiny_0_input.1.0_x: data_type is \"kQuaternion\", which is no data type "
            "known here");
  EXPECT_EQ(changed("axis: 0", "axis: 2"),
            "log:26: op _Tiny_0_input.1.0_x: S(2) splits an axis that [4,3] does not have");
  EXPECT_EQ(changed("split_parallel", "braid_parallel"),
            "log:35: op _Tiny_0_input.1.0_x: unknown layout braid_parallel");
  EXPECT_EQ(changed("nd_sbp: \"B\"", "nd_sbp: \"X\""),
            "log:91: op model.fc.weight: nd_sbp is \"X\", expected B, P or S(axis)");
  EXPECT_EQ(changed("input_conf {", "magic_conf {"),
            "log:24: op _Tiny_0_input.1.0_x: unknown kind of op magic_conf");
  EXPECT_EQ(changed("input_conf {", "user_conf {"),
            "log:24: op _Tiny_0_input.1.0_x: user_conf has no op_type_name");
  EXPECT_EQ(changed("  op_type_name: \"broadcast_matmul\"", "  op_type_name: \"\""),
            "log:143: op model.fc-broadcast_matmul-0: op_type_name is empty");
  EXPECT_EQ(
      changed("at_bool: false", "at_bool: perhaps"),
      "log:171: op model.fc-broadcast_matmul-0: at_bool must be true or false, not \"perhaps\"");
  EXPECT_EQ(changed("at_double: 1e-05", "at_double: small"),
            "log:251: op model.ln-layer_norm-1: at_double must be a number, not \"small\"");
  EXPECT_EQ(
      changed("at_double: 1e-05", "at_complex: 1"),
      "log:251: op model.ln-layer_norm-1: attribute epsilon is of the unknown kind at_complex");
  EXPECT_EQ(changed("input_order: \"a\"", "input_order: \"c\""),
            "log:180: op model.fc-broadcast_matmul-0: input_order names c, which is not there");
}

TEST(OneflowErrors, References) {
  EXPECT_EQ(changed("s: \"model.fc.weight/out\"", "s: \"model.fc.weights/out\""),
            "log:138: op model.fc-broadcast_matmul-0 reads model.fc.weights/out, which no op "
            "before it makes. Is a part of the log missing?");
  EXPECT_EQ(changed("name: \"model.ln.bias\"", "name: \"model.ln.weight\""),
            "log:119: op model.ln.weight is traced twice, first at line 100");
  EXPECT_EQ(
      changed("s: \"model-log_softmax-2/prob_0\"", "s: \"elsewhere/prob_0\""),
      "log:271: op model-log_softmax-2 makes elsewhere/prob_0, expected model-log_softmax-2/...");
  EXPECT_EQ(changed("s: \"model.ln-layer_norm-1/mean_0\"", "s: \"model.ln-layer_norm-1/y_0\""),
            "log:188: op model.ln-layer_norm-1 makes model.ln-layer_norm-1/y_0 for a second time");
}

TEST(OneflowErrors, NamesAndListsThatAreTooLong) {
  const std::string name(600, 'a');
  EXPECT_EQ(changed("op_type_name: \"broadcast_matmul\"", "op_type_name: \"" + name + "\""),
            "log:143: op model.fc-broadcast_matmul-0: op_type_name has 600 bytes, at most 512");
  EXPECT_EQ(tree("(OPERATOR: a-sum-2(", "(OPERATOR: " + name + "("),
            "log:6: an operator has a name of 600 bytes, at most 512 are taken; it begins with "
            "\"aaaaaaaaaaaaaaaaaaaaaaaa\"");
  std::string list;
  for (int i = 0; i < 129; ++i) list += "        val: 0\n";
  const std::string text = replaced(sample_text("classifier.log"), "        val: 0\n", list);
  EXPECT_EQ(message(text),
            "log:488: op model-reduce_sum-4: at_list_int32 has more than 128 numbers");
}

TEST(OneflowErrors, Nesting) {
  std::string deep = "I20230105 10:00:00.000237 77 x.cpp:1] try to add op: \nname: \"a\"\n";
  for (int i = 0; i < 20; ++i) deep += "m {\n";
  EXPECT_EQ(message(deep + "\n"), "log:19: messages of an op conf are nested deeper than 16");
  EXPECT_EQ(message("I20230105 10:00:00.000237 77 x.cpp:1] try to add op: \nname: \"a\"\nm {\n\n"),
            "log:4: an empty line inside m of the op conf of line 2; expected a field or '}'");
}

TEST(OneflowErrors, Tree) {
  EXPECT_EQ(tree("(OPERATOR: a-sum-2(", "(OPERATOR: a sum("),
            "log:6: \"a sum\" is no name of an operator");
  EXPECT_EQ(tree("(OPERATOR: a-sum-2(", "(OPERATOR: ("), "log:6: an operator has no name");
  EXPECT_EQ(tree("sbp=(S(0), S(1)), size=(8, 6)", "sbp=(S(0), Q), size=(8, 6)"),
            "log:6: operator a-sum-2: expected a layout: B, P or S(axis), found \"Q), size=(8, 6), "
            "dtype=(\"");
  EXPECT_EQ(tree("size=(8, 6)", "size=(8; 6)"),
            "log:6: operator a-sum-2: expected \",\", found \"; 6), dtype=(oneflow.flo\"");
  EXPECT_EQ(tree("size=(8, 6)", "size=(8, -6)"),
            "log:6: operator a-sum-2: expected a size, found \"-6), dtype=(oneflow.floa\"");
  EXPECT_EQ(
      tree("size=(8, 6)", "size=(8, 7)"),
      "log:6: operator a-sum-2 reads a-matmul-1/out as f16[8,7], but line 7 makes it f16[8,6]");
  EXPECT_EQ(tree("size=(8, 6)", "size=(99999999999, 99999999999)"),
            "log:6: operator a-sum-2: sizes [99999999999,99999999999] are more than 2^48 elements");
  EXPECT_EQ(tree("dtype=(oneflow.float16)", "dtype=(oneflow.float17)"),
            "log:6: operator a-sum-2: expected a data type, found \"float17)), a-matmul-1/ou\"");
  EXPECT_EQ(tree(") -> (a-sum-2", ") => (a-sum-2"),
            "log:6: operator a-sum-2: expected \" -> (\", found \" => (a-sum-2/out:(sbp=(S\"");
  EXPECT_EQ(tree("(a-sum-2/out:(sbp=(S(0), P)", "(a-sum-2/out:(sbp=(S(0))"),
            "log:6: operator a-sum-2: 1 layouts for a placement of 2 axes");
  EXPECT_EQ(tree("(a-sum-2/out:(sbp=(S(0), P)", "(a-sum-2/out:(sbp=(S(0), S(1))"),
            "log:6: operator a-sum-2: S(1) splits an axis that [8] does not have");
  EXPECT_EQ(tree("a-matmul-1(_mesh", "a-sum-2(_mesh"),
            "log:7: operator a-sum-2 stands twice, first at line 6");
  EXPECT_EQ(
      tree("a-matmul-1/out:(sbp=(S(0), S(1)), size=(8, 6)", "b/out:(sbp=(S(0), S(1)), size=(8, 6)"),
      "log:6: operator a-sum-2 reads b/out, which no operator of the tree makes. Is a part of the "
      "log missing?");
  EXPECT_EQ(tree("-> (out:sbp=(B, S(1))", "-> (a-matmul-1/out:sbp=(B, S(1))"),
            "log:8: operator a.w makes a-matmul-1/out for a second time");
}

TEST(OneflowErrors, ModulesAndPlacements) {
  EXPECT_EQ(tree("(MODULE:a:Linear()): (", "(MODULE:a:Linear())"),
            "log:4: a module of the tree must end with `: (`");
  EXPECT_EQ(tree("(MODULE:a:Linear()): (", "(MODULE:a): ("),
            "log:4: a module: expected \":\", found \"a)\"");
  EXPECT_EQ(tree("(MODULE:a:", "(MODEL:a:"),
            "log:4: a line of the tree must begin with (CONFIG:, (INPUT:, (OUTPUT:, (PARAMETER:, "
            "(BUFFER:, (MODULE: or (OPERATOR:, found \"(MODEL:a:Linear()): (\"");
  EXPECT_EQ(
      tree("ranks=[[0, 1], [2, 3]]", "ranks=[[0, 1], [2]]"),
      "log:3: _mesh_input.0_x: expected rows of equal length, found \"]), sbp=(oneflow.sbp.spl\"");
  EXPECT_EQ(tree("ranks=[[0, 1], [2, 3]]", "ranks=[[0, 1], [1, 3]]"),
            "log:3: _mesh_input.0_x: a rank is listed twice in its placement");
  EXPECT_EQ(tree("ranks=[[0, 1], [2, 3]]", "ranks=[]"),
            "log:3: _mesh_input.0_x: expected a rank, found \"), sbp=(oneflow.sbp.spli\"");
  EXPECT_EQ(tree("ranks=[[0, 1], [2, 3]]", "ranks=[0]"),
            "log:3: _mesh_input.0_x: 2 layouts for a placement of 1 axes");
  EXPECT_EQ(tree("oneflow.sbp.broadcast,), size=(8, 4)", "oneflow.sbp.whole,), size=(8, 4)"),
            "log:3: _mesh_input.0_x: expected \"split(\", found \"whole,), size=(8, 4), dt\"");
  EXPECT_EQ(tree(", dtype=oneflow.float16, requires_grad=True", ""),
            "log:5: a.w: the note must have placement, sbp, size and dtype");
  const std::string text = sample_text("tree.txt");
  EXPECT_EQ(message(text.substr(0, text.find("noise"))),
            "log:11: the log ends inside the tree that begins at line 1. Is it cut off?");
  EXPECT_EQ(message(text.substr(0, text.find("sbp=(oneflow"))),
            "log:3: the note of a tensor that begins at line 2 is not closed. Is the log cut off?");
  EXPECT_EQ(message(text + text),
            "log:15: a second tree; the first begins at line 1. One graph per log is read");
  EXPECT_EQ(message("(OPERATOR: a() -> (), placement=())\n"),
            "log:1: an operator outside of a tree, `(GRAPH:name:type): (`");
}

TEST(OneflowErrors, Sections) {
  EXPECT_EQ(changed("World size: 2", "World size: 0"),
            "log:1: the configuration: expected a number of processes, found \"0\"");
  EXPECT_EQ(changed("data has 1000", "data has 10x0"),
            "log:12: the data: expected \" tokens, \", found \"x0 tokens, 10 unique.\"");
  EXPECT_EQ(changed("(fc): Linear1D(", "fc Linear1D "),
            "log:16: expected a module, `(name): Type(...)`, found \"fc Linear1D in_features=3, "
            "out_features=\"");
  EXPECT_EQ(changed("elementwise_affine=True)\n)", "elementwise_affine=True)\n"),
            "log:18: expected a module, `(name): Type(...)`, found \"\"");
  EXPECT_EQ(changed("start compiling with pass pass_cnt_0-Prune", "start nothing"),
            "log:798: pass Prune finishes without having started");
  EXPECT_EQ(changed("finish compiling with pass pass_cnt_0", "finish compiling with pass 0"),
            "log:798: a compile pass: expected \"pass_cnt_\", found \"0-Prune\"");
  EXPECT_EQ(changed("allocate [ 0.000712", "allocate [ many"),
            "log:807: memory: expected a size, found \"many MiB ] device memory\"");
  EXPECT_EQ(changed("memory is [ 0.0005", "memory is [ -0.0005"),
            "log:808: memory: a size of -5e-04 is negative");
  EXPECT_EQ(changed("mem_block_num = 3", "mem_block_num = -3"),
            "log:809: memory: expected a number of blocks, found \"-3\"");
  EXPECT_EQ(
      changed("num = 12 tensor", "num = 99999999999999999999 tensor"),
      "log:816: a memory block: expected a number of tensors, found \"99999999999999999999 ten\"");
  EXPECT_EQ(changed("iteration: 19/80", "iteration: 19"),
            "log:871: a training line: expected \"/\", found \"  consumed_samples: 80  \"");
  EXPECT_EQ(changed("total_loss: 0.69", "total_loss: low"),
            "log:871: a training line: expected a loss, found \"low  time: 0.0100 s/iter\"");
  EXPECT_EQ(changed("(GRAPH:Tiny_0:Tiny) building", "(GRAPH:Tiny_1:Tiny) building"),
            "log:804: graph Tiny_1 is built after graph Tiny_0. One graph per log is read");
}

TEST(OneflowErrors, LinesOfNoSectionAreSkipped) {
  const std::string text = sample_text("classifier.log");
  EXPECT_TRUE(record_of("some noise\n\x01\xff\n" + text) == record_of(text));
  EXPECT_TRUE(record_of(text + "*** Check failure stack trace: ***\n    @ 0x7f\n") ==
              record_of(text));
}

TEST(OneflowErrors, ACutLastLineSaysNothing) {
  const std::string text = sample_text("classifier.log");
  const std::size_t line = text.find("iteration: 39/80");
  EXPECT_EQ(record_of(text.substr(0, line + 20)).training.size(), 1u);
}

}  // namespace
}  // namespace plait::io::oneflow
