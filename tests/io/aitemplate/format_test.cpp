// Text to record and back, and what is refused on the way.
#include "io/aitemplate/format.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/io/aitemplate/run_both.h"
#include "tests/raises.h"

namespace plait::io::aitemplate {
namespace {

const char* const kSamples[] = {"conv_add.txt", "gemm_range.txt", "accessors.txt",
                                "unknown_ops.txt", "layers.txt"};

// The samples are printed by Python's own pprint.
TEST(AitFormat, SamplesAreWrittenBackToTheByte) {
  for (const char* name : kSamples) {
    const std::string text = sample(name);
    EXPECT_TRUE(detects(text)) << name;
    const Record record = read(text, name);
    EXPECT_EQ(write(record), text) << name;
    EXPECT_EQ(read(write(record), "again"), record) << name;
  }
}

TEST(AitFormat, IsToldFromOtherTexts) {
  EXPECT_TRUE(detects("Tensors: { 'a'"));
  EXPECT_TRUE(detects("Tensors: \n\nOperators: \n\n"));
  EXPECT_FALSE(detects(""));
  EXPECT_FALSE(detects("Tensors everywhere"));
  EXPECT_FALSE(detects("Tensors: 5"));
  EXPECT_FALSE(detects("{\"profiler\": 1}"));
  EXPECT_FALSE(detects("86 92\n"));
  EXPECT_FALSE(detects("=== IRGraph: x"));
}

TEST(AitFormat, TypesWhatItKnows) {
  const Record r = read_sample("gemm_range.txt");
  const TensorRecord& x = r.tensors[0];
  EXPECT_EQ(x.shape[0].lo(), 1);
  EXPECT_EQ(x.shape[0].hi(), 64);
  EXPECT_EQ(x.shape[0].symbolic_value->text, "batch");
  const OperatorRecord& gemm = r.operators[0];
  ASSERT_EQ(gemm.exec_path->size(), 2U);
  EXPECT_EQ((*gemm.exec_path)[0].predicate, "M >= 1 && M <= 32 && N == 8 && K == 16");
  EXPECT_EQ((*gemm.exec_path)[0].kernel.text, "cutlass_small");
  EXPECT_EQ(*gemm.workspace, 4096);
  EXPECT_EQ(func_name((*r.operators[1].elementwise_ops)[1]), "HARDTANH");
  EXPECT_EQ((*r.operators[1].elementwise_ops)[1].args->at(2).real, 0.75);
  EXPECT_EQ(gemm.find("f_ab_alignment")->kind, PyValue::kForeign);
  const Record a = read_sample("accessors.txt");
  EXPECT_EQ((*a.operators[0].input_accessors)[1].offset, 6);
  EXPECT_EQ(*(*a.operators[0].output_accessors)[0].stride_dim, 1);
  EXPECT_EQ(view_of(read_sample("unknown_ops.txt").tensors[4]), "x");
}

/// Two tensors and one operator, as short as a document can be; one piece is exchanged.
std::string document(const std::string& from = "", const std::string& to = "") {
  std::string text =
      R"(Tensors: {'name': 'x', 'dtype': 'float32', 'shape': [{'name': 'n', 'values': [1, 4]}],
 'src_ops': [], 'dst_ops': ['relu_0'], 'is_input': True, 'is_output': False}

{'name': 'y', 'dtype': 'float32', 'shape': [{'name': 'n', 'values': [1, 4]}],
 'src_ops': ['relu_0'], 'dst_ops': [], 'is_input': False, 'is_output': True}

Operators: {'name': 'relu_0', 'op': 'elementwise', 'func': <FuncEnum.RELU: 18>,
 'inputs': ['x'], 'outputs': ['y']}
)";
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return from.empty() ? text : text.replace(at, from.size(), to);
}
std::string error(const std::string& from, const std::string& to) {
  return test::message_of([&] { read(document(from, to), "d"); });
}

TEST(AitFormat, ShortDocumentsAreDocuments) { EXPECT_EQ(read(document(), "d").tensors.size(), 2U); }

