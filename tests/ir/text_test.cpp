// The text form on hand-written texts: what is printed as it was written, what is written more
// freely than it is printed, and single types.
#include "ir/text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iterator>

namespace plait::ir {
namespace {

/// Texts in the printer's own form: parsing and printing gives the same bytes.
TEST(Text, PrintedFormIsStable) {
  const char* const texts[] = {
      "graph empty() {\n}\n",
      R"(graph mlp(x: f16[64,8]) state(0.W: f16[8,8], 0.b: f16[8] = ones) {
  %lin0 = linear(x, 0.W, 0.b)            : f16[64,8]   @ 0 (models/mlp.cpp:12)
  %relu0 = relu(%lin0)                   : f16[64,8]   @ 1
  %scaled = scale(%relu0, by=0.5)        : f16[64,8]   @ (models/mlp.cpp:13)
  next 0.W = 0.W
  return %relu0, loss = %scaled, x, again = x
}
)",
      R"(symbol batch = 1..64
symbol t = 0..9223372036854775807

graph train(x: f32[batch,t]) {
  %a = f(x, n=(batch//2)+1)              : f32[min(4*t,batch)+1]
}

graph evaluate(x: f32[batch,8] on cuda[0,1](S(0)), y: f32[] on cpu[0,1,2,3]{2,2}(P,B)) {
  %long_name_that_passes_the_column = f(x, y) : f32[batch%3,8] on "my gpu"[7]{}()
}
)",
      R"(graph wide(
    first_feed: f32[1024,1024],
    second_feed: f32[1024,1024]) state(
    step: i64[2] as counter,
    m.W: f32[1024,1024] as slot = normal(mean=0.0, std=0.02),
    mean: f32[1024] as buffer = zeros(of="x")) {
  %y, %a = wkv(first_feed, _, m.W, _)    : f32[2,3], f32[]
  %z = opaque "LocalResponseNorm"(%y, n=5) : f32[2,3]
  %"weird # name" = opaque(%z)           : bool[0]     @ "a path" ("a file":3)
  return %"weird # name", "two\nlines" = %y
}
)",
  };
  for (const char* text : texts) EXPECT_EQ(print(parse(text)), text);
}

