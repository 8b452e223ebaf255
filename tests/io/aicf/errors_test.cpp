// One small document per message, text compared.
#include "tests/io/aicf/support.h"
#include "tests/raises.h"

namespace plait::io::aicf {
namespace {

/// A document of three values and one node; each case changes a piece of it.
const std::string kSmall =
    "=== IRGraph: g ===\n"
    "values: 3, nodes: 1\n"
    "\n"
    "[values]\n"
    "  v000  x            shape=(4, 3) dtype=torch.float32 device=cpu\n"
    "  v001  W            shape=(2, 3) dtype=torch.float32 device=cpu\n"
    "  v002  y            shape=(4, 2) dtype=torch.float32 device=cpu\n"
    "\n"
    "[nodes]\n"
    "  #000 Linear     (v000, v001) -> (v002)";

struct Case {
  std::string from, to, message;
};

std::string message_for(const Case& c) {
  std::string text = kSmall;
  const std::size_t at = text.find(c.from);
  EXPECT_NE(at, std::string::npos) << c.from;
  if (at == std::string::npos) return "";
  text.replace(at, c.from.size(), c.to);
  return plait::test::message_of([&] { static_cast<void>(read(text, "f")); });
}

void expect_messages(const std::vector<Case>& cases) {
  for (const Case& c : cases) EXPECT_EQ(message_for(c), c.message) << c.from << " -> " << c.to;
}

TEST(AicfErrors, TheSmallDocumentIsGood) { EXPECT_EQ(write(read(kSmall, "f")), kSmall); }

TEST(AicfErrors, Header) {
  expect_messages({
      {"=== IRGraph: g ===", "hello", "f:1: found \"hello\", expected \"=== IRGraph: NAME ===\""},
      {" ===\n", "\n", "f:1: found \"=== IRGraph: g\", expected \"=== IRGraph: NAME ===\""},
      {"values: 3", "value: 3",
       "f:2: column 1: found \"value: 3, nodes: 1\", expected \"values: \""},
      {"nodes: 1", "nodes: -1",
       "f:2: column 19: found \"-1\", expected the number of nodes. It cannot be negative"},
      {"values: 3", "values: 03",
       "f:2: column 9: found \"03, nodes: 1\", expected the number of values"},
      {"values: 3", "values: 5000000",
       "f:2: column 9: found \"5000000, nodes: 1\", expected the number of values, at most "
       "1,000,000"},
      {"values: 3", "values: 99999999999999999999",
       "f:2: column 9: found \"99999999999999999999, nodes: 1\", expected the number of values"},
      {"nodes: 1", "nodes: 1 ", "f:2: column 20: found \" \", expected the end of the line"},
      {"1\n\n[v", "1\n[v", "f:3: found \"[values]\", expected an empty line"},
      {"[values]", "[value]", "f:4: found \"[value]\", expected \"[values]\""},
      {"[nodes]", "[node]", "f:9: found \"[node]\", expected \"[nodes]\""},
  });
}

TEST(AicfErrors, Counts) {
  expect_messages({
      {"values: 3", "values: 2",
       "f:7: found \"  v002  y            shape=(4, 2) dtype=\"..., expected an empty line behind "
       "the 2 values that line 2 says"},
      {"values: 3", "values: 4",
       "f:8: found an empty line, expected value 4 of the 4 that line 2 says, as \"  vID  NAME "
       "shape=(...) dtype=... device=...\""},
      {"nodes: 1", "nodes: 0",
       "f:10: found \"  #000 Linear     (v000, v001) -> (v002)\", expected the end of the "
       "document: "
       "line 2 says 0 nodes, and they are read"},
      {"nodes: 1", "nodes: 2",
       "f:11: the document ends here, expected node 2 of the 2 that line 2 says. Was it cut?"},
      {"-> (v002)", "-> (v002)\n\n",
       "f:11: found an empty line, expected the end of the document: line 2 says 1 nodes, and they "
       "are read"},
  });
}

TEST(AicfErrors, Values) {
  expect_messages({
      {"v001  W", "v1  W",
       "f:6: column 4: found \"1  W            shape=(2, 3) dtype=torch\"..., expected the number "
       "of "
       "a value. Numbers have three digits or more, with zeros before short ones"},
      {"  v001  W", "  v000  W", "f:6: v000 is there twice, first on line 5"},
      {"  v001  W", "  v009  W",
       "f:7: v002 stands behind v009, expected ids that ascend. Are lines "
       "exchanged?"},
      {"W            shape", "W           shape",
       "f:6: column 21: found \"shape=(2, 3) dtype=torch.float32 device=\"..., expected \" "
       "shape=\""},
      {"W            shape", "W             shape",
       "f:6: column 9: found \"W             shape=(2, 3) dtype=torch.f\"..., expected a name "
       "filled "
       "up with blanks to 12 characters"},
      {"  W  ", "  \x01  ",
       "f:6: column 9: found \".            shape=(2, 3) dtype=torch.fl\"..., expected a name. It "
       "holds a control character"},
      {"(2, 3)", "(2,3)",
       "f:6: column 30: found \",3) dtype=torch.float32 device=cpu\", expected "
       "\", \""},
      {"(2, 3)", "(2)",
       "f:6: column 30: found \") dtype=torch.float32 device=cpu\", expected \",)\" "
       "behind the only size"},
      {"(2, 3)", "(-2, 3)",
       "f:6: column 29: found \"-2, 3) dtype=torch.float32 device=cpu\", "
       "expected a size. It cannot be negative"},
      {"(2, 3)", "(9000000000, 900000)",
       "f:6: sizes [9000000000,900000] are more than 2^48 elements"},
      {"torch.float32", "torch.float33",
       "f:5: column 41: found \"torch.float33 device=cpu\", expected a dtype of torch. Did you "
       "mean "
       "'torch.float32'?"},
      {"device=cpu", "device=",
       "f:5: column 62: found the end of the line, expected a device. It "
       "cannot be empty"},
      {"device=cpu", "device=cpu 0",
       "f:5: column 62: found \"cpu 0\", expected a device. It cannot "
       "hold a blank"},
      {"device=cpu\n", "device=cpu\r\n",
       "f:5: the line ends with a carriage return, expected a newline alone. Was the document "
       "saved "
       "on Windows?"},
  });
}

TEST(AicfErrors, Nodes) {
  expect_messages({
      {"#000", "#001", "f:10: found \"#001 Lin\", expected #000. Are lines missing or exchanged?"},
      {"  #000", "#000",
       "f:10: found \"#000 Linear     (v000, v001) -> (v002)\", expected node 1 of the 1 that line "
       "2 says, as \"  #INDEX OP (v...) -> (v...)\""},
      {"Linear    ", "Linaer    ", "f:10: the format has no op \"Linaer\". Did you mean 'Linear'?"},
      {"Linear    ", "Conv      ",
       "f:10: the format has no op \"Conv\". Its ops are Linear, ReLU, Save, MseGrad, LinearBwd, "
       "ReluBwd, SgdStep, StepInc, BiasCorr, AdamStep"},
      {"Linear     (", "Linear (",
       "f:10: column 8: found \"Linear (v000, v001) -> (v002)\", expected "
       "an op filled up with blanks to 10 characters"},
      {"(v000, v001)", "(v000, v007)",
       "f:10: column 26: found \"v007) -> (v002)\", expected a value "
       "of the list above. There is no v007"},
      {"(v000, v001)", "(v000,v001)",
       "f:10: column 24: found \",v001) -> (v002)\", expected \", \""},
      {"(v000, v001)", "(v000)", "f:10: Linear: found 1 operands, expected (x, W, [b])"},
      {"-> (v002)", "-> (v002, v000)", "f:10: Linear: found 2 results, expected (y)"},
      {"-> (v002)", "-> ()", "f:10: Linear: found 0 results, expected (y)"},
      {"-> (v002)", "-> (v002) {bias=False}",
       "f:10: column 41: found \" {bias=False}\", expected \"  {\""},
      {"-> (v002)", "-> (v002)  {bias=False",
       "f:10: column 44: found \"bias=False\", expected "
       "attributes up to a \"}\" at the end of the line"},
      {"-> (v002)", "-> (v002)  {}",
       "f:10: column 44: found \"}\", expected an attribute as key=value"},
      {"-> (v002)", "-> (v002)  {bias=False, bias=False}",
       "f:10: column 56: found \"bias=False}\", expected each key once, and bias is there before"},
  });
}

TEST(AicfErrors, Attributes) {
  expect_messages({
      {"-> (v002)", "-> (v002)  {bias=no}", "f:10: Linear: bias=no, expected True or False"},
      {"-> (v002)", "-> (v002)  {bias=True}",
       "f:10: Linear: bias=True, but it has no bias among its operands"},
      {"-> (v002)", "-> (v002)  {layout=y = x @ W + b}",
       "f:10: Linear: layout=y = x @ W + b, expected y = x @ W^T + b, the only layout that is "
       "known"},
      {"Linear     (v000, v001) -> (v002)", "SgdStep    (v000, v000) -> (v000)",
       "f:10: SgdStep: has no attribute lr. Expected lr=NUMBER"},
      {"Linear     (v000, v001) -> (v002)", "SgdStep    (v000, v000) -> (v000)  {lr=nan}",
       "f:10: SgdStep: lr=nan, expected a finite number"},
      {"Linear     (v000, v001) -> (v002)",
       "AdamStep   (v000, v000, v000, v000, v000, v000) -> (v000, v001, v002)  "
       "{lr=1, beta1=1, beta2=0, eps=0}",
       "f:10: AdamStep: beta1=1, expected 0 <= beta1 < 1"},
      {"Linear     (v000, v001) -> (v002)",
       "LinearBwd  (v000, v001, v002) -> (v000, v000)  {bias=False}",
       "f:10: LinearBwd: writes v000 twice"},
  });
}

TEST(AicfErrors, ShapesAndDTypes) {
  expect_messages({
      {"shape=(2, 3)", "shape=(2, 5)", "f:10: Linear: W (v001 W) is (2, 5), expected (n, 3)"},
      {"shape=(2, 3)", "shape=(6,)", "f:10: Linear: W (v001 W) is (6,), expected (n, 3)"},
      {"shape=(4, 2)", "shape=(4, 3)", "f:10: Linear: y (v002 y) is (4, 3), expected (4, 2)"},
      {"shape=(4, 2) dtype=torch.float32", "shape=(4, 2) dtype=torch.float16",
       "f:10: Linear: y (v002 y) is torch.float16, expected torch.float32 like x"},
      {"shape=(4, 3) dtype=torch.float32", "shape=(4, 3) dtype=torch.int64",
       "f:10: Linear: x (v000 x) is torch.int64, expected a float"},
      {"Linear     (v000, v001) -> (v002)", "ReLU       (v000) -> (v002)",
       "f:10: ReLU: y (v002 y) is (4, 2), expected (4, 3) like x"},
      {"Linear     (v000, v001) -> (v002)", "StepInc    (v000) -> (v000)",
       "f:10: StepInc: step (v000 x) is torch.float32, expected torch.int32 or torch.int64"},
      {"Linear     (v000, v001) -> (v002)",
       "AdamStep   (v000, v000, v000, v000, v001, v001) -> (v000, v001, v002)  "
       "{lr=1, beta1=0, beta2=0, eps=0}",
       "f:10: AdamStep: bc1_inv (v001 W) is (2, 3), expected one element"},
  });
}

TEST(AicfErrors, MoreThanCanBeCounted) {
  std::string text = kSmall;
  text = test::replaced(text, "(4, 3)", "(16000000, 16000000)");
  text = test::replaced(text, "(2, 3)", "(16000000, 16000000)");
  text = test::replaced(text, "(4, 2)", "(16000000, 16000000)");
  EXPECT_EQ(plait::test::message_of([&] { static_cast<void>(read(text, "f")); }),
            "f:10: the nodes up to here are more than 2^60 operations");
}

TEST(AicfErrors, ExchangedLinesAreReadsBeforeWrites) {
  std::string text = test::sample("sgd");
  const std::string save = "Save       (v004) -> (v005)", relu = "ReLU       (v003) -> (v004)";
  text = test::replaced(text, save, "SAVE");
  text = test::replaced(text, relu, save);
  text = test::replaced(text, "SAVE", relu);
  EXPECT_EQ(plait::test::message_of([&] { static_cast<void>(read(text, "f")); }),
            "f:26: Save reads v004 a before anything wrote it; line 27 (ReLU) writes it. Are lines "
            "exchanged?");
}

TEST(AicfErrors, ACutDocumentIsRefusedAtEveryByte) {
  const std::string text = test::sample("adam");
  for (std::size_t cut = 0; cut < text.size(); ++cut) {
    const std::string message = plait::test::message_of(
        [&] { static_cast<void>(read(std::string_view(text).substr(0, cut), "f")); });
    EXPECT_TRUE(message.starts_with("f:")) << cut << ": " << message;
  }
}

}  // namespace
}  // namespace plait::io::aicf
