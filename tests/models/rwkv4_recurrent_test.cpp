// RWKV-4 a token at a time against the same network over whole sequences: equal logits at every
// position, on the backends that compute, with and without copy head, past the end of its ring.
#include "models/rwkv4_recurrent.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/philox.h"
#include "run/session.h"

namespace plait::models {
namespace {

// Both sum in another order; a token's logit passes a few dozen roundings of f32 (6e-8).
constexpr double kF32 = 5e-6;

struct Case {
  const char* backend;
  std::int64_t batch, time, copy;
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.backend << " batch " << c.batch << " time " << c.time << " copy " << c.copy;
}

Rwkv4Sizes sizes_for(const Case& c) {
  return {.layers = 3, .width = 16, .vocab = 23, .context = c.time, .copy = c.copy};
}

Array tokens_for(const Case& c) {
  Array tokens(DType::i64, {c.batch, c.time});
  for (std::int64_t i = 0; i < tokens.count(); ++i) {
    tokens.set_integer(i, static_cast<std::int64_t>(
                              23 * random_uniform({7, 0, 0}, static_cast<std::uint64_t>(i))));
  }
  return tokens;
}

/// Nothing is zero or one, as initial values are: every weight counts. Decays stay moderate.
void set_weights(Session& session) {
  for (const ir::State& state : state_table(session.package())) {
    if (state.role != ir::Role::kParam) continue;
    Array value = session.state(state.name);
    const RandomKey key{3, 0, static_cast<std::uint32_t>(std::hash<std::string>()(state.name))};
    const bool decay = state.name.ends_with("time_decay");
    for (std::int64_t i = 0; i < value.count(); ++i) {
      const double x = random_normal(key, static_cast<std::uint64_t>(i));
      value.set(i, decay ? x - 1 : state.type.rank() == 2 ? 0.4 * x : 0.5 + 0.5 * x);
    }
    session.set_state(state.name, std::move(value));
  }
}

/// The network over whole sequences.
Array parallel_logits(const Case& c, const Rwkv4Sizes& sizes, const Array& tokens,
                      DType dtype = DType::f32) {
  Rwkv4 net(dtype, sizes);
  net.train(false);
  Builder b("whole");
  b.fetch("logits", net(b.feed("idx", DType::i64, {c.batch, c.time})));
  ir::Package package;
  package.graphs.push_back(b.take());
  Session session = make_session(std::move(package), c.backend);
  set_weights(session);
  return session.run({"", {{"idx", tokens}}, {}}).at("logits");
}

Session step_session(const Case& c, const Rwkv4Sizes& sizes, DType dtype = DType::f32) {
  Session session = make_session(build_rwkv4_step(dtype, sizes, c.batch), c.backend);
  set_weights(session);
  return session;
}

Array logits_at(Session& session, const Array& tokens, std::int64_t time) {
  const std::int64_t batch = tokens.sizes()[0], length = tokens.sizes()[1];
  Array now(DType::i64, {batch});
  for (std::int64_t n = 0; n < batch; ++n) {
    now.set_integer(n, tokens.integer(n * length + time));
  }
  return session.run({"step", {{"token", now}}, {}}).at("logits");
}

double largest(const Array& array) {
  double out = 0;
  for (std::int64_t i = 0; i < array.count(); ++i) out = std::max(out, std::abs(array.real(i)));
  return out;
}

/// The largest difference at `time`, over the largest logit.
double difference(const Array& whole, const Array& step, std::int64_t time) {
  const std::int64_t length = whole.sizes()[1], vocab = whole.sizes()[2];
  double out = 0;
  for (std::int64_t n = 0; n < whole.sizes()[0]; ++n) {
    for (std::int64_t v = 0; v < vocab; ++v) {
      out = std::max(
          out, std::abs(whole.real((n * length + time) * vocab + v) - step.real(n * vocab + v)));
    }
  }
  return out / largest(whole);
}

class Recurrent : public testing::TestWithParam<Case> {};

TEST_P(Recurrent, EqualsTheWholeSequence) {
  const Case c = GetParam();
  const Array tokens = tokens_for(c);
  const Array whole = parallel_logits(c, sizes_for(c), tokens);
  ASSERT_GT(largest(whole), 0.1);
  Session session = step_session(c, sizes_for(c));
  for (std::int64_t t = 0; t < c.time; ++t) {
    const Array step = logits_at(session, tokens, t);
    ASSERT_EQ(step.sizes(), (Sizes{c.batch, 23}));
    ASSERT_LT(difference(whole, step, t), kF32) << "at position " << t;
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, Recurrent,
                         testing::Values(Case{"ref", 1, 1, 0}, Case{"ref", 2, 9, 0},
                                         Case{"ref", 2, 33, 8}, Case{"cpu", 1, 1, 0},
                                         Case{"cpu", 1, 5, 8}, Case{"cpu", 2, 64, 0},
                                         Case{"cpu", 2, 33, 8}));

TEST(Rwkv4Step, HasTheTrainedGraphsWeightsAndTheStatesItSays) {
  Rwkv4Sizes sizes{.layers = 2, .width = 8, .vocab = 11, .context = 5, .copy = 3};
  const ir::Package package = build_rwkv4_step(DType::f32, sizes, 2);
  std::vector<std::string> params, trained, carried;
  for (const ir::State& state : state_table(package)) {
    if (state.role == ir::Role::kParam) params.push_back(state.name + str(" ", state.type));
  }
  const char* spec = "rwkv4?layers=2&width=8&vocab=11&context=5&copy=3&batch=2";
  for (const ir::State& state : state_table(build(spec))) {
    trained.push_back(state.name + str(" ", state.type));
  }
  std::sort(params.begin(), params.end());
  std::sort(trained.begin(), trained.end());
  EXPECT_EQ(params, trained);

  const ir::Graph& step = package.graphs.front();
  for (const ir::State& state : carried_states(step)) {
    carried.push_back(str(state.name, " ", state.type));
  }
  std::sort(carried.begin(), carried.end());
  EXPECT_EQ(carried,
            (std::vector<std::string>{
                "blocks.0.att.aa f32[2,8]", "blocks.0.att.bb f32[2,8]", "blocks.0.att.pp f32[2,8]",
                "blocks.0.att.xx f32[2,8]", "blocks.0.ffn.xx f32[2,8]", "blocks.1.att.aa f32[2,8]",
                "blocks.1.att.bb f32[2,8]", "blocks.1.att.pp f32[2,8]", "blocks.1.att.xx f32[2,8]",
                "blocks.1.ffn.xx f32[2,8]", "copy.keys f32[2,5,3]", "copy.slot i64[]",
                "copy.tokens i64[2,5]"}));
  EXPECT_EQ(step.nexts.size(), carried.size());
}

/// Behind the end of its context the copy head sees the last tokens only: the logits are those
/// without a copy head plus, for each of these tokens, its score.
TEST(Rwkv4Step, RingForgetsTheOldest) {
  const Case c{"ref", 1, 12, 8};
  Rwkv4Sizes far = sizes_for(c), near = far;
  near.context = 4;
  const Array tokens = tokens_for(c);
  Session all = step_session(c, far), last = step_session(c, near);
  std::int64_t apart = 0;
  for (std::int64_t t = 0; t < c.time; ++t) {
    const Array a = logits_at(all, tokens, t), b = logits_at(last, tokens, t);
    EXPECT_EQ(last.state("copy.slot").integer(0), (t + 1) % 4);
    for (std::int64_t v = 0; v < 23; ++v) {
      bool forgotten = false;  // v stood only, or also, before the last four
      for (std::int64_t j = 0; j + 4 <= t; ++j) forgotten |= tokens.integer(j) == v;
      if (forgotten) {
        apart += a.real(v) != b.real(v);
      } else {
        EXPECT_EQ(a.real(v), b.real(v)) << "token " << v << " at " << t;
      }
    }
  }
  EXPECT_GT(apart, 20);
}

TEST(Rwkv4Step, StateOfHalvesIsKeptInF32) {
  const Case c{"ref", 1, 48, 0};
  Session session = step_session(c, sizes_for(c), DType::bf16);
  EXPECT_EQ(session.state("blocks.0.att.aa").dtype(), DType::f32);
  EXPECT_EQ(session.state("blocks.0.att.xx").dtype(), DType::bf16);
  const Array tokens = tokens_for(c);
  const Array whole = parallel_logits(c, sizes_for(c), tokens, DType::bf16);
  double worst = 0;
  for (std::int64_t t = 0; t < c.time; ++t) {
    worst = std::max(worst, difference(whole, logits_at(session, tokens, t), t));
  }
  EXPECT_LT(worst, 0.02);  // bf16 rounds by 0.004
}

TEST(Rwkv4Step, InitialStatesBeginAnew) {
  const Case c{"ref", 1, 6, 4};
  Session session = step_session(c, sizes_for(c));
  const Array tokens = tokens_for(c);
  Arrays first;
  for (const ir::State& state : carried_states(session.package().graphs.front())) {
    first.emplace(state.name, session.state(state.name));
  }
  EXPECT_EQ(first.at("blocks.1.att.pp").as<float>()[0], -1e38f);  // wkv's sign of nothing seen
  const Array before = logits_at(session, tokens, 0);
  for (std::int64_t t = 1; t < c.time; ++t) logits_at(session, tokens, t);
  EXPECT_FALSE(logits_at(session, tokens, 0).same_bits(before));
  for (auto& [name, array] : first) session.set_state(name, array);
  EXPECT_TRUE(logits_at(session, tokens, 0).same_bits(before));
}

}  // namespace
}  // namespace plait::models
