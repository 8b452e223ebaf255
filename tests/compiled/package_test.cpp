// Programs of one package over one memory: states stay where they are whichever program runs, what
// one program leaves the next one finds, rounded copies and packed weights included, and memory is
// the largest program's.
#include "backends/backends.h"
#include "base/text.h"
#include "ir/text.h"
#include "tests/compiled/compiled_case.h"
#include "tests/compiled/counted_target.h"

namespace plait::test {
namespace {

/// Every number is a small integer: sums are exact in any order.
constexpr const char* kPackage = R"(
symbol n = 1..40

graph train(x: bf16[16,32], image: f32[2,16,5,5]) state(
    w: f32[32,32], v: f32[16,16,3,3], steps: i64[] as counter) {
  %w.bf16 = cast(w, dtype=bf16)     : bf16[32,32]
  %a = linear(x, %w.bf16)           : bf16[16,32]
  %g = matmul(%a, x, transpose_a=true) : bf16[32,32]
  %d = cast(%g, dtype=f32)          : f32[32,32]
  %e = constant(value=f32[]{0.0009765625}) : f32[]
  %s = mul(%d, %e)                  : f32[32,32]
  %s.floor = floor(%s)              : f32[32,32]
  %w2 = sub(w, %s.floor)            : f32[32,32]
  %y = conv2d(image, v, padding=[1,1]) : f32[2,16,5,5]
  %z = sum(%y)                      : f32[]
  %v2 = neg(v)                      : f32[16,16,3,3]
  %one = constant(value=i64[]{1})   : i64[]
  %more = add(steps, %one)          : i64[]
  next w = %w2
  next v = %v2
  next steps = %more
  return a = %a, z = %z
}
graph eval(x: bf16[n,32]) state(w: f32[32,32], b: f32[32]) {
  %w.half = cast(w, dtype=bf16)     : bf16[32,32]
  %a = linear(x, %w.half)           : bf16[n,32]
  %f = cast(%a, dtype=f32)          : f32[n,32]
  %o = linear(%f, w, b)             : f32[n,32]
  return %o
}
graph big(x: f32[300,32]) state(w: f32[32,32]) {
  %o = linear(x, w)                 : f32[300,32]
  return %o
}
graph apply(k: f32[32,32]) state(w: f32[32,32], b: f32[32]) {
  %w3 = add(w, k)                   : f32[32,32]
  %b3 = sum(w, axes=[0])            : f32[32]
  next w = %w3
  next b = %b3
}
graph scan() state(v: f32[16,16,3,3], old: f32[16,16,3,3]) {
  %c = cumsum(v, axis=1)            : f32[16,16,3,3]
  %t = constant(value=f32[]{0.125}) : f32[]
  %l = mul(%c, %t)                  : f32[16,16,3,3]
  %r = floor(%l)                    : f32[16,16,3,3]
  next v = %r
  next old = v
  return %c
})";

Array numbers(DType dtype, Sizes sizes, int seed) {
  Array out(dtype, std::move(sizes));
  for (std::int64_t i = 0; i < out.count(); ++i) out.set(i, (i * 7 + i / 5 + seed) % 5 - 2);
  return out;
}

/// By the first letter: t, e (with 3 rows), E (with 40), b, a, s.
RunRequest request_of(char graph, int run) {
  switch (graph) {
    case 't':
      return {"train",
              {{"x", numbers(DType::bf16, {16, 32}, run)},
               {"image", numbers(DType::f32, {2, 16, 5, 5}, run)}},
              {}};
    case 'e':
      return {"eval", {{"x", numbers(DType::bf16, {3, 32}, run)}}, {}};
    case 'E':
      return {"eval", {{"x", numbers(DType::bf16, {40, 32}, run)}}, {}};
    case 'b':
      return {"big", {{"x", numbers(DType::f32, {300, 32}, run)}}, {}};
    case 'a':
      return {"apply", {{"k", numbers(DType::f32, {32, 32}, run)}}, {}};
    default:
      return {"scan", {}, {}};
  }
}

/// The same package run by the definition, each graph with numbers for its symbols.
class Reference {
 public:
  explicit Reference(const ir::Package& package) : package_(package) {}

