// Copies of states that are kept rounded: always what the state is, rounded, whoever changed it,
// and the step's results are those of a step that rounds anew.
#include <set>

#include "ir/text.h"
#include "ops/initializers.h"
#include "run/compile.h"
#include "run/executor.h"
#include "tests/compiled/compiled_case.h"

namespace plait::test {
namespace {

/// Every number is a small integer: sums are exact in any order.
constexpr const char* kGraph = R"(graph train(x: bf16[16,8], k: f32[3,3,4,4]) state(
    w: f32[8,8] = constant(value=1.5),
    v: f32[3,3,4,4] = constant(value=0.0),
    old: f32[8,8] = constant(value=2.0),
    fixed: f32[8,8] = constant(value=1.0)) {
  %w.bf16 = cast(w, dtype=bf16)         : bf16[8,8]
  %v.f16 = cast(v, dtype=f16)           : f16[3,3,4,4]
  %fixed.bf16 = cast(fixed, dtype=bf16) : bf16[8,8]
  %old.bf16 = cast(old, dtype=bf16)     : bf16[8,8]
  %a = linear(x, %w.bf16)               : bf16[16,8]
  %b = linear(%a, %fixed.bf16)          : bf16[16,8]
  %g = matmul(%b, %w.bf16, transpose_b=true) : bf16[16,8]
  %h = matmul(%g, x, transpose_a=true)  : bf16[8,8]
  %d = cast(%h, dtype=f32)              : f32[8,8]
  %e = constant(value=f32[]{0.0009765625}) : f32[]
  %s = mul(%d, %e)                      : f32[8,8]
  %n = sub(w, %s)                       : f32[8,8]
  %m = add(v, k)                        : f32[3,3,4,4]
  %q = neg(%v.f16)                      : f16[3,3,4,4]
  next w = %n
  next v = %m
  next old = w
  return a = %a, q = %q, o = %old.bf16
})";

class Kept : public CompiledCase {
 protected:
  static Executor executor_of(bool fuse) {
    const auto target = target_under_test();
    CompileRequest request;
    request.plan.fuse = fuse;
    Executor made(compile(ir::parse(kGraph, "g").graphs.at(0), *target, request).program,
                  target->open());
    for (const program::StateBinding& s : made.program().states) {
      made.memory().set_state(s.state.name, initial_value(s.state, 0));
    }
    return made;
  }

  static void give_feeds(Executor& executor, int run) {
    Array x(DType::bf16, {16, 8}), k(DType::f32, {3, 3, 4, 4});
    for (std::int64_t i = 0; i < x.count(); ++i) x.set(i, (i * 7 + run) % 5 - 2);
    for (std::int64_t i = 0; i < k.count(); ++i) k.set(i, (i * 3 + run) % 4);
    executor.set_feed("x", x);
    executor.set_feed("k", k);
  }

  /// Of every copy that the program keeps.
  static void expect_rounded(const Executor& executor, const std::string& when) {
    for (const program::Binding& copy : executor.program().rounded) {
      const Array got = executor.value(copy.view);
      EXPECT_TRUE(got.same_bits(executor.state(copy.name).cast(got.dtype())))
          << copy.name << ' ' << when;
    }
  }
};

TEST_F(Kept, ThoseThatAreAdvancedAndReadRoundedAlone) {
  const Executor executor = executor_of(true);
  const program::Program& p = executor.program();
  std::set<std::string> of;
  for (const program::Binding& copy : p.rounded) of.insert(copy.name);
  // `fixed` never changes, what `old` becomes no node makes.
  EXPECT_EQ(of, (std::set<std::string>{"w", "v"}));
  EXPECT_EQ(p.states.size(), 4u);
  EXPECT_TRUE(executor_of(false).program().rounded.empty());
  std::string kept;
  for (const LogEntry& e : p.log) {
    if (e.pass == "keep") kept += e.node + ' ';
  }
  EXPECT_EQ(kept, "%w.bf16 %v.f16 ");
}

TEST_F(Kept, RunsAreThoseThatRoundAnew) {
  Executor kept = executor_of(true), anew = executor_of(false);
  for (int run = 0; run < 4; ++run) {
    for (Executor* e : {&kept, &anew}) {
      give_feeds(*e, run);
      e->run();
    }
    EXPECT_EQ(differing_bits(kept.fetches(), anew.fetches()), "") << "run " << run;
    for (const char* state : {"w", "v", "old"}) {
      EXPECT_TRUE(kept.state(state).same_bits(anew.state(state))) << state << " after " << run;
    }
    expect_rounded(kept, str("after run ", run));
  }
}

TEST_F(Kept, WhoeverSetsTheState) {
  Executor executor = executor_of(true);
  expect_rounded(executor, "at first");
  for (const char* state : {"w", "v"}) {
    Array given = executor.state(state);
    for (std::int64_t i = 0; i < given.count(); ++i) given.set(i, 0.1 * static_cast<double>(i));
    executor.memory().set_state(state, given);
    expect_rounded(executor, "when it is set");
    executor.memory().fill_state(state, Array::of(DType::f32, {3}, {0.1, 0.2, 0.3}));
    expect_rounded(executor, "when it is filled");
    executor.memory().zero_state(state);
    expect_rounded(executor, "when it is zero");
    EXPECT_EQ(executor.state(state).real(0), 0);
  }
}

TEST_F(Kept, InAFileToo) {
  const Executor executor = executor_of(true);
  const auto target = target_under_test();
  Executor read(program::from_bytes(program::to_bytes(executor.program()), "f"), target->open());
  ASSERT_EQ(read.program().rounded.size(), 2u);
  read.memory().set_state("w", Array::of(DType::f32, {8, 8}, std::vector<double>(64, 0.1)));
  read.memory().set_state("v", Array::of(DType::f32, {3, 3, 4, 4}, std::vector<double>(144, 0.7)));
  expect_rounded(read, "when it is set");
}

}  // namespace
}  // namespace plait::test
