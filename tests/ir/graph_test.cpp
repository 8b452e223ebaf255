// Building graphs and the questions asked of them; attributes as structs.
#include "ir/graph.h"

#include <gtest/gtest.h>

#include "ir/text.h"
#include "tests/raises.h"

namespace plait::ir {
namespace {

TEST(Graph, NamesAreFreshAndUnique) {
  Graph g;
  const ValueId x = g.add_feed("x", {DType::f32, {2}});
  g.add_feed("relu1", {DType::f32, {2}});
  const Type type{DType::f32, {2}};
  for (int i = 0; i < 3; ++i) g.add_node({.op = "relu", .inputs = {x}}, {type});
  EXPECT_EQ(g.value(g.node(0).outputs[0]).name, "relu");
  EXPECT_EQ(g.value(g.node(1).outputs[0]).name, "relu2") << "relu1 is taken";
  EXPECT_EQ(g.value(g.node(2).outputs[0]).name, "relu3");
  EXPECT_EQ(g.find_value("relu2"), g.node(1).outputs[0]);
  EXPECT_EQ(g.find_value("nothing"), kNone);
  EXPECT_EQ(g.find_state("x"), nullptr);
  EXPECT_EQ(test::message_of([&] { g.add_feed("relu2", type); }),
            "the name 'relu2' is used twice in graph graph");
}

TEST(Graph, UseCountsAndDescriptions) {
  const Graph g = parse_graph(
      "graph g(x: f32[2]) state(w: f32[2]) {\n"
      "  %a = add(x, x, _) : f32[2] @ m.0 (f.cpp:7)\n"
      "  %b = relu(%a) : f32[2] @ m.1\n"
      "  next w = %a\n"
      "  return %a, again = %a\n"
      "}\n");
  EXPECT_EQ(use_counts(g), (std::vector<int>{2, 0, 4, 0}));
  EXPECT_EQ(describe(g, g.node(0)), "%a @ m.0 (f.cpp:7)");
  EXPECT_EQ(describe(g, g.node(1)), "%b @ m.1");
  EXPECT_EQ(describe(g, Node{.op = "sum"}), "sum");
  EXPECT_EQ(role_name(Role::kCounter), "counter");
}

TEST(Graph, SubstituteReachesTypesAttributesAndInitialValues) {
  const Graph g = parse_graph(
      "symbol n = 1..8\nsymbol m = 1..8\n\n"
      "graph g(x: f32[n,m]) state(w: f32[2*n] = eye(rows=n)) {\n"
      "  %a = f(x, axes=[n,m], k=n+1, s=\"n\") : f32[n*m]\n"
      "}\n");
  EXPECT_EQ(print(substitute(g, {{"n", 3}})),
            "symbol m = 1..8\n\n"
            "graph g(x: f32[3,m]) state(w: f32[6] = eye(rows=3)) {\n"
            "  %a = f(x, axes=[3,m], k=4, s=\"n\")      : f32[3*m]\n"
            "}\n");
}

TEST(Graph, SymbolsComeFromEverywhere) {
  const Package p = parse(
      "symbol a = 1..2\nsymbol b = 1..3\nsymbol c = 1..4\nsymbol d = 1..5\n"
      "graph g(x: f32[a//2]) state(w: f32[] = eye(n=b)) {\n  %y = f(k=[c]) : f32[]\n}\n"
      "graph h(x: f32[min(a,d)]) {\n}\n");
  const auto names = [](const std::map<std::string, Dim>& symbols) {
    std::string out;
    for (const auto& [name, dim] : symbols) out += str(name, dim.hi());
    return out;
  };
  EXPECT_EQ(names(symbols_of(p.graphs[0])), "a2b3c4");
  EXPECT_EQ(names(symbols_of(p)), "a2b3c4d5");
}

TEST(Graph, StateTableIsInOrderOfFirstUse) {
  const Package p = parse(
      "graph g() state(w: f32[2], b: f32[]) {}\n"
      "graph h() state(m: f32[2] as slot, w: f32[2]) {}\n");
  std::string names;
  for (const State& s : state_table(p)) names += s.name;
  EXPECT_EQ(names, "wbm");
}

struct PoolAttrs {
  std::int64_t axis = 1;
  double eps = 1e-5;
  bool keep = false;
  std::string mode = "max";
  std::optional<DType> dtype;
  Sizes window{2, 2};
  std::vector<double> weights;
  std::vector<std::string> names;
  bool operator==(const PoolAttrs&) const = default;
  static constexpr auto fields() {
    return std::tuple{Field{"axis", &PoolAttrs::axis},       Field{"eps", &PoolAttrs::eps},
                      Field{"keep", &PoolAttrs::keep},       Field{"mode", &PoolAttrs::mode},
                      Field{"dtype", &PoolAttrs::dtype},     Field{"window", &PoolAttrs::window},
                      Field{"weights", &PoolAttrs::weights}, Field{"names", &PoolAttrs::names}};
  }
};

TEST(Attrs, StructsRoundTripThroughText) {
  const PoolAttrs in{-1, 0.5, true, "mean", DType::bf16, {3, 1}, {1.0, 2.5}, {"a", "b"}};
  Graph g;
  g.add_node({.op = "pool", .attrs = encode(in)}, {Type{}});
  const Graph read = parse_graph(print(g));
  EXPECT_EQ(decode<PoolAttrs>(read.node(0).attrs, "pool"), in);
  EXPECT_TRUE(encode(PoolAttrs{}).empty()) << "defaults are not stored";
  EXPECT_EQ(decode<PoolAttrs>({}, "pool"), PoolAttrs{});
}

TEST(Attrs, NumbersMayBeWrittenWithoutAPoint) {
  const Graph g = parse_graph("graph g() {\n  %a = f(eps=1, names=[], weights=[1,2]) : f32[]\n}\n");
  const auto attrs = decode<PoolAttrs>(g.node(0).attrs, "f");
  EXPECT_EQ(attrs.eps, 1.0);
  EXPECT_EQ(attrs.weights, (std::vector<double>{1.0, 2.0}));
  EXPECT_TRUE(attrs.names.empty());
}

TEST(Attrs, Refusals) {
  Attrs attrs;
  attrs.set("axes", Dim(1));
  EXPECT_EQ(test::message_of([&] { decode<PoolAttrs>(attrs, "pool"); }),
            "[pool] has no attribute 'axes'. Did you mean 'axis'?");
  Attrs wrong;
  wrong.set("axis", 0.5);
  EXPECT_EQ(test::message_of([&] { decode<PoolAttrs>(wrong, "pool"); }),
            "[pool] attribute axis cannot be 0.5");
  EXPECT_EQ(default_text<PoolAttrs>(),
            "axis=1, eps=1e-05, keep=false, mode=\"max\", dtype=input's, window=[2,2], weights=[], "
            "names=[]");
}

TEST(Attrs, AreSortedAndReplaced) {
  Attrs attrs;
  attrs.set("b", true);
  attrs.set("a", Dim(1));
  attrs.set("b", false);
  std::string text;
  for (const auto& [name, value] : attrs) text += name + "=" + attr_text(value) + " ";
  EXPECT_EQ(text, "a=1 b=false ");
  EXPECT_EQ(attrs.find("c"), nullptr);
}

}  // namespace
}  // namespace plait::ir
