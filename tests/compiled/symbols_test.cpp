// One program for all sizes of a symbol: compiled once, run at its ends and between, equal to the
// reference with the size put in.
#include <stdlib.h>

#include <filesystem>

#include "ir/text.h"
#include "ops/verify.h"
#include "tests/compiled/compiled_case.h"
#include "tests/compiled/noise.h"
#include "tests/raises.h"
#include "tests/temporary.h"

namespace plait::test {
namespace {

class Symbols : public CompiledCase {
 protected:
  /// A cache of its own: what is in it is counted.
  static void SetUpTestSuite() {
    static const TemporaryFolder cache;
    ::setenv("PLAIT_CACHE", cache.path().c_str(), 1);
  }

  /// Compiled kernels and kept plans.
  static std::size_t cached() {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(::getenv("PLAIT_CACHE"))) {
      count += entry.is_regular_file();
    }
    return count;
  }

  /// Runs the session at one size and holds it against the reference.
  static void expect_at(Session& session, const ir::Graph& graph, const DimBindings& sizes) {
    const ir::Graph fixed = ir::substitute(graph, sizes);
    NamedArrays inputs = random_inputs(fixed, 5, false);
    Arrays feeds;
    for (ir::ValueId id : fixed.feeds) {
      const std::string& name = fixed.value(id).name;
      feeds[name] = inputs[name] = random_feed(fixed, id, 5);  // indices within their range
    }
    for (const ir::StateUse& use : fixed.states) {
      session.set_state(use.state.name, inputs.at(use.state.name));
    }
    Arrays got = session.run({"", feeds, {}});
    for (const ir::NextState& n : fixed.nexts) got["next " + n.state] = session.state(n.state);
    EXPECT_EQ(agreement(expected_of(fixed, inputs, 3), got).first, "");
  }

  static void expect_one_program(const std::string& text) {
    const ir::Graph graph = ir::parse_graph(text);
    SCOPED_TRACE(text);
    Session session = compiled_session(graph);
    expect_at(session, graph, {{"n", 64}});
    const std::size_t compiled = cached();
    for (std::int64_t n : {1, 7, 64, 1, 33}) {
      SCOPED_TRACE(n);
      expect_at(session, graph, {{"n", n}});
    }
    EXPECT_EQ(cached(), compiled) << "something was compiled again";
  }
};

/// States as feeds, what they become as fetches: a state has no symbolic size.
ir::Graph without_states(ir::Graph graph) {
  for (const ir::StateUse& use : graph.states) graph.feeds.push_back(use.value);
  for (const ir::NextState& n : graph.nexts) graph.fetches.push_back({"next_" + n.state, n.value});
  graph.states.clear();
  graph.nexts.clear();
  return graph;
}

/// Whether a feed's shape says how large the symbol is.
bool is_fed(const ir::Graph& graph, const std::string& symbol) {
  for (ir::ValueId id : graph.feeds) {
    for (const Dim& d : graph.type(id).shape) {
      if (d.text() == symbol) return true;
    }
  }
  return false;
}

const char* const kTraining = R"(symbol n = 1..64
graph step(x: f32[n,24], t: i64[n]) state(w: f32[5,24], b: f32[5]) {
  %y = linear(x, w, b)              : f32[n,5]
  %p = softmax(%y, axis=1)          : f32[n,5]
  %h = one_hot(t, depth=5) : f32[n,5]
  %d = sub(%p, %h)                  : f32[n,5]
  %dw = matmul(%d, x, transpose_a=true) : f32[5,24]
  %db = sum(%d, axes=[0])           : f32[5]
  %w1 = sub(w, %dw)                 : f32[5,24]
  %b1 = sub(b, %db)                 : f32[5]
  next w = %w1
  next b = %b1
  return p = %p
})";

TEST_F(Symbols, OneProgramServesEveryBatch) { expect_one_program(kTraining); }

TEST_F(Symbols, ReductionsAlongAndAcrossASymbol) {
  expect_one_program(R"(symbol n = 1..64
graph g(x: f32[n,6,10], y: f64[n]) {
  %rows = sum(x, axes=[2])                        : f32[n,6]
  %columns = mean(x, axes=[0])                    : f32[6,10]
  %all = max(x)                                   : f32[]
  %norm = layer_norm(x, last=2)                   : f32[n,6,10]
  %soft = softmax(y, axis=0)                      : f64[n]
  return %rows, %columns, %all, %norm, %soft
})");
}

