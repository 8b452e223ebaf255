// The step's options: accumulation, clipping, scaled losses, guarded updates. On the reference
// backend, where results are exact, and on the cpu, where bits repeat.
#include "ir/text.h"
#include "nn/layers.h"
#include "nn/optimizer.h"
#include "ops/loss.h"
#include "ops/verify.h"
#include "tests/nn/run_ref.h"

namespace plait {
namespace {

struct Net : nn::ModuleOf<Net> {
  using ModuleOf::ModuleOf;
  nn::Linear fc1{this, "fc1", 3, 4}, fc2{this, "fc2", 4, 2};
  Tensor forward(const Tensor& x) { return fc2(fc1(x)); }
};

/// A training step on `rows` rows of x and t that fetches what it tells, and the gradients.
ir::Package step_of(DType dtype, std::int64_t rows, const nn::Optimizer& optimizer,
                    const nn::StepOptions& options) {
  Net net(dtype);
  Builder b("step");
  const Tensor y = net(b.feed("x", dtype, {rows, 3}));
  const Tensor loss = ops::mse_loss(y, b.feed("t", dtype, {rows, 2}));
  b.fetch("loss", loss);
  const nn::Step step = nn::minimize(loss, net.parameters(), optimizer, options);
  if (step.grad_norm) b.fetch("grad_norm", step.grad_norm);
  if (step.skipped) b.fetch("skipped", step.skipped);
  for (std::size_t i = 0; i < step.grads.size(); ++i) {
    b.fetch("d_" + net.parameters()[i]->name(), step.grads[i]);
  }
  verify_types(b.graph());
  ir::Package package;
  package.graphs.push_back(b.take());
  return package;
}

Session on_ref(const ir::Package& package) { return {package, make_target("ref")}; }

Array counting(DType dtype, Sizes sizes, double from) {
  Array out(dtype, std::move(sizes));
  for (std::int64_t i = 0; i < out.count(); ++i) out.set(i, std::sin(from + double(i)));
  return out;
}

/// Rows [first, first + rows) of a batch of 12 that depends on the step.
Arrays feeds(DType dtype, int step, std::int64_t first, std::int64_t rows) {
  Arrays out;
  for (const auto& [name, width] : {std::pair{"x", 3}, std::pair{"t", 2}}) {
    const Array all = counting(dtype, {12, width}, step + width);
    Array part(dtype, {rows, width});
    for (std::int64_t i = 0; i < part.count(); ++i) part.set(i, all.real(first * width + i));
    out[name] = part;
  }
  return out;
}

const std::vector<nn::Optimizer>& optimizers() {
  static const std::vector<nn::Optimizer> kAll{
      nn::Sgd{.lr = 0.1}, nn::Sgd{.lr = 0.1, .momentum = 0.9, .nesterov = true},
      nn::Adam{.lr = 0.1, .weight_decay = 0.1}, nn::AdamW{.lr = 0.1}};
  return kAll;
}

/// Every state of `a`, where `b` has it too, agrees.
void expect_states_near(Session& a, Session& b, double allowed) {
  for (const std::string& name : b.state_names()) {
    EXPECT_LE(deviation(a.state(name), b.state(name)), allowed) << name;
  }
}

TEST(Accumulation, OfSmallBatchesIsOneStepOnTheirMean) {
  for (const nn::Optimizer& optimizer : optimizers()) {
    for (std::int64_t runs : {2, 3, 4}) {
      const nn::StepOptions clip{.clip = 0.05};
      nn::StepOptions parts = clip;
      parts.accumulate = runs;
      Session whole = on_ref(step_of(DType::f64, 12, optimizer, clip));
      Session part = on_ref(step_of(DType::f64, 12 / runs, optimizer, parts));
      for (int step = 0; step < 3; ++step) {
        const Arrays told = whole.run({"", feeds(DType::f64, step, 0, 12), {}});
        Arrays last;
        for (std::int64_t i = 0; i < runs; ++i) {
          EXPECT_EQ(part.state("optim.micro").integer(0), i);
          last = part.run({"", feeds(DType::f64, step, i * (12 / runs), 12 / runs), {}});
        }
        EXPECT_NEAR(last.at("grad_norm").real(0), told.at("grad_norm").real(0), 1e-12);
      }
      expect_states_near(part, whole, 1e-12);
      EXPECT_EQ(part.state("optim.step").integer(0), 3);
      EXPECT_EQ(part.state("optim.micro").integer(0), 0);
      EXPECT_EQ(deviation(part.state("optim.grad.fc1.weight"), Array(DType::f64, {4, 3})), 0);
    }
  }
}

TEST(Accumulation, ChangesNothingButItsSumsBeforeTheLastRun) {
  Session session = on_ref(step_of(DType::f32, 4, nn::Adam{}, {.accumulate = 3}));
  std::map<std::string, Array> before;
  for (const std::string& name : session.state_names()) before[name] = session.state(name);
  for (int i = 0; i < 2; ++i) session.run({"", feeds(DType::f32, 0, 4 * i, 4), {}});
  for (const auto& [name, value] : before) {
    const bool sums = name == "optim.micro" || name.starts_with("optim.grad.");
    EXPECT_NE(session.state(name).same_bits(value), sums) << name;
  }
  session.run({"", feeds(DType::f32, 0, 8, 4), {}});
  EXPECT_FALSE(session.state("fc1.weight").same_bits(before.at("fc1.weight")));
}

TEST(Accumulation, SumsHalvesInF32) {
  const ir::Package package = step_of(DType::f16, 4, nn::Sgd{}, {.accumulate = 2});
  for (const ir::State& state : state_table(package)) {
    EXPECT_TRUE(!state.name.starts_with("optim.grad.") || state.type.dtype == DType::f32);
  }
  Session session = on_ref(package);
  const Arrays first = session.run({"", feeds(DType::f16, 0, 0, 4), {}});
  const Array& sum = session.state("optim.grad.fc1.weight");
  EXPECT_TRUE(sum.same_bits(first.at("d_fc1.weight").cast(DType::f32)));
}

TEST(Clipping, TellsTheNormAndScalesToIt) {
  Session session = on_ref(step_of(DType::f64, 12, nn::Sgd{.lr = 1}, {.clip = 0.25}));
  std::map<std::string, Array> before;
  for (const std::string& name : session.state_names()) before[name] = session.state(name);
  const Arrays told = session.run({"", feeds(DType::f64, 0, 0, 12), {}});
  double squares = 0;
  for (const auto& [name, value] : told) {
    if (!name.starts_with("d_")) continue;
    for (std::int64_t i = 0; i < value.count(); ++i) squares += value.real(i) * value.real(i);
  }
  const double norm = std::sqrt(squares), factor = 0.25 / (norm + 1e-6);
  ASSERT_GT(norm, 0.25);
  EXPECT_NEAR(told.at("grad_norm").real(0), norm, 1e-12);
  for (const char* name : {"fc1.weight", "fc2.bias"}) {
    const Array& g = told.at(str("d_", name));
    for (std::int64_t i = 0; i < g.count(); ++i) {
      EXPECT_NEAR(session.state(name).real(i), before.at(name).real(i) - factor * g.real(i), 1e-12);
    }
  }
  Session loose = on_ref(step_of(DType::f64, 12, nn::Sgd{.lr = 1}, {.clip = 10 * norm}));
  Session free = on_ref(step_of(DType::f64, 12, nn::Sgd{.lr = 1}, {}));
  for (Session* s : {&loose, &free}) s->run({"", feeds(DType::f64, 0, 0, 12), {}});
  expect_states_near(loose, free, 0);
}

TEST(LossScale, OfAPowerOfTwoChangesNoBit) {
  for (const nn::Optimizer& optimizer : optimizers()) {
    Session plain = on_ref(step_of(DType::f32, 12, optimizer, {.clip = 0.05}));
    Session scaled = on_ref(step_of(DType::f32, 12, optimizer, {.clip = 0.05, .loss_scale = 1024}));
    for (int step = 0; step < 3; ++step) {
      const Arrays a = plain.run({"", feeds(DType::f32, step, 0, 12), {}});
      const Arrays b = scaled.run({"", feeds(DType::f32, step, 0, 12), {}});
      EXPECT_TRUE(a.at("loss").same_bits(b.at("loss")));
      EXPECT_EQ(a.at("d_fc2.bias").real(0) * 1024, b.at("d_fc2.bias").real(0));
      EXPECT_EQ(b.at("skipped").integer(0), 0);
      EXPECT_EQ(a.count("skipped"), 0u);
    }
    for (const std::string& name : plain.state_names()) {
      EXPECT_TRUE(plain.state(name).same_bits(scaled.state(name))) << name;
    }
  }
}

TEST(LossScale, HalvesAndSkipsOnOverflowAndDoublesAfterGoodSteps) {
  Session session = on_ref(
      step_of(DType::f16, 12, nn::Adam{.lr = 0.01}, {.loss_scale = 0x1p20, .loss_scale_every = 3}));
  const Array before = session.state("fc1.weight");
  const auto run = [&] {
    return session.run({"", feeds(DType::f16, 0, 0, 12), {}}).at("skipped").integer(0);
  };
  int skipped = 0;
  while (run()) {
    ++skipped;
    EXPECT_EQ(session.state("optim.scale").real(0), std::ldexp(1, 20 - skipped));
    EXPECT_TRUE(session.state("fc1.weight").same_bits(before));
    EXPECT_EQ(deviation(session.state("optim.m.fc1.weight"), Array(DType::f32, {4, 3})), 0);
    EXPECT_EQ(session.state("optim.step").integer(0), 0);
    EXPECT_EQ(session.state("optim.good").integer(0), 0);
    ASSERT_LT(skipped, 20);
  }
  EXPECT_GT(skipped, 3) << "2^20 in f16 is infinite";
  const double settled = session.state("optim.scale").real(0);
  EXPECT_FALSE(session.state("fc1.weight").same_bits(before));
  EXPECT_EQ(session.state("optim.good").integer(0), 1);
  EXPECT_EQ(run(), 0);
  EXPECT_EQ(session.state("optim.scale").real(0), settled);
  EXPECT_EQ(run(), 0);
  EXPECT_EQ(session.state("optim.scale").real(0), 2 * settled) << "after three";
  EXPECT_EQ(session.state("optim.good").integer(0), 0);
  EXPECT_EQ(session.state("optim.step").integer(0), 3);
}

TEST(LossScale, DoesNotGrowToInfinity) {
  Session session =
      on_ref(step_of(DType::f64, 4, nn::Sgd{}, {.loss_scale = 0x1p127, .loss_scale_every = 1}));
  session.run({"", feeds(DType::f64, 0, 0, 4), {}});
  EXPECT_EQ(session.state("optim.scale").real(0), 0x1p127);
  EXPECT_EQ(session.state("optim.step").integer(0), 1);
}

TEST(LossScale, JudgesTheSumOfAllRuns) {
  nn::StepOptions options{.accumulate = 3, .loss_scale = 2, .loss_scale_every = 1};
  Session session = on_ref(step_of(DType::f32, 4, nn::Sgd{.lr = 0.1}, options));
  const Array before = session.state("fc1.weight");
  for (int i = 0; i < 3; ++i) {
    Arrays in = feeds(DType::f32, 0, 4 * i, 4);
    if (i == 1) in.at("x").set(0, INFINITY);
    const Arrays told = session.run({"", in, {}});
    EXPECT_EQ(told.at("skipped").integer(0), i == 2) << "said where the update would be";
    EXPECT_EQ(session.state("optim.scale").real(0), i == 2 ? 1 : 2);
  }
  EXPECT_TRUE(session.state("fc1.weight").same_bits(before));
  for (int i = 0; i < 3; ++i) session.run({"", feeds(DType::f32, 0, 4 * i, 4), {}});
  EXPECT_FALSE(session.state("fc1.weight").same_bits(before)) << "the sums started again";
  EXPECT_EQ(session.state("optim.scale").real(0), 2);
  EXPECT_EQ(session.state("optim.step").integer(0), 1);
}

TEST(Guard, LeavesOutWhatIsNotFinite) {
  Session session = on_ref(step_of(DType::f32, 4, nn::AdamW{}, {.clip = 1, .guard = true}));
  const Array before = session.state("fc2.weight");
  Arrays bad = feeds(DType::f32, 0, 0, 4);
  bad.at("t").set(0, NAN);
  EXPECT_EQ(session.run({"", bad, {}}).at("skipped").integer(0), 1);
  EXPECT_TRUE(session.state("fc2.weight").same_bits(before));
  EXPECT_EQ(session.run({"", feeds(DType::f32, 0, 0, 4), {}}).at("skipped").integer(0), 0);
  EXPECT_FALSE(session.state("fc2.weight").same_bits(before));
  for (const ir::State& state : state_table(session.package())) {
    EXPECT_NE(state.name, "optim.scale");
  }
}

TEST(Step, WithoutOptionsIsGradientsAndUpdates) {
  Net net(DType::f32);
  Builder b("step");
  const Tensor y = net(b.feed("x", DType::f32, {4, 3}));
  const Tensor loss = ops::mse_loss(y, b.feed("t", DType::f32, {4, 2}));
  b.fetch("loss", loss);
  const std::vector<Tensor> grads = nn::gradients_of(loss, net.parameters());
  nn::apply_gradients(b, nn::Adam{}, net.parameters(), grads);
  for (std::size_t i = 0; i < grads.size(); ++i) {
    b.fetch("d_" + net.parameters()[i]->name(), grads[i]);
  }
  const ir::Package made = step_of(DType::f32, 4, nn::Adam{}, {});
  const auto sourceless = [](ir::Graph graph) {
    for (ir::Node& node : graph.nodes) node.source = {};
    return ir::print(graph);
  };
  EXPECT_EQ(sourceless(made.graphs[0]), sourceless(b.take()));
}

TEST(Step, RepeatsItsBitsOnRefAndCpu) {
  const nn::StepOptions options{
      .clip = 0.05, .accumulate = 2, .loss_scale = 0x1p18, .loss_scale_every = 2};
  const ir::Package package = step_of(DType::f16, 6, nn::Adam{.lr = 0.01}, options);
  const auto run = [&](Session session) {
    for (int i = 0; i < 16; ++i) session.run({"", feeds(DType::f16, i / 2, i % 2 * 6, 6), {}});
    return session;
  };
  Session a = run(on_ref(package)), b = run(on_ref(package));
  Session c = run({package, cpu_target(1)}), d = run({package, cpu_target(2)});
  for (const std::string& name : a.state_names()) {
    EXPECT_TRUE(a.state(name).same_bits(b.state(name))) << name;
    EXPECT_TRUE(c.state(name).same_bits(d.state(name))) << name;
  }
  for (const char* name : {"optim.scale", "optim.step", "optim.good", "optim.micro"}) {
    EXPECT_TRUE(a.state(name).same_bits(c.state(name))) << name;
  }
  const std::int64_t done = a.state("optim.step").integer(0);
  EXPECT_TRUE(done > 0 && done < 8) << done << ": some were skipped, some not";
}

TEST(StepMistakes, AreNamed) {
  const auto mistake = [](const nn::StepOptions& options) {
    return error_of([&] { step_of(DType::f32, 4, nn::Sgd{}, options); });
  };
  EXPECT_EQ(mistake({.clip = -1}), "gradients are clipped to a norm above 0, not -1");
  EXPECT_EQ(mistake({.accumulate = 0}), "gradients of at least 1 run make an update, not of 0");
  EXPECT_EQ(mistake({.loss_scale = -2}), "the scale of the loss must be finite and >= 0, is -2");
  EXPECT_EQ(mistake({.loss_scale = 2, .loss_scale_every = 0}),
            "the scale grows after at least 1 update, not 0");
}

}  // namespace
}  // namespace plait
