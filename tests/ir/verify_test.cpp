// Every message of the verifier, one small broken graph each, compared whole. Graphs that the
// parser would refuse first are broken by hand.
#include "ir/verify.h"

#include <gtest/gtest.h>

#include "ir/text.h"

namespace plait::ir {
namespace {

template <class G>
std::string message(const G& graph) {
  try {
    verify(graph);
  } catch (const UserError& e) {
    return e.what();
  }
  return "no error";
}

/// x (value 0) and w (1) come in; %a (2) and %b (3) are made.
Graph sound() {
  return parse_graph(
      "graph g(x: f32[2]) state(w: f32[2]) {\n"
      "  %a = relu(x) : f32[2] @ m.0 (f.cpp:7)\n"
      "  %b = add(%a, w) : f32[2]\n"
      "  next w = %b\n"
      "  return %b\n"
      "}\n");
}

template <class Break>
std::string broken(Break f) {
  Graph g = sound();
  f(g);
  return message(g);
}

TEST(Verify, AcceptsASoundGraph) { EXPECT_EQ(message(sound()), "no error"); }

TEST(Verify, Ids) {
  EXPECT_EQ(broken([](Graph& g) { g.feeds[0] = 9; }),
            "graph g: a feed is value 9, but the graph has 4");
  EXPECT_EQ(broken([](Graph& g) { g.states[0].value = -1; }),
            "graph g: state w is value -1, but the graph has 4");
  EXPECT_EQ(broken([](Graph& g) { g.nodes[1].outputs = {4}; }),
            "graph g: node 1 (add): an output is value 4, but the graph has 4");
  EXPECT_EQ(broken([](Graph& g) { g.nodes[1].inputs[0] = -2; }),
            "graph g: node 1 (add): an operand is value -2, but the graph has 4");
  EXPECT_EQ(broken([](Graph& g) { g.nodes[1].outputs.clear(); }),
            "graph g: node 1 (add): has no outputs");
  EXPECT_EQ(broken([](Graph& g) { g.nexts[0].value = kNone; }),
            "graph g: next w is value -1, but the graph has 4");
  EXPECT_EQ(broken([](Graph& g) { g.fetches[0].value = 7; }),
            "graph g: fetch b is value 7, but the graph has 4");
  EXPECT_EQ(broken([](Graph& g) { g.values[3].producer = 2; }),
            "graph g: the producer of b is node 2, but the graph has 2");
}

TEST(Verify, AnOperandMayBeLeftOut) {
  EXPECT_EQ(broken([](Graph& g) { g.nodes[1].inputs[0] = kNone; }), "no error");
}

TEST(Verify, Names) {
  EXPECT_EQ(broken([](Graph& g) { g.values[3].name = "a"; }), "graph g: the name a is used twice");
  EXPECT_EQ(broken([](Graph& g) { g.values[3].name = ""; }), "graph g: a value has an empty name");
}

TEST(Verify, Makers) {
  EXPECT_EQ(broken([](Graph& g) { g.feeds.push_back(2); }),
            "graph g: the feeds list %a, but its producer is node %a @ m.0 (f.cpp:7)");
  EXPECT_EQ(broken([](Graph& g) { g.feeds.push_back(0); }),
            "graph g: the feeds list x for a second time");
  EXPECT_EQ(broken([](Graph& g) { g.feeds.push_back(1); }),
            "graph g: the states list w for a second time");
  EXPECT_EQ(broken([](Graph& g) { g.nodes[1].outputs = {2}; }),
            "graph g: node %a: its outputs list %a, but its producer is node %a @ m.0 (f.cpp:7)");
  EXPECT_EQ(broken([](Graph& g) { g.nodes[1].outputs.push_back(0); }),
            "graph g: node %b: its outputs list x, but its producer is no node");
  EXPECT_EQ(broken([](Graph& g) { g.nodes[1].outputs.push_back(3); }),
            "graph g: node %b: its outputs list %b for a second time");
  EXPECT_EQ(broken([](Graph& g) { g.feeds.clear(); }),
            "graph g: x is made nowhere: it is no feed, state or output");
  EXPECT_EQ(broken([](Graph& g) {
              g.values.push_back({"c", {}, 1});
            }),
            "graph g: node %b: %c names this node as its producer, but is not among its outputs");
}

TEST(Verify, Order) {
  EXPECT_EQ(
      broken([](Graph& g) { g.nodes[0].inputs[0] = 3; }),
      "graph g: node %a @ m.0 (f.cpp:7): operand 0 is %b, which is made later. Nodes stand in "
      "execution order");
  EXPECT_EQ(
      broken([](Graph& g) { g.nodes[1].inputs[1] = 3; }),
      "graph g: node %b: operand 1 is %b, which is made later. Nodes stand in execution order");
}

TEST(Verify, Literals) {
  EXPECT_EQ(broken([](Graph& g) { g.nodes[0].attrs.set("value", Literal{}); }),
            "graph g: node %a @ m.0 (f.cpp:7): attribute value is a literal without an array");
  EXPECT_EQ(broken([](Graph& g) { g.states[0].state.init.attrs.set("value", Literal{}); }),
            "graph g: state w: attribute value is a literal without an array");
}

TEST(Verify, States) {
  EXPECT_EQ(broken([](Graph& g) { g.states[0].state.name = "v"; }),
            "graph g: state v has a value of another name: w");
  EXPECT_EQ(broken([](Graph& g) { g.states[0].state.type.dtype = DType::f16; }),
            "graph g: state w is f16[2], its value is f32[2]");
  EXPECT_EQ(broken([](Graph& g) { g.nexts[0].state = "ww"; }),
            "graph g: next names the state ww, which the graph does not have. Did you mean 'w'?");
  EXPECT_EQ(broken([](Graph& g) {
              g.nexts.push_back({"w", 2});
            }),
            "graph g: state w has two next values");
  EXPECT_EQ(
      broken([](Graph& g) { g.values[3].type.shape = {3}; }),
      "graph g: node %b: next w is %b, a f32[3], but the state is f32[2]. Cast or reshape it");
  EXPECT_EQ(broken([](Graph& g) {
              g.nexts[0].value = 0;
              g.values[0].type.dtype = DType::i32;
            }),
            "graph g: next w is x, a i32[2], but the state is f32[2]. Cast or reshape it");
}

TEST(Verify, Fetches) {
  EXPECT_EQ(broken([](Graph& g) {
              g.fetches.push_back({"b", 0});
            }),
            "graph g: two fetches are named b");
}

TEST(Verify, Sizes) {
  EXPECT_EQ(broken([](Graph& g) {
              g.values[0].type.shape = {-3, 2};
            }),
            "graph g: x is f32[-3,2], where the size -3 may be -3");
  const Dim n = Dim::symbol("n", 1, 9);
  EXPECT_EQ(broken([&](Graph& g) { g.values[2].type.shape = {n - 2}; }),
            "graph g: node %a @ m.0 (f.cpp:7): %a is f32[n-2], where the size n-2 may be -1. Raise "
            "the least value of its symbols");
  EXPECT_EQ(broken([&](Graph& g) { g.values[2].type.shape = {n - 1}; }), "no error");
}

TEST(Verify, Symbols) {
  const Dim n = Dim::symbol("n", 1, 9), other = Dim::symbol("n", 1, 8);
  EXPECT_EQ(broken([&](Graph& g) {
              g.values[0].type.shape = {n};
              g.values[2].type.shape = {other};
            }),
            "symbol n has two ranges in graph g: [1, 9] and [1, 8]");
  EXPECT_EQ(broken([&](Graph& g) {
              g.values[0].type.shape = {n};
              g.states[0].state.init.attrs.set("n", other);
            }),
            "symbol n has two ranges in graph g: [1, 9] and [1, 8]");
  EXPECT_EQ(broken([](Graph& g) { g.values[0].type.shape = {Dim::symbol("f16", 1, 2)}; }),
            "graph g: \"f16\" cannot name a symbol: letters, digits and '_', not a dtype, true, "
            "false, inf, nan, min or max");
}

/// What the verifier says of a feed on this place.
std::string placed(const std::string& place) {
  try {
    parse("graph g(x: f32[2,2] on " + place + ") {}", "f");
  } catch (const UserError& e) {
    return e.what();
  }
  return "no error";
}

TEST(Verify, Places) {
  EXPECT_EQ(placed("cuda[0,1](S(1))"), "no error");
  EXPECT_EQ(placed("cuda[0,1](S(2))"),
            "f: graph g: x is f32[2,2] on cuda[0,1](S(2)): it splits dimension 2, but the value "
            "has 2");
  EXPECT_EQ(placed("cuda[0,1]{2,2}(B,B)"),
            "f: graph g: x is f32[2,2] on cuda[0,1]{2,2}(B,B): the mesh [2,2] does not match its 2 "
            "ranks");
  EXPECT_EQ(placed("cuda[0]{4611686018427387904,4}(B,B)"),
            "f: graph g: x is f32[2,2] on cuda[0]{4611686018427387904,4}(B,B): the mesh "
            "[4611686018427387904,4] does not match its 1 ranks");
  EXPECT_EQ(placed("cuda[0,1](B,B)"),
            "f: graph g: x is f32[2,2] on cuda[0,1](B,B): there are 2 layouts for 1 mesh axes");
  EXPECT_EQ(placed("cuda[](B)"),
            "f: graph g: x is f32[2,2] on cuda[](B): a mesh axis cannot have the size 0");
  EXPECT_EQ(placed("cuda[1,1](B)"),
            "f: graph g: x is f32[2,2] on cuda[1,1](B): rank 1 is listed twice");
  EXPECT_EQ(broken([](Graph& g) {
              g.values[2].type.place = {"cuda", {-4}, {1}, {{}}};
            }),
            "graph g: node %a @ m.0 (f.cpp:7): %a is f32[2] on cuda[-4](B): a rank cannot be -4");
}

TEST(Verify, Packages) {
  const Graph g = sound();
  EXPECT_EQ(message(Package{{g, g}}), "two graphs are named g");
  Graph other = g;
  other.name = "h";
  EXPECT_EQ(message(Package{{g, other}}), "no error");
  other.states[0].state.role = Role::kSlot;
  EXPECT_EQ(
      message(Package{{g, other}}),
      "state w is declared differently in graph h: f32[2] here, f32[2] before (type, role and "
      "initial value must agree)");
  Graph one = g, two = g;
  two.name = "h";
  one.values[0].type.shape = {Dim::symbol("n", 1, 4)};
  two.values[0].type.shape = {Dim::symbol("n", 1, 5)};
  EXPECT_EQ(message(Package{{one, two}}),
            "symbol n has two ranges: [1, 4] in graph g and [1, 5] in graph h");
}

}  // namespace
}  // namespace plait::ir