TEST(AitErrors, PartsThatAreMissing) {
  const auto whole = [](const std::string& text) {
    return test::message_of([&] { read(text, "d"); });
  };
  EXPECT_EQ(whole("Operators: "),
            "d:1:1: `Tensors:` was expected; AITemplate's sorted_graph_debug_str begins with it");
  EXPECT_EQ(whole("Tensors: "), "d:1:10: the text ends without `Operators:`; is the document cut?");
  EXPECT_EQ(whole("Tensors: \n\nOperators: \n\n"),
            "d:1:1: the document holds no tensors; was it cut?");
  EXPECT_EQ(whole("Tensors: x"), "d:1:10: a tensor `{` or `Operators:` was expected");
  EXPECT_EQ(whole("Tensors: \nOperators: 5"),
            "d:2:12: an operator `{` or the end of the text was expected");
  EXPECT_EQ(error("'dtype': 'float32', ", ""),
            "d:1:10: a tensor has no 'dtype'; is the document cut?");
  EXPECT_EQ(error("'inputs': ['x'], ", ""),
            "d:7:12: an operator has no 'inputs'; is the document cut?");
  EXPECT_EQ(error(", 'values': [1, 4]", ""),
            "d:1:54: a dimension has no 'values'; is the document cut?");
}

TEST(AitErrors, WrongTypes) {
  EXPECT_EQ(error("'name': 'x'", "'name': 3"), "d:1:19: 'name' is a text, found the number 3");
  EXPECT_EQ(error("'is_input': True", "'is_input': 1"),
            "d:2:52: 'is_input' is True or False, found the number 1");
  EXPECT_EQ(error("'src_ops': []", "'src_ops': None"), "d:2:13: 'src_ops' is a list, found None");
  EXPECT_EQ(error("[1, 4]", "[1, 'a']"),
            "d:1:82: 'values' is a whole number, found the text \"a\"");
  EXPECT_EQ(error("{'name': 'n', 'values': [1, 4]}", "7"),
            "d:1:54: a dimension is a dict, found the number 7");
  EXPECT_EQ(error("'dtype': 'float32'", "5: 'float32'"),
            "d:1:24: keys are texts, found the number 5");
  EXPECT_EQ(error("'dtype': 'float32'", "'name': 'float32'"), "d:1:24: key 'name' stands twice");
  EXPECT_EQ(error("'float32'", "'float33'"),
            "d:1:10: tensor 'x' has the unknown dtype 'float33'. Did you mean 'float32'?");
}

TEST(AitErrors, SizesThatCannotBe) {
  EXPECT_EQ(error("[1, 4]", "[]"), "d:1:54: dimension 'n' of tensor 'x' has no values");
  EXPECT_EQ(error("[1, 4]", "[-1, 4]"), "d:1:54: dimension 'n' of tensor 'x' is negative: -1");
  EXPECT_EQ(error("[1, 4]", "[4, 1]"),
            "d:1:54: the range of dimension 'n' of tensor 'x' is upside down: 4 to 1");
  EXPECT_EQ(error("[1, 4]", "[1, 4], 'symbolic_value': 3"),
            "d:1:54: dimension 'n' of tensor 'x' is 1 to 4 by its values and 3 by its "
            "symbolic_value");
  EXPECT_EQ(error("[1, 4]", "[281474976710657]"),
            "d:1:54: the shape of tensor 'x': sizes [281474976710657] are more than 2^48 elements");
  EXPECT_EQ(error("[1, 4]", "[1, 5]"),
            "d:4:45: dimension 'n' is 1 to 4 in tensor 'y', but 1 to 5 at line 1; equal names are "
            "equal dimensions");
}