TEST_F(Symbols, MovesOfASymbol) {
  expect_one_program(R"(symbol n = 1..64
graph g(x: f32[n,4], i: i64[n]) state(table: bf16[5,3]) {
  %t = transpose(x, order=[1,0])                  : f32[4,n]
  %flat = reshape(%t, shape=[4*n])                : f32[4*n]
  %twice = concat(%flat, %flat, axis=0)           : f32[8*n]
  %back = flip(%twice, axes=[0])                  : f32[8*n]
  %wide = pad(x, low=[1,0], high=[2,0], value=0.5) : f32[3+n,4]
  %rows = gather(table, i)                        : bf16[n,3]
  return %back, %wide, %rows
})");
}

TEST_F(Symbols, ProductsOfOneShape) {  // on a device one launch, of as many blocks as n needs
  expect_one_program(R"(symbol n = 1..64
graph g(x: bf16[n,48], y: f32[n,24]) state(
    k: bf16[32,48], v: bf16[32,48], a: f32[16,24], b: f32[16,24]) {
  %kk = linear(x, k)                               : bf16[n,32]
  %vv = linear(x, v)                               : bf16[n,32]
  %aa = linear(y, a)                               : f32[n,16]
  %bb = linear(y, b)                               : f32[n,16]
  %s = cumsum(%bb, axis=0)                         : f32[n,16]
  return %kk, %vv, %aa, %s
})");
}

TEST_F(Symbols, ConvolutionsOfASymbol) {
  expect_one_program(R"(symbol n = 1..64
graph g(x: f32[n,3,9,9]) state(k: f32[4,3,3,3]) {
  %y = conv2d(x, k, padding=[1,1], stride=[2,2])  : f32[n,4,5,5]
  %r = relu(%y)                                   : f32[n,4,5,5]
  %p = max_pool2d(%r, kernel=[2,2], stride=[2,2]) : f32[n,4,2,2]
  %m = mean(%p, axes=[0,2,3])                     : f32[4]
  return %r, %m
})");
}

TEST_F(Symbols, ScansAndScattersOfASymbol) {
  expect_one_program(R"(symbol n = 1..64
graph g(x: f32[3,n], i: i64[n], u: f32[n,2]) state(into: f32[5,2]) {
  %c = cumsum(x, axis=1)                          : f32[3,n]
  %s = scatter_add(into, i, u)                    : f32[5,2]
  return %c, %s
})");
}

TEST_F(Symbols, RandomGraphsOfASymbol) {
  for (std::uint64_t seed = 0; seed < soak_seeds(24); ++seed) {
    const ir::Graph graph = without_states(random_graph(seed, 16, true));
    if (!is_fed(graph, "n")) continue;
    SCOPED_TRACE(str("seed ", seed, "\n", ir::print(graph)));
    std::vector<DimBindings> valid;
    for (std::int64_t n : {1, 3, 4}) {
      try {
        verify_types(ir::substitute(graph, {{"n", n}}));
        valid.push_back({{"n", n}});
      } catch (const UserError&) {  // the largest of n - 1 elements, where n is 1
      }
    }
    Session session = compiled_session(graph);
    for (const DimBindings& sizes : valid) {
      SCOPED_TRACE(sizes.at("n").text());
      expect_at(session, graph, sizes);
    }
  }
}

TEST_F(Symbols, OutsideTheRangeIsRefused) {
  Session session = compiled_session(ir::parse_graph(kTraining));
  const auto feeds = [](std::int64_t x, std::int64_t t) {
    return Arrays{{"x", Array(DType::f32, {x, 24})}, {"t", Array(DType::i64, {t})}};
  };
  EXPECT_EQ(message_of<UserError>([&] {
              session.run({"", feeds(65, 65), {}});
            }),
            "size n=65 is outside its range 1..64");
  EXPECT_EQ(message_of<UserError>([&] {
              session.run({"", feeds(0, 0), {}});
            }),
            "size n=0 is outside its range 1..64");
  EXPECT_EQ(message_of<UserError>([&] {
              session.run({"", feeds(4, 5), {}});
            }),
            "feed 't' is i64[5], the graph wants i64[n]");
  EXPECT_EQ(session.run({"", feeds(64, 64), {}}).at("p").sizes(), (Sizes{64, 5}));
}

TEST_F(Symbols, ASizeThatNoFeedTellsIsAskedFor) {
  Session session = compiled_session(ir::parse_graph(R"(symbol n = 1..64
graph g() {
  %i = iota(axis=0, shape=[n]) : i64[n]
  return %i
})"));
  EXPECT_EQ(message_of<UserError>([&] { session.run({}); }), "the size n is not set");
}

}  // namespace
}  // namespace plait::test
