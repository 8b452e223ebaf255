// Sessions: feeds are checked, states advance together or not at all, values are freed.
#include "run/session.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include "backends/backends.h"
#include "ir/text.h"
#include "ops/evaluate.h"
#include "tests/raises.h"

namespace plait {
namespace {

using test::message_of;

const char* const kStep = R"(
graph step(x: f32[2], n: i64[]) state(w: f32[2] = ones, count: i64[] as counter) {
  %wx = add(w, x)       : f32[2]
  %more = add(count, n) : i64[]
  %loss = sum(%wx)      : f32[]
  next w = %wx
  next count = %more
  return loss = %loss, more = %more
}
graph look() state(w: f32[2] = ones) {
  %twice = add(w, w) : f32[2]
  return %twice
})";

Session session(const std::string& text = kStep, std::string_view backend = "ref") {
  return Session(ir::parse(text), make_backend(backend));
}

Arrays feeds() {
  return {{"x", Array::of(DType::f32, {2}, {1, 2})}, {"n", Array::scalar(DType::i64, 3)}};
}

std::string run_error(const RunRequest& request, const std::string& text = kStep) {
  Session s = session(text);
  return message_of<UserError>([&] { s.run(request); });
}

/// Runs as `ref` does but for one op.
class Without : public Backend {
 public:
  Without(std::string op, bool at_run_time) : op_(std::move(op)), at_run_time_(at_run_time) {}
  std::string_view name() const override { return "fussy"; }
  Decision supports(const Op& op) const override {
    return op.name == op_ && !at_run_time_ ? Decision::forbid("no kernel") : Decision::allow();
  }
  std::vector<Array> execute(const NodeView& node,
                             const std::vector<const Array*>& inputs) override {
    if (node.op.name == op_) throw RunError("the device is gone");
    return evaluate(node, inputs);
  }

 private:
  std::string op_;
  bool at_run_time_;
};

/// Runs as `ref` does, when it may: it says that it has begun, and waits.
class Waiting : public Backend {
 public:
  struct Gate {
    std::promise<void> begun, open;
  };
  explicit Waiting(Gate& gate) : gate_(gate) {}
  std::string_view name() const override { return "waiting"; }
  Decision supports(const Op&) const override { return Decision::allow(); }
  std::vector<Array> execute(const NodeView& node,
                             const std::vector<const Array*>& inputs) override {
    if (!waited_.exchange(true)) {
      gate_.begun.set_value();
      gate_.open.get_future().wait();
    }
    return evaluate(node, inputs);
  }