TEST(AitErrors, FiguresThatCannotBe) {
  const auto with = [](const std::string& more) {
    return error("'is_output': True", "'is_output': True, " + more);
  };
  EXPECT_EQ(with("'offset': -1"), "d:4:1: tensor 'y' has the negative offset -1");
  EXPECT_EQ(with("'offset': 9223372036854775807"),
            "d:4:1: tensor 'y' has the offset 9223372036854775807, which is more than 2^60");
  const auto kernel = [](const std::string& more) {
    return error("'outputs': ['y']", "'outputs': ['y'], " + more);
  };
  EXPECT_EQ(kernel("'workspace': -5"), "d:7:12: operator 'relu_0' has the negative workspace -5");
  for (const char* n : {"0", "-8"}) {
    EXPECT_EQ(kernel(std::string("'epilogue_alignment': ") + n),
              std::string("d:7:12: operator 'relu_0' has the epilogue_alignment ") + n +
                  ", expected how many elements are stored at once: 1 or more");
  }
  const std::string fine = document("'outputs': ['y']", "'outputs': ['y'], 'workspace': 0");
  EXPECT_EQ(read(fine, "d").operators[0].workspace, 0);
}

TEST(AitErrors, TensorsThatAreTooMany) {
  std::string tensors;  // 2^51 bytes each
  for (int i = 0; i < 513; ++i) {
    tensors += "{'name': 't" + std::to_string(i) +
               "', 'dtype': 'int64', 'shape': [{'values': [281474976710656]}], 'src_ops': [], "
               "'dst_ops': [], 'is_input': True, 'is_output': False}\n";
  }
  EXPECT_EQ(test::message_of([&] { read("Tensors: " + tensors + "Operators: ", "d"); }),
            "d:513:1: the tensors up to 't512' have more than 2^60 bytes; are the sizes right?");
}

TEST(AitErrors, ConstantsThatAreNoNumbers) {
  const auto with = [](const std::string& value) {
    return document("Operators: ",
                    "{'name': 'c', 'dtype': 'float32', 'shape': [], 'src_ops': [], 'dst_ops': [], "
                    "'is_input': False, 'is_output': False,\n 'value': " +
                        value + "}\nOperators: ");
  };
  for (const auto& [value, shown] : std::map<std::string, std::string>{
           {"'abc'", "the text \"abc\""}, {"1e999", "`1e999`"}, {"True", "True"}}) {
    EXPECT_EQ(test::message_of([&, &text = value] { read(with(text), "d"); }),
              "d:8:11: the value of the constant 'c' is " + shown +
                  ", expected a number that 64 bits hold");
  }
  for (const char* fine : {"inf", "-inf", "nan", "2", "1.5e3", "None"}) {
    EXPECT_NO_THROW(read(with(fine), "d")) << fine;
  }
}

TEST(AitErrors, LinesThatEndAsOnWindows) {
  EXPECT_EQ(error("\n\nOperators", "\r\n\r\nOperators"),
            "d:5:77: the line ends with a carriage return, expected a newline alone. Was the "
            "document saved on Windows?");
}

TEST(AitErrors, NamesThatDoNotFit) {
  EXPECT_EQ(error("'name': 'y'", "'name': 'x'"), "d:4:1: tensor 'x' stands twice; first at line 1");
  EXPECT_EQ(error("'inputs': ['x']", "'inputs': ['xx']"),
            "d:7:12: operator 'relu_0' reads 'xx', which is no tensor of the document. Did you "
            "mean 'x'?");
  EXPECT_EQ(error("'outputs': ['y']", "'outputs': ['y', 'y']"),
            "d:7:12: operator 'relu_0' writes 'y' twice");
  EXPECT_EQ(error("'dst_ops': ['relu_0']", "'dst_ops': []"),
            "d:7:12: operator 'relu_0' reads 'x', whose dst_ops do not name it");
  EXPECT_EQ(error("'src_ops': ['relu_0'], 'dst_ops': [], 'is_input': False",
                  "'src_ops': [], 'dst_ops': [], 'is_input': False"),
            "d:7:12: operator 'relu_0' writes 'y', whose src_ops do not name it");
  EXPECT_EQ(error("'dst_ops': []", "'dst_ops': ['relu_0']"),
            "d:4:1: tensor 'y' names 'relu_0' in dst_ops, but 'relu_0' does not read it");
  EXPECT_EQ(error("'dst_ops': []", "'dst_ops': ['tanh_3']"),
            "d:4:1: tensor 'y' names 'tanh_3' in dst_ops, but no operator has that name");
  EXPECT_EQ(error("'is_input': False", "'is_input': True"),
            "d:4:1: tensor 'y' is an input, but operator 'relu_0' is said to make it");
  EXPECT_EQ(error("'name': 'x'", "'name': ''"), "d:1:10: a tensor's name is empty");
}

