// Text to record and back: every byte.
#include "tests/io/aicf/support.h"

namespace plait::io::aicf {
namespace {

using test::sample;
using test::sample_record;

TEST(AicfRead, SamplesAreWrittenBackByteForByte) {
  for (const std::string name : test::kSamples) {
    const std::string text = sample(name);
    const Record record = read(text, name);
    EXPECT_EQ(write(record), text) << name;
    EXPECT_EQ(read(write(record), "again"), record) << name;
  }
}

TEST(AicfRead, KeepsWhatTheDocumentSays) {
  const Record r = sample_record("sgd");
  EXPECT_EQ(r.name, "two_layers_sgd");
  ASSERT_EQ(r.values.size(), 18u);
  ASSERT_EQ(r.nodes.size(), 12u);
  EXPECT_EQ(r.values[2], (Value{2, "fc.b", {4}, DType::f32, "cuda:0"}));
  const Node& linear = r.nodes[0];
  EXPECT_EQ(linear.op, "Linear");
  EXPECT_EQ(linear.inputs, (std::vector<Cell>{0, 1, 2}));
  EXPECT_EQ(linear.outputs, (std::vector<Cell>{3}));
  ASSERT_EQ(linear.attrs.size(), 2u);
  EXPECT_EQ(linear.flag("bias"), true);
  EXPECT_EQ(*linear.attr("layout"), "y = x @ W^T + b");
  EXPECT_EQ(r.nodes[8].number("lr"), 0.05);
  EXPECT_EQ(r.nodes[8].number("momentum"), std::nullopt);
  EXPECT_EQ(linear.number("layout"), std::nullopt);
  EXPECT_FALSE(r.final_newline);
  EXPECT_EQ(r.line_of_value(0), 5);
  EXPECT_EQ(r.line_of_node(0), 25);
}

TEST(AicfRead, AFinalNewlineIsKept) {
  EXPECT_TRUE(sample_record("inference").final_newline);
  const std::string text = sample("sgd");
  EXPECT_EQ(write(read(text + "\n", "f")), text + "\n");
  EXPECT_FALSE(read(text + "\n", "f") == read(text, "f"));
}

TEST(AicfRead, ACommaSeparatesOnlyBeforeAKey) {
  const std::string line = "  #003 SgdStep    (v001, v006) -> (v001)  {lr=0.5}";
  const std::string text = test::replaced(sample("no_bias"), line,
                                          "  #003 SgdStep    (v001, v006) -> (v001)  "
                                          "{lr=0.5, note=a, b = c, 3=4, last=}");
  const Record r = read(text, "f");
  ASSERT_EQ(r.nodes[3].attrs.size(), 3u);
  EXPECT_EQ(r.nodes[3].attrs[1], (Attr{"note", "a, b = c, 3=4"}));
  EXPECT_EQ(r.nodes[3].attrs[2], (Attr{"last", ""}));
  EXPECT_EQ(write(r), text);
}

TEST(AicfRead, LongNamesAndLargeIdsExtendTheirFields) {
  std::string text = sample("no_bias");
  text = test::replaced(text, "v006", "v1000");
  text = test::replaced(text, "d_W         ", "gradient_of_the_weight");
  const Record r = read(text, "f");
  EXPECT_EQ(r.values[6].id, 1000);
  EXPECT_EQ(r.values[6].name, "gradient_of_the_weight");
  EXPECT_EQ(write(r), text);
}

TEST(AicfRead, NamesArePaddedByCharactersNotBytes) {
  const std::string text = test::replaced(sample("no_bias"), "  t            ", "  цель         ");
  const Record r = read(text, "f");
  EXPECT_EQ(r.values[3].name, "цель");
  EXPECT_EQ(write(r), text);
}

TEST(AicfRead, EveryDTypeHasItsName) {
  for (std::size_t i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(torch_dtype(torch_name(dtype)), dtype);
  }
  EXPECT_EQ(torch_dtype("float16"), std::nullopt);
}

TEST(AicfRead, TuplesArePythons) {
  EXPECT_EQ(tuple_text({}), "()");
  EXPECT_EQ(tuple_text({8}), "(8,)");
  EXPECT_EQ(tuple_text({64, 8}), "(64, 8)");
}

TEST(AicfRead, DetectsItsOwnAlone) {
  for (const std::string name : test::kSamples) EXPECT_TRUE(detects(sample(name)));
  EXPECT_FALSE(detects(""));
  EXPECT_FALSE(detects("=== LoweredOps(x) ==="));
  EXPECT_FALSE(detects("{\"profiler\": {}}"));
  EXPECT_FALSE(detects("86 92\n"));
}

TEST(AicfRead, AnEmptyGraphIsOne) {
  const std::string text = "=== IRGraph:  ===\nvalues: 0, nodes: 0\n\n[values]\n\n[nodes]";
  const Record r = read(text, "f");
  EXPECT_EQ(write(r), text);
  EXPECT_EQ(to_graphs(r).package.graphs.size(), 1u);
}

}  // namespace
}  // namespace plait::io::aicf