 private:
  Gate& gate_;
  std::atomic<bool> waited_{false};
};

TEST(Session, OneThreadAtATime) {
  Waiting::Gate gate;
  Session s(ir::parse(kStep), std::make_unique<Waiting>(gate));
  auto other = std::async(std::launch::async, [&] { return s.run({"step", feeds(), {}}); });
  gate.begun.get_future().wait();
  const std::string in_use =
      "this session is in use by another call: it runs one graph at a time. Give each thread a "
      "session of its own, or let one wait for the other (a mutex round every call)";
  EXPECT_EQ(message_of<UserError>([&] { s.run({"step", feeds(), {}}); }), in_use);
  EXPECT_EQ(message_of<UserError>([&] { s.state("w"); }), in_use);
  EXPECT_EQ(message_of<UserError>([&] { s.set_state("w", Array(DType::f32, {2})); }), in_use);
  EXPECT_EQ(message_of<UserError>([&] { s.prepare({"step", {}, {}}); }), in_use);
  gate.open.set_value();
  EXPECT_EQ(other.get().at("loss").real(0), 5);
  EXPECT_EQ(s.run({"step", feeds(), {}}).at("loss").real(0), 8);  // one step was taken, not two
}

// Programs share a pool of threads, which takes two callers for a mistake of ours.
TEST(Session, TwoThreadsOnAProgram) {
  const std::string text =
      "graph g(x: f32[256,256]) state(w: f32[256,256] = ones) {\n"
      "  %y = matmul(x, w) : f32[256,256]\n  next w = %y\n  return %y\n}";
  Session s = make_session(ir::parse(text), "cpu", 0, 2);
  s.prepare({"g", {}, {}});
  const Arrays zeros{{"x", Array(DType::f32, {256, 256})}};
  std::atomic<int> refused{0}, wrong{0};
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  const auto work = [&] {
    while (refused == 0 && wrong == 0 && std::chrono::steady_clock::now() < deadline) {
      try {
        s.run({"g", zeros, {}});
      } catch (const UserError&) {
        ++refused;
      } catch (const std::exception&) {
        ++wrong;
      }
    }
  };
  std::thread other(work);
  work();
  other.join();
  EXPECT_GT(refused, 0);
  EXPECT_EQ(wrong, 0);
}

TEST(Session, RunsAndAdvancesStates) {
  Session s = session();
  Arrays first = s.run({"step", feeds(), {}});
  EXPECT_EQ(first.at("loss").real(0), 5);  // (1+1) + (1+2)
  EXPECT_EQ(first.at("more").integer(0), 3);
  Arrays second = s.run({"step", feeds(), {}});
  EXPECT_EQ(second.at("loss").real(0), 8);
  EXPECT_EQ(s.state("w").real(1), 5);
  EXPECT_EQ(s.state("count").integer(0), 6);
}

TEST(Session, GraphsShareTheirStates) {
  Session s = session();
  s.run({"step", feeds(), {}});
  EXPECT_EQ(s.run({"look", {}, {}}).at("twice").real(1), 6);
  EXPECT_EQ(s.state_names(), (std::vector<std::string>{"w", "count"}));
}

TEST(Session, TheFirstGraphIsTheDefault) {
  Session s = session();
  EXPECT_EQ(s.run({"", feeds(), {}}).count("loss"), 1u);
}

TEST(Session, FetchesByFetchOrValueName) {
  Session s = session();
  const Arrays got = s.run({"step", feeds(), {"loss", "wx", "x", "w"}});
  EXPECT_EQ(got.size(), 4u);
  EXPECT_EQ(got.at("wx").real(0), 2);
  EXPECT_EQ(got.at("x").real(0), 1);
  EXPECT_EQ(got.at("w").real(0), 1);  // before the step
}

TEST(Session, StatesCanBeSet) {
  Session s = session();
  s.set_state("w", Array::of(DType::f32, {2}, {10, 20}));
  EXPECT_EQ(s.run({"step", feeds(), {}}).at("loss").real(0), 33);
}

TEST(Session, TheNullBackendGivesZerosOfTheRightTypes) {
  Session s = session(kStep, "null");
  const Arrays got = s.run({"step", feeds(), {"loss", "wx"}});
  EXPECT_EQ(got.at("loss").real(0), 0);
  EXPECT_EQ(type_text(got.at("wx")), "f32[2]");
}

TEST(Session, AValueMayBeFetchedAndBecomeSeveralStates) {
  Session s = session(R"(graph g(x: f32[2]) state(a: f32[2], b: f32[2]) {
    %y = neg(x) : f32[2]
    next a = %y
    next b = %y
    return %y, again = %y, x, a
  })");
  const Arrays got = s.run({"", {{"x", Array::of(DType::f32, {2}, {1, 2})}}, {}});
  EXPECT_EQ(got.at("y").real(1), -2);
  EXPECT_EQ(got.at("again").real(1), -2);
  EXPECT_EQ(got.at("a").real(1), 0);
  EXPECT_EQ(s.state("a").real(1), -2);
  EXPECT_EQ(s.state("b").real(1), -2);
}

TEST(Session, StatesCanBeExchanged) {
  Session s = session(R"(graph g() state(a: f32[] = ones, b: f32[]) {
    next a = b
    next b = a
  })");
  s.run({});
  EXPECT_EQ(s.state("a").real(0), 0);
  EXPECT_EQ(s.state("b").real(0), 1);
}