TEST(Text, EveryKindOfAttribute) {
  const char* const text =
      "symbol s = 1..9\n\n"
      "graph g() {\n"
      "  %x = f(b=true, b2=false, d=s*s+1, dims=[-1,s,3], dt=bf16, empty=[], "
      "big=9223372036854775807"
      ", least=-9223372036854775808, nan=nan, r=1e-05, ri=-inf, rs=[0.5,inf,-0.0], "
      "s=\"a\\\\\\\"b\", "
      "ss=[\"x\",\"\"], v=i64[2]{9223372036854775807,-9223372036854775808}, vb=bool[3]{1,0,1}"
      ", vf=f16[1,2]{0.0999755859375,-inf}, vs=f32[]{2.0}, ve=u8[0,7]{}) : f32[]\n"
      "}\n";
  const Graph g = parse_graph(text);
  const Attrs& a = g.nodes[0].attrs;
  const Dim s = Dim::symbol("s", 1, 9);
  auto is = [&](std::string_view name, const AttrValue& value) { return *a.find(name) == value; };
  EXPECT_TRUE(is("b", true));
  EXPECT_TRUE(is("b2", false));
  EXPECT_TRUE(is("d", s * s + 1));
  EXPECT_TRUE(is("dims", Shape{-1, s, 3}));
  EXPECT_TRUE(is("dt", DType::bf16));
  EXPECT_TRUE(is("empty", Shape{}));
  EXPECT_TRUE(is("big", Dim(std::numeric_limits<std::int64_t>::max())));
  EXPECT_TRUE(is("least", Dim(std::numeric_limits<std::int64_t>::min())));
  EXPECT_TRUE(std::isnan(std::get<double>(*a.find("nan"))));
  EXPECT_TRUE(is("r", 1e-5));
  EXPECT_TRUE(is("ri", -std::numeric_limits<double>::infinity()));
  EXPECT_TRUE(is("rs", std::vector{0.5, std::numeric_limits<double>::infinity(), -0.0}));
  EXPECT_TRUE(std::signbit(std::get<std::vector<double>>(*a.find("rs"))[2]));
  EXPECT_TRUE(is("s", std::string("a\\\"b")));
  EXPECT_TRUE(is("ss", std::vector<std::string>{"x", ""}));
  const Array& v = *std::get<Literal>(*a.find("v")).array;
  EXPECT_EQ(v.integer(0), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(v.integer(1), std::numeric_limits<std::int64_t>::min());
  EXPECT_TRUE(
      std::get<Literal>(*a.find("vb")).array->same_bits(Array::of(DType::boolean, {3}, {1, 0, 1})));
  EXPECT_TRUE(std::get<Literal>(*a.find("vf"))
                  .array->same_bits(Array::of(DType::f16, {1, 2},
                                              {0.1, -std::numeric_limits<double>::infinity()})));
  EXPECT_TRUE(std::get<Literal>(*a.find("vs")).array->same_bits(Array::scalar(DType::f32, 2)));
  EXPECT_EQ(std::get<Literal>(*a.find("ve")).array->sizes(), (Sizes{0, 7}));
  EXPECT_EQ(print(parse(print(g))), print(g));
}

TEST(Text, WrittenFreely) {
  const char* const text =
      "# a comment\nsymbol n=1 .. 4 symbol m = 1..2\n"
      "graph \"g\"( x :f32[ n + 1 , 2*(n) ],\"y\": f32[2,] )";
  EXPECT_THROW(parse(text), UserError) << "a comma stands between two";
  const Graph g = parse_graph(
      "# a comment\nsymbol n=1..4 symbol unused = 1..2\n"
      "graph \"g\"( x : f32[ n + 1 , 2*(n) ],\t\"y\": f32[] )state(w:  f32[] as param = "
      "zeros())\r\n"
      "{ next w = w # \" no string\n %a=f( x,y , k = 3,j=[1,2.5] ):f32[]@p(f:1) return %a }#end");
  EXPECT_EQ(print(g),
            "symbol n = 1..4\n\n"
            "graph g(x: f32[n+1,2*n], y: f32[]) state(w: f32[]) {\n"
            "  %a = f(x, y, j=[1.0,2.5], k=3)         : f32[]       @ p (f:1)\n"
            "  next w = w\n"
            "  return %a\n"
            "}\n");
}

TEST(Text, MeaningOfTheParts) {
  const Package p = parse(
      "graph a(x: f32[2]) state(w: f32[2] as slot = normal(std=0.5)) {\n"
      "  %u, %v = opaque \"Op\"(x, _, w, k=1) : f32[2], i64[3] on cuda[4,5,6,7]{2,2}(S(0),P) @ m.0 "
      "(f.cpp:7)\n"
      "  next w = %u\n"
      "  return %v, total = %u\n"
      "}\n"
      "graph b() {}");
  ASSERT_EQ(p.graphs.size(), 2u);
  const Graph& g = p.graphs[0];
  const Node& n = g.nodes[0];
  EXPECT_EQ(n.op, "Op");
  EXPECT_TRUE(n.opaque);
  EXPECT_EQ(n.inputs, (std::vector<ValueId>{0, kNone, 1}));
  const Place& place = g.type(n.outputs[1]).place;
  EXPECT_EQ(place.device, "cuda");
  EXPECT_EQ(place.ranks, (std::vector<int>{4, 5, 6, 7}));
  EXPECT_EQ(place.mesh, (Sizes{2, 2}));
  EXPECT_EQ(place.axes, (std::vector<Layout>{{Layout::kSplit, 0}, {Layout::kPartial, 0}}));
  EXPECT_EQ(n.path, "m.0");
  EXPECT_EQ(n.source, (Source{"f.cpp", 7}));
  EXPECT_EQ(g.states[0].state.role, Role::kSlot);
  EXPECT_EQ(g.states[0].state.init.kind, "normal");
  EXPECT_EQ(g.nexts[0].value, g.find_value("u"));
  EXPECT_EQ(g.fetches[0].name, "v");
  EXPECT_EQ(g.fetches[1].name, "total");
  EXPECT_EQ(p.graphs[1].name, "b");
}

TEST(Text, Types) {
  const DimResolver resolve = [](std::string_view name) -> Dim {
    if (name == "batch") return Dim::symbol("batch", 1, 64);
    fail("no symbol ", name, " here");
  };
  for (const char* text : {"f32[]", "f16[batch,8]", "bool[(batch//2)+1] on cuda[0,1](S(0))",
                           "i64[2] on cpu[0,1,2,3]{2,2}(B,P)", "u8[0] on \"odd one\"[5]{}()"}) {
    EXPECT_EQ(type_text(parse_type(text, resolve)), text);
  }
  auto message = [&](std::string_view text) -> std::string {
    try {
      parse_type(text, resolve);
    } catch (const UserError& e) {
      return e.what();
    }
    return "no error";
  };
  EXPECT_EQ(message("f32[8] x"),
            "type 'f32[8] x' at column 8: expected the end of the type, found 'x'");
  EXPECT_EQ(message("f32[3,"),
            "type 'f32[3,' at column 7: expected a number or a symbol in a size, "
            "found the end of the text");
  EXPECT_EQ(message("f32[time]"), "type 'f32[time]' at column 9: no symbol time here");
  EXPECT_EQ(message(""),
            "type '' at column 1: expected a type such as f32[2,3], found the end of the text");
}

/// The example of the page is in the printer's form.
TEST(Text, TheDocumentedExampleHolds) {
  std::ifstream file("docs/text_form.md");
  ASSERT_TRUE(file) << "run from the repository's root";
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  const std::size_t start = page.find("```\n") + 4;
  const std::string example = page.substr(start, page.find("```", start) - start);
  EXPECT_EQ(print(parse(example)), example);
}

}  // namespace
}  // namespace plait::ir
