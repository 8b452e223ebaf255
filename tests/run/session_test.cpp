// Sessions: feeds are checked, states advance together or not at all, values are freed.
#include "run/session.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include "backends/backends.h"
#include "ir/text.h"
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
  return Session(ir::parse(text), make_target(backend));
}

Arrays feeds() {
  return {{"x", Array::of(DType::f32, {2}, {1, 2})}, {"n", Array::scalar(DType::i64, 3)}};
}

std::string run_error(const RunRequest& request, const std::string& text = kStep) {
  Session s = session(text);
  return message_of<UserError>([&] { s.run(request); });
}

TEST(Session, OneThreadAtATime) {
  std::promise<void> begun, open;
  std::atomic<bool> waited{false};
  Session s = session();
  s.on_step([&](const program::Program&, const program::Step&) {
    if (waited.exchange(true)) return;
    begun.set_value();
    open.get_future().wait();
  });
  auto other = std::async(std::launch::async, [&] { return s.run({"step", feeds(), {}}); });
  begun.get_future().wait();
  const std::string in_use =
      "this session is in use by another call: it runs one graph at a time. Give each thread a "
      "session of its own, or let one wait for the other (a mutex round every call)";
  EXPECT_EQ(message_of<UserError>([&] { s.run({"step", feeds(), {}}); }), in_use);
  EXPECT_EQ(message_of<UserError>([&] { s.state("w"); }), in_use);
  EXPECT_EQ(message_of<UserError>([&] { s.set_state("w", Array(DType::f32, {2})); }), in_use);
  EXPECT_EQ(message_of<UserError>([&] { s.prepare({"step", {}, {}}); }), in_use);
  open.set_value();
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

const char* const kDivision = R"(
graph g(n: i64[]) state(count: i64[] as counter, w: i64[] = ones) {
  %more = add(count, n)       : i64[]
  %v = add(w, n)              : i64[]
  %parts = floor_div(%v, n)   : i64[] @ blocks.1
  next count = %more
  next w = %parts
  return more = %more, parts = %parts
})";

TEST(Session, AFailedRunLeavesTheStates) {
  Session s = session(kDivision);
  const Arrays zero{{"n", Array::scalar(DType::i64, 0)}}, one{{"n", Array::scalar(DType::i64, 1)}};
  s.run({"g", one, {}});
  EXPECT_EQ(message_of<RunError>([&] {
              s.run({"g", zero, {}});
            }),
            "[floor_div] integer division by zero (%parts @ blocks.1)");
  EXPECT_EQ(s.state("count").integer(0), 1);
  EXPECT_EQ(s.state("w").integer(0), 2);
  s.run({"g", one, {}});
  EXPECT_EQ(s.state("count").integer(0), 2);
  EXPECT_EQ(s.state("w").integer(0), 3);
}

TEST(Session, WhatNothingNeedsIsNotRun) {
  Session s = session(R"(graph g(n: i64[]) {
  %parts = floor_div(n, n) : i64[]
  %more = add(n, n)        : i64[]
  return parts = %parts, more = %more
})");
  EXPECT_EQ(s.run({"", {{"n", Array::scalar(DType::i64, 0)}}, {"more"}}).size(), 1u);
}

TEST(Session, ARefProgramHasAStepPerNode) {
  Session s = session(R"(graph g(x: f32[4,8], t: i64[4]) {
  %h = gelu(x)                : f32[4,8]
  %loss = cross_entropy(%h, t) : f32[]
  return %loss
})");
  std::vector<std::string> kernels;
  for (const program::Step& step : s.program({}).steps) kernels.push_back(step.kernel);
  EXPECT_EQ(kernels, (std::vector<std::string>{"ref.gelu", "ref.cross_entropy"}));
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

TEST(Session, SymbolsAreSetByFeeds) {
  Session s = session(
      "symbol batch = 1..64\n"
      "graph g(x: f32[batch,2]) {\n %y = sum(x, axes=[0]) : f32[2]\n return %y\n}");
  const Array rows = Array::of(DType::f32, {3, 2}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(s.run({"", {{"x", rows}}, {}}).at("y").real(1), 12);
  const Array row = Array::of(DType::f32, {1, 2}, {1, 2});
  EXPECT_EQ(s.run({"", {{"x", row}}, {}}).at("y").real(1), 2);
  EXPECT_EQ(message_of<UserError>([&] { s.run({}); }), "the size batch is not set");
}

TEST(Session, TypesThatAreNotWhatTheOpsComputeAreRefused) {
  const std::string text = "graph g(x: f32[2]) {\n %y = neg(x) : f32[9]\n return %y\n}";
  EXPECT_EQ(message_of<UserError>([&] { session(text); }),
            "[neg] states f32[9], computes f32[2] (%y)");
}

TEST(Session, APackageWithoutGraphs) {
  Session s(ir::Package{}, make_target("ref"));
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
  const program::Program kept = s.program(request);
  Session other = make_session(ir::parse(kStep), "cpu", 0, 1);
  other.use_program(request, kept);
  EXPECT_EQ(program::to_bytes(other.program(request)), program::to_bytes(kept));
  EXPECT_EQ(first(other.run(request), "loss"), first(s.run(request), "loss"));
}

}  // namespace
}  // namespace plait