TEST(Session, AFailedRunLeavesTheStates) {
  Session s(ir::parse(kStep), std::make_unique<Without>("sum", true));
  EXPECT_EQ(message_of<RunError>([&] { s.run({"step", feeds(), {}}); }), "the device is gone");
  EXPECT_EQ(s.state("w").real(0), 1);
  EXPECT_EQ(s.state("count").integer(0), 0);
}

TEST(Session, WhatNothingNeedsIsNotRun) {
  Session s(ir::parse(kStep), std::make_unique<Without>("sum", true));
  EXPECT_EQ(s.run({"step", feeds(), {"more"}}).at("more").integer(0), 3);
}

TEST(Session, MissingFeed) {
  EXPECT_EQ(run_error({"step", {{"n", Array::scalar(DType::i64, 3)}}, {}}),
            "feed 'x' (f32[2]) of graph step is not given");
}

TEST(Session, UnknownFeed) {
  Arrays given = feeds();
  given["xx"] = Array();
  EXPECT_EQ(run_error({"step", given, {}}),
            "graph step has no feed 'xx'. Did you mean 'x'? Its feeds are x, n");
  EXPECT_EQ(run_error({"look", given, {}}), "graph look has no feed 'n'. It has none");
}

TEST(Session, FeedOfAnotherType) {
  Arrays given = feeds();
  given["x"] = Array::of(DType::f32, {3}, {1, 2, 3});
  EXPECT_EQ(run_error({"step", given, {}}), "feed 'x' is f32[3], the graph wants f32[2]");
  given["x"] = Array::of(DType::f64, {2}, {1, 2});
  EXPECT_EQ(run_error({"step", given, {}}), "feed 'x' is f64[2], the graph wants f32[2]");
}

TEST(Session, UnknownGraph) {
  EXPECT_EQ(run_error({"stop", {}, {}}),
            "there is no graph 'stop'. Did you mean 'step'? There are step, look");
}

TEST(Session, UnknownFetch) {
  EXPECT_EQ(run_error({"step", feeds(), {"los"}}),
            "graph step has no fetch or value 'los'. Did you mean 'loss'?");
}

TEST(Session, UnknownState) {
  Session s = session();
  EXPECT_EQ(message_of<UserError>([&] { s.state("v"); }),
            "there is no state 'v'. Did you mean 'w'?");
  EXPECT_EQ(message_of<UserError>([&] { s.set_state("counts", Array()); }),
            "there is no state 'counts'. Did you mean 'count'?");
}

TEST(Session, StateOfAnotherType) {
  Session s = session();
  EXPECT_EQ(message_of<UserError>([&] { s.set_state("w", Array(DType::f32, {3})); }),
            "state 'w' is f32[3], the graph wants f32[2]");
}

TEST(Session, OpaqueNodesAreRefusedByName) {
  const std::string text = R"(graph g(x: f32[2]) {
    %y = opaque "Fancy"(x) : f32[2] @ blocks.1
    %z = neg(x) : f32[2]
    return %y, %z
  })";
  const Arrays given{{"x", Array(DType::f32, {2})}};
  EXPECT_EQ(run_error({"", given, {}}, text),
            "[Fancy] cannot be run: Plait lacks it, or this form of it (%y @ blocks.1)");
  Session s = session(text);
  EXPECT_EQ(s.run({"", given, {"z"}}).size(), 1u);  // nothing asked for needs it
}

TEST(Session, AnOpThatTheBackendLacks) {
  Session s(ir::parse(kStep), std::make_unique<Without>("sum", false));
  EXPECT_EQ(message_of<UserError>([&] {
              s.run({"step", feeds(), {}});
            }),
            "[sum] cannot be run on fussy: no kernel (%loss)");
}

TEST(Session, SymbolsMustBeSetFirst) {
  const std::string text =
      "symbol batch = 1..64\nsymbol t = 2..8\n"
      "graph g(x: f32[batch,t]) {\n return x\n}";
  EXPECT_EQ(message_of<UserError>([&] { session(text); }),
            "sizes must be numbers before a graph can run: batch (1..64), t (2..8). Set them "
            "first, as `--set batch=1,t=2` does");
}