TEST(AitErrors, OperatorsOutOfOrder) {
  std::string text = sample("gemm_range.txt");
  const std::size_t at = text.find("Operators: ") + 11,
                    softmax = text.find("{ 'depth': 2,\n  'dim'");
  ASSERT_NE(softmax, std::string::npos);
  const std::string moved = text.substr(softmax, text.find("\n\n", softmax) + 2 - softmax);
  text.erase(softmax, moved.size());
  text.insert(at, moved);
  EXPECT_EQ(test::message_of([&] { read(text, "d"); }),
            "d:238:12: operator 'softmax_2' reads 'z' before fused_elementwise_1 made it; are "
            "operators out of order?");
}

TEST(AitErrors, AccessorsThatDoNotFit) {
  const std::string text = sample("accessors.txt");
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string copy = text;
    const std::size_t at = copy.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    copy.replace(at, from.size(), to);
    return test::message_of([&] { to_graphs(read(copy, "d")); });
  };
  EXPECT_EQ(changed("'stride_dim': 1", "'stride_dim': 2"),
            "d:178:24: the accessor of 'x' in 'fused_elementwise_1' cuts axis 2 of 2");
  EXPECT_EQ(changed("'offset': 6", "'offset': -6"),
            "d:206:24: the accessor of 'x' in 'fused_elementwise_1' has the negative offset -6");
  EXPECT_EQ(changed("'original_total_elements_from_stride_dim': 6",
                    "'original_total_elements_from_stride_dim': 9223372036854775807"),
            "d:178:24: the accessor of 'x' in 'fused_elementwise_1' has the "
            "total_elements_from_stride_dim 9223372036854775807, which is more than 2^60");
  EXPECT_EQ(changed("'offset': 6", "'offset': 7"),
            "d:166:12: operator 'fused_elementwise_1' (fused_elementwise) addresses elements 7 to "
            "13 of axis 1 of 'x', which has 12");
  EXPECT_EQ(changed("'offset': 7", "'offset': 6"),
            "d:380:1: operator 'concatenate_3' (concatenate) leaves 'cat' with a gap or an overlap "
            "at element 7 of axis 1");
}

TEST(AitErrors, ShapesThatOpsDoNotMake) {
  std::string text = document("'elementwise', 'func': <FuncEnum.RELU: 18>",
                              "'reduce_sum', 'reduction_axes': [0], 'keepdim': False");
  EXPECT_EQ(test::message_of([&] { to_graphs(read(text, "d")); }),
            "d:7:12: operator 'relu_0' (reduce_sum) makes f32[], the document says that 'y' is "
            "f32[4]");
  text = document("'elementwise', 'func': <FuncEnum.RELU: 18>", "'reduce_sum'");
  EXPECT_EQ(test::message_of([&] { to_graphs(read(text, "d")); }),
            "d:7:12: operator 'relu_0' (reduce_sum) has no 'reduction_axes'");
  text = document("<FuncEnum.RELU: 18>", "<FuncEnum.ADD: 1>");
  EXPECT_EQ(test::message_of([&] { to_graphs(read(text, "d")); }),
            "d:7:12: elementwise op 'relu_0' of ADD takes 2 arguments, has 1");
  text = document("'inputs': ['x']", "'inputs': ['x'], 'args': ['x', 1]");
  EXPECT_EQ(test::message_of([&] { to_graphs(read(text, "d")); }),
            "d:7:12: elementwise op 'relu_0' of RELU takes 1 argument, has 2");
}

}  // namespace
}  // namespace plait::io::aitemplate