  Arrays run(const RunRequest& request) {
    ir::Graph graph = find_graph(package_, request.graph);
    if (graph.name == "eval") {
      graph = ir::substitute(graph, {{"n", Dim(request.feeds.at("x").sizes()[0])}});
    }
    Session session({{graph}}, make_target("ref"));
    for (auto& [name, value] : states) {
      if (graph.find_state(name)) session.set_state(name, value);
    }
    Arrays results = session.run(request);
    for (auto& [name, value] : states) {
      if (graph.find_state(name)) value = session.state(name);
    }
    return results;
  }

  Arrays states;

 private:
  const ir::Package& package_;
};

class Packages : public CompiledCase {
 protected:
  Session session() {
    counts_ = std::make_shared<Counts>();
    return with_values(
        Session(package_, std::make_unique<CountedTarget>(target_under_test(), counts_)));
  }

  Session with_values(Session made) {
    for (const ir::State& s : ir::state_table(package_)) {
      made.set_state(s.name, numbers(s.type.dtype, sizes_of(s.type.shape), 3));
    }
    return made;
  }

  /// Runs graphs in this order, each against its definition.
  void expect_runs(const std::string& order) {
    SCOPED_TRACE(order);
    Session ours = with_values(Session(package_, target_under_test()));
    Reference reference(package_);
    for (const std::string& name : ours.state_names()) {
      reference.states.emplace(name, ours.state(name));
    }
    for (std::size_t i = 0; i < order.size(); ++i) {
      const RunRequest request = request_of(order[i], static_cast<int>(i));
      EXPECT_EQ(differing_bits(ours.run(request), reference.run(request)), "") << "run " << i;
    }
    for (const auto& [name, value] : reference.states) {
      EXPECT_TRUE(ours.state(name).same_bits(value)) << name;
    }
  }

  std::int64_t states_moved() const {
    const auto moved = counts_->moved.find("states");
    return moved == counts_->moved.end() ? 0 : moved->second;
  }

