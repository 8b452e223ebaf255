// What is said of any graph: facts, and findings where they are due.
#include "report/graph.h"

#include <gtest/gtest.h>

#include "ir/text.h"
#include "models/registry.h"
#include "tests/raises.h"

namespace plait::report {
namespace {

Page findings_of(const std::string& text) {
  Page page;
  add_findings(page, ir::parse_graph(text));
  return page;
}

const Finding* find(const Page& page, const std::string& words) {
  for (const Finding& f : page.findings) {
    if (f.what.find(words) != std::string::npos) return &f;
  }
  return nullptr;
}

using Names = std::vector<std::string>;

/// A graph with every flaw.
const std::string kFlawed =
    "graph g(x: f32[4,8]) state(w: f32[8,8], unread: f32[3]) {\n"
    "  %y = linear(x, w) : f32[4,8]\n"
    "  %r = relu(%y) : f32[4,8]\n"
    "  %c = copy(%r) : f32[4,8]\n"
    "  %dead = exp(x) : f32[4,8]\n"
    "  %z = neg(%c) : f32[4,8]\n"
    "  return z = %z\n"
    "}";

/// The same work without one.
const std::string kClean =
    "graph g(x: f32[4,8]) state(w: f32[8,8]) {\n"
    "  %e = exp(x) : f32[4,8]\n"
    "  %y = linear(%e, w) : f32[4,8]\n"
    "  return y = %y\n"
    "}";

TEST(GraphReport, FlawsAreFound) {
  const Page page = findings_of(kFlawed);
  ASSERT_TRUE(find(page, "1 value is computed and never read: 128 B."));
  EXPECT_EQ(find(page, "never read")->nodes, (Names{"dead"}));
  ASSERT_TRUE(find(page, "1 state is read by no node."));
  EXPECT_EQ(find(page, "read by no node")->nodes, (Names{"unread"}));
  ASSERT_TRUE(find(page, "1 copy that need not be: 128 B written again."));
  EXPECT_EQ(find(page, "1 copy")->nodes, (Names{"c"}));
  ASSERT_TRUE(find(page, "could be its epilogue"));
  EXPECT_EQ(find(page, "could be its epilogue")->nodes[0], "r");
}

TEST(GraphReport, AGraphWithoutFlawsHasNoFindings) {
  EXPECT_TRUE(findings_of(kClean).findings.empty());
}

TEST(GraphReport, AResultThatOthersReadIsNoEpilogue) {
  const Page page = findings_of(
      "graph g(x: f32[4,8]) state(w: f32[8,8]) {\n"
      "  %y = linear(x, w) : f32[4,8]\n"
      "  %r = relu(%y) : f32[4,8]\n"
      "  return r = %r, y = %y\n"
      "}");
  EXPECT_FALSE(find(page, "epilogue"));
}

TEST(GraphReport, EpilogueBytesAreWriteAndRead) {
  const Page page = findings_of(
      "graph g(x: f32[4,8]) state(w: f32[8,8]) {\n"
      "  %y = linear(x, w) : f32[4,8]\n"
      "  %r = relu(%y) : f32[4,8]\n"
      "  return r = %r\n"
      "}");
  // 2 * 128 of 128 + 256 + 128 (linear) + 256 (relu).
  ASSERT_TRUE(find(page, "256 B less to write and read again, 33.3% of all bytes moved."))
      << page.text();
}

TEST(GraphReport, OpaqueNodesAreCounted) {
  const Page page = findings_of(
      "graph g(x: f32[4]) {\n"
      "  %a = opaque \"Mystery\"(x) : f32[4]\n"
      "  return y = x\n"
      "}");
  ASSERT_TRUE(find(page, "never read"));
  EXPECT_EQ(find(page, "never read")->nodes, (Names{"a"}));
}

TEST(GraphReport, FactsOfAGraph) {
  const std::string text = of_graph(ir::parse_graph(kClean)).text();
  for (const char* fact : {"Graph g", "nodes        2", "states       1", "parameters   64",
                           "operations   544",  // 2 * 32 * 8 and 32
                           "bytes moved  768 B", "state bytes  256 B", "keep all     256 B",
                           "live peak    256 B", "shared       256 B", "linear", "exp"}) {
    EXPECT_NE(text.find(fact), std::string::npos) << fact << "\n" << text;
  }
}

TEST(GraphReport, ModelsHavePages) {
  for (const char* spec : {"mlp", "mlp?train=1", "conv_add"}) {
    const ir::Graph graph = models::build(spec).graphs[0];
    EXPECT_NE(of_graph(graph).text().find("Graph " + graph.name), std::string::npos);
  }
}

TEST(GraphReport, SizesMustBeNumbers) {
  const std::string message = test::message_of([] {
    static_cast<void>(
        of_graph(ir::parse_graph("symbol n = 1..8\n"
                                 "graph g(x: f32[n]) {\n"
                                 "  %y = exp(x) : f32[n]\n"
                                 "  return y = %y\n"
                                 "}")));
  });
  EXPECT_NE(message.find("n"), std::string::npos);
}

}  // namespace
}  // namespace plait::report