TEST(Session, TypesThatAreNotWhatTheOpsComputeAreRefused) {
  const std::string text = "graph g(x: f32[2]) {\n %y = neg(x) : f32[9]\n return %y\n}";
  EXPECT_EQ(message_of<UserError>([&] { session(text); }),
            "[neg] states f32[9], computes f32[2] (%y)");
}

TEST(Session, APackageWithoutGraphs) {
  Session s(ir::Package{}, make_backend("ref"));
  EXPECT_EQ(message_of<UserError>([&] { s.run({}); }), "the package has no graphs");
}

// --- compiled: states live in the programs ---

double first(const Arrays& results, const std::string& name) { return results.at(name).real(0); }

TEST(CompiledSession, GraphsTakeTurnsOverTheSameStates) {
  Session s = make_session(ir::parse(kStep), "cpu", 0, 1), ref = session();
  for (const char* graph : {"look", "step", "look", "look", "step", "step", "look", "step"}) {
    const RunRequest request{graph, graph == std::string("step") ? feeds() : Arrays(), {}};
    const Arrays got = s.run(request), wanted = ref.run(request);
    for (const auto& [name, array] : wanted) {
      EXPECT_TRUE(array.same_bits(got.at(name))) << graph << " " << name;
    }
  }
  EXPECT_TRUE(s.state("w").same_bits(ref.state("w")));
  EXPECT_EQ(s.state("count").integer(0), 12);
}

TEST(CompiledSession, OneStateIsSetAndTheOthersStay) {
  Session s = make_session(ir::parse(kStep), "cpu", 0, 1);
  s.run({"step", feeds(), {}});
  s.set_state("w", Array::of(DType::f32, {2}, {10, 20}));
  EXPECT_EQ(first(s.run({"look", {}, {}}), "twice"), 20);
  EXPECT_EQ(first(s.run({"step", feeds(), {}}), "loss"), 33);
  EXPECT_EQ(s.state("count").integer(0), 6);
  EXPECT_EQ(first(s.run({"look", {}, {}}), "twice"), 22);
  // A state that only one of the graphs has.
  s.set_state("count", Array::scalar(DType::i64, 100));
  EXPECT_EQ(first(s.run({"look", {}, {}}), "twice"), 22);
  EXPECT_EQ(first(s.run({"step", feeds(), {}}), "more"), 103);
}

TEST(CompiledSession, WhatWasPackedIsPackedAgain) {
  const char* const text = R"(
graph use(x: f32[8,16]) state(w: f32[16,16] = ones, b: f32[16]) {
  %y = linear(x, w, b) : f32[8,16]
  return %y
})";
  Session s = make_session(ir::parse(text), "cpu", 0, 1);
  Array x(DType::f32, {8, 16});
  for (int i = 0; i < 128; ++i) x.set(i, 1);
  EXPECT_EQ(first(s.run({"use", {{"x", x}}, {}}), "y"), 16);
  Array w(DType::f32, {16, 16});
  for (int i = 0; i < 256; ++i) w.set(i, 3);
  s.set_state("w", w);
  EXPECT_EQ(first(s.run({"use", {{"x", x}}, {}}), "y"), 48);
}

TEST(CompiledSession, AProgramCanBeGiven) {
  Session s = make_session(ir::parse(kStep), "cpu", 0, 1);
  const RunRequest request{"step", feeds(), {}};
  const program::Program kept = *s.program(request);
  Session other = make_session(ir::parse(kStep), "cpu", 0, 1);
  other.use_program(request, kept);
  EXPECT_EQ(program::to_bytes(*other.program(request)), program::to_bytes(kept));
  EXPECT_EQ(first(other.run(request), "loss"), first(s.run(request), "loss"));
  EXPECT_EQ(session().program(request), nullptr);
}

}  // namespace
}  // namespace plait