  const ir::Package package_ = ir::parse(kPackage);
  std::shared_ptr<Counts> counts_;
};

TEST_F(Packages, WhatOneLeavesTheNextFinds) {
  // The first sets the table; programs that come later append to it, and memory grows.
  for (const char* order : {"tettEtbte", "etebEtE", "bbtb", "tatEate", "atea", "tsts", "stest"}) {
    expect_runs(order);
  }
}

TEST_F(Packages, WhatOneLeavesTheNextFindsBetweenFences) {
  for (const std::string& mode : protected_modes()) {
    const Fence fence(mode);
    expect_runs("tetaEst");
  }
  const Fence fill("fill");
  expect_runs("tetaEbst");
}

TEST_F(Packages, FromOneToTheOtherNothingIsCopied) {
  Session alone = session();
  for (int i = 0; i < 4; ++i) alone.run(request_of('t', i));
  Arrays wanted;
  for (const std::string& name : alone.state_names()) wanted.emplace(name, alone.state(name));
  const std::string bytes = program::to_text(alone.program(request_of('t', 0)));

  Session both = session();
  both.run(request_of('t', 0));
  both.run(request_of('E', 0));
  ASSERT_GT(states_moved(), 0);  // their first values
  counts_->moved.clear();
  for (int i = 1; i < 4; ++i) {
    both.run(request_of('t', i));
    both.run(request_of('E', i));
    both.run(request_of('e', i));
  }
  EXPECT_EQ(states_moved(), 0);
  for (const auto& [name, value] : wanted) {
    EXPECT_TRUE(both.state(name).same_bits(value)) << name;
  }
  // What comes behind it changes nothing of the first program.
  program::Program first = both.program(request_of('t', 0));
  program::Program same = program::from_bytes(bytes, "alone");
  EXPECT_EQ(program::difference(first, same), "");
}

TEST_F(Packages, MemoryIsThatOfTheLargest) {
  Session one = session();
  const std::int64_t big = one.program(request_of('b', 0)).work_bytes();
  Session all = session();
  all.prepare(request_of('t', 0));
  const program::Program train = all.program(request_of('t', 0));
  EXPECT_EQ(all.planned_bytes(), train.peak_bytes());
  all.prepare(request_of('b', 0));
  ASSERT_GT(big, train.work_bytes());
  EXPECT_EQ(all.planned_bytes(), train.states_bytes + big);
  all.prepare(request_of('E', 0));
  all.prepare(request_of('a', 0));
  std::int64_t work = 0, fixed = all.table().bytes();
  for (const char graph : {'t', 'b', 'E', 'a'}) {
    const program::Program& p = all.program(request_of(graph, 0));
    work = std::max(work, p.work_bytes());
    fixed += p.constants_bytes;
  }
  EXPECT_EQ(all.planned_bytes(), fixed + work);
  EXPECT_EQ(counts_->all_allocated(), all.planned_bytes());
}

TEST_F(Packages, ATableIsReadOffAProgram) {
  Session s = session();
  s.prepare(request_of('t', 0));
  EXPECT_EQ(program::text(s.table()),
            "w f32[32,32] [0,1] advanced\n"
            "v f32[16,16,3,3] [0,2,3,1] advanced\n"
            "steps i64[] [] advanced\n"
            "w bf16[32,32] [0,1] copy advanced\n");
  s.prepare(request_of('E', 0));
  EXPECT_EQ(program::text(program::table_of(s.program(request_of('E', 0)))),
            program::text(s.table()));
  EXPECT_EQ(s.table().entries.size(), 5u);
}

TEST_F(Packages, AProgramOverOtherStatesIsRefused) {
  Session s = session(), other = session();
  const program::Program apply = other.program(request_of('a', 0));
  s.prepare(request_of('t', 0));
  EXPECT_THROW(s.use_program(request_of('a', 0), apply), UserError);
  // Planned before the copy of w was there, which it would leave behind.
  s.use_program(request_of('t', 0), s.program(request_of('t', 0)));
}

/// Feeds that travel beside a run are not lost when another program runs next.
TEST_F(Packages, FeedsGivenAheadOutlastAnotherProgram) {
  const ir::Package package = ir::parse(R"(
graph step(x: f32[64,512]) state(w: f32[64,512]) {
  %y = add(w, x) : f32[64,512]
  next w = %y
  return %y
}
graph look(k: f32[64,512]) state(w: f32[64,512]) {
  %a = mul(w, k) : f32[64,512]
  return %a
})");
  Session s(package, target_under_test());
  Array sum = s.state("w");
  std::vector<Array> xs;
  for (int i = 0; i < 4; ++i) xs.push_back(numbers(DType::f32, {64, 512}, i));
  Arrays next;
  bool given = false;
  for (std::size_t i = 0; i < xs.size(); ++i) {
    const Arrays now = given ? next : Arrays{{"x", xs[i]}};
    const bool ahead = given;
    given = false;
    s.run({"step", now, {}, ahead}, [&]() -> const Arrays* {
      if (i + 1 == xs.size()) return nullptr;
      given = true;
      next = {{"x", xs[i + 1]}};
      return &next;
    });
    s.run({"look", {{"k", xs[0]}}, {}});
    for (std::int64_t e = 0; e < sum.count(); ++e) sum.set(e, sum.real(e) + xs[i].real(e));
    EXPECT_TRUE(s.state("w").same_bits(sum)) << "step " << i;
  }
}

}  // namespace
}  // namespace plait::test
