// Values that are recomputed where they are read, and steps that run twice: the log says so, less
// memory is taken, and the results are those of the definition.
#include "ir/text.h"
#include "tests/compiled/compiled_case.h"
#include "tests/compiled/noise.h"

namespace plait::test {
namespace {

struct Case {
  const char* name;
  const char* again;  // values recomputed by their readers, or steps that run twice
  const char* pass;   // whose decision it is: "group", or "order" for steps
  const char* text;
};

constexpr Case kCases[] = {
    {"MaskAndDoubleOfARelu", "%mask %twice", "group",
     R"(graph g(x: bf16[16,24], w: bf16[40,24], v: bf16[24,40]) {
  %two = constant(value=bf16[]{2.0}) : bf16[]
  %zero = constant(value=bf16[]{0.0}) : bf16[]
  %k = linear(x, w)       : bf16[16,40]
  %r = relu(%k)           : bf16[16,40]
  %q = square(%r)         : bf16[16,40]
  %mask = greater(%r, %zero) : bool[16,40]
  %twice = mul(%two, %r)  : bf16[16,40]
  %o = linear(%q, v)      : bf16[16,24]
  %c = cumsum(%o)         : bf16[16,24]
  %e = linear(%c, w)      : bf16[16,40]
  %f = mul(%e, %twice)    : bf16[16,40]
  %g = where(%mask, %f, %zero) : bf16[16,40]
  %h = matmul(%g, w)      : bf16[16,24]
  return %h
})"},
    {"WidenedByItsReaders", "%wide", "group",
     R"(graph g(x: bf16[16,24], w: bf16[40,24]) {
  %k = linear(x, w)       : bf16[16,40]
  %wide = cast(%k, dtype=f32) : f32[16,40]
  %s = sum(%wide, axes=[1], keep=true) : f32[16,1]
  %c = cumsum(%k)         : bf16[16,40]
  %d = cast(%c, dtype=f32) : f32[16,40]
  %m = mul(%wide, %d)     : f32[16,40]
  %t = sum(%m, axes=[0])  : f32[40]
  return %s, %t
})"},
    {"ANormFromItsStatistics", "%n", "group",
     R"(graph g(x: bf16[64,64], w: bf16[64,64]) {
  %k = linear(x, w)       : bf16[64,64]
  %f = cast(%k, dtype=f32) : f32[64,64]
  %m = mean(%f, axes=[1], keep=true) : f32[64,1]
  %s = sub(%f, %m)        : f32[64,64]
  %q = square(%s)         : f32[64,64]
  %v = mean(%q, axes=[1], keep=true) : f32[64,1]
  %e = constant(value=f32[]{0.1}) : f32[]
  %a = add(%v, %e)        : f32[64,1]
  %i = rsqrt(%a)          : f32[64,1]
  %n = mul(%s, %i)        : f32[64,64]
  %p = pad(%n, low=[1,0], high=[-1,0]) : f32[64,64]
  %y = add(%n, %p)        : f32[64,64]
  %c = cumsum(%y)         : f32[64,64]
  %g = mul(%c, %n)        : f32[64,64]
  %t = sum(%g, axes=[0])  : f32[64]
  return %t
})"},
    {"OneMoreOnceOthersAre", "%c %f", "group",
     R"(graph g(x: bf16[64,64], w: bf16[64,64], v: bf16[64,64], m: f32[64], k: f32[64]) {
  %p = linear(x, w)       : bf16[64,64]
  %q = linear(x, v)       : bf16[64,64]
  %e = cast(%p, dtype=f32) : f32[64,64]
  %f = cast(%q, dtype=f32) : f32[64,64]
  %a = mul(%e, m)         : f32[64,64]
  %b = mul(%f, k)         : f32[64,64]
  %c = add(%a, %b)        : f32[64,64]
  %d = pad(%c, low=[-1,0], high=[1,0]) : f32[64,64]
  %g = mul(%e, k)         : f32[64,64]
  %h = mul(%f, m)         : f32[64,64]
  %i = add(%g, %h)        : f32[64,64]
  %y = add(%i, %d)        : f32[64,64]
  %t = sum(%y, axes=[1])  : f32[64]
  return %t
})"},
    {"ThreeOfOneMadeTwice", "%c", "order",
     R"(graph g(x: f32[48,48], w: f32[48,48]) {
  %h = matmul(x, w)       : f32[48,48]
  %j = pad(%h, low=[1,0], high=[-1,0]) : f32[48,48]
  %a = add(%h, %j)        : f32[48,48]
  %b = mul(%h, %j)        : f32[48,48]
  %c = sub(%h, %j)        : f32[48,48]
  %p = matmul(%a, w)      : f32[48,48]
  %q = matmul(%b, w)      : f32[48,48]
  %r = matmul(%c, w)      : f32[48,48]
  %u = unsqueeze(%p, axes=[2]) : f32[48,48,1]
  %v = unsqueeze(%q, axes=[1]) : f32[48,1,48]
  %o = mul(%u, %v)        : f32[48,48,48]
  %s = cumsum(%o)         : f32[48,48,48]
  %t = sum(%s, axes=[2])  : f32[48,48]
  %l = add(%t, %r)        : f32[48,48]
  %i = matmul(%a, %l, transpose_a=true) : f32[48,48]
  %y = matmul(%b, %l, transpose_a=true) : f32[48,48]
  %z = matmul(%c, %l, transpose_a=true) : f32[48,48]
  %k = add(%h, %z)        : f32[48,48]
  return %i, %y, %k
})"},
};

class Again : public CompiledCase, public testing::WithParamInterface<Case> {};

TEST_P(Again, IsLoggedAndTakesLessMemory) {
  const ir::Graph graph = ir::parse_graph(GetParam().text);
  const program::Program program = compile(graph, *target_under_test()).program;
  std::string made;
  for (const LogEntry& e : program.log) {
    if (e.what == "recomputed" && e.pass == GetParam().pass) made += e.node + "\n";
  }
  for (const std::string& value : split(GetParam().again, ' ')) {
    EXPECT_NE(made.find(value), std::string::npos) << value << " is not among\n" << made;
  }
  if (GetParam().pass == std::string("group")) {
    for (const program::View& view : program.views) {
      for (const std::string& value : split(GetParam().again, ' ')) {
        EXPECT_NE("%" + view.name, value) << "is in memory";
      }
    }
  }
}

TEST_P(Again, AgreesWithItsDefinition) {
  const ir::Graph graph = ir::parse_graph(GetParam().text);
  const NamedArrays inputs = random_inputs(graph, 3, false);
  const Expected expected = expected_of(graph, inputs, 3);
  Arrays feeds;
  for (ir::ValueId id : graph.feeds) feeds[graph.value(id).name] = inputs.at(graph.value(id).name);
  const Arrays got = run_compiled(graph, feeds);
  EXPECT_EQ(agreement(expected, got).first, "");
  if (!may_differ()) return;
  EXPECT_EQ(differing_bits(got, run_compiled(graph, feeds, {}, 3)), "");
}

INSTANTIATE_TEST_SUITE_P(Graphs, Again, testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace plait::test
