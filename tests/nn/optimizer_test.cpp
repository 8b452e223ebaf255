// Optimizers against PyTorch's, clipping, their states, mistakes. What a step does besides is in
// step_test.cpp.
#include "nn/optimizer.h"

#include "io/safetensors.h"
#include "ir/verify.h"
#include "nn/layers.h"
#include "tests/nn/run_ref.h"

namespace plait {
namespace {

constexpr int kSteps = 10;

io::TensorFile fixture() { return io::read_safetensors("tests/fixtures/optimizers.safetensors"); }

struct Weights : nn::ModuleOf<Weights> {
  using ModuleOf::ModuleOf;
  nn::Parameter w{this, "w", {5, 3}, init::zeros()};
  nn::Parameter w2{this, "w2", {4}, init::zeros()};
};

/// Step `i` of stacked gradients [steps, ...].
Array step_of(const Array& stacked, std::int64_t i, DType dtype) {
  Sizes sizes(stacked.sizes().begin() + 1, stacked.sizes().end());
  Array out(dtype, sizes);
  for (std::int64_t j = 0; j < out.count(); ++j) out.set(j, stacked.real(i * out.count() + j));
  return out;
}

struct Case {
  std::string name;
  nn::Optimizer optimizer;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> kCases{
      {"sgd", nn::Sgd{.lr = 0.1}},
      {"sgd_momentum", nn::Sgd{.lr = 0.1, .momentum = 0.9}},
      {"sgd_nesterov_wd",
       nn::Sgd{.lr = 0.1, .momentum = 0.9, .weight_decay = 0.01, .nesterov = true}},
      {"adam", nn::Adam{.lr = 0.01}},
      {"adam_wd", nn::Adam{.lr = 0.01, .weight_decay = 0.01}},
      {"adamw", nn::AdamW{.lr = 0.01, .weight_decay = 0.01}},
  };
  return kCases;
}

/// Ten steps on the fixture's gradients; the final w.
Array final_weights(const nn::Optimizer& optimizer, DType dtype) {
  const io::TensorFile file = fixture();
  Weights net(dtype);
  Builder b("apply");
  nn::apply_gradients(b, optimizer, {&net.w}, {b.feed("g", dtype, {5, 3})});
  Session session = session_of(b);
  session.set_state("w", file.tensor("state.w").cast(dtype));
  for (int i = 0; i < kSteps; ++i) {
    session.run({"", {{"g", step_of(file.tensor("g"), i, dtype)}}, {}});
  }
  EXPECT_EQ(session.state("optim.step").integer(0), kSteps);
  return session.state("w");
}

// Ten steps in f32 round the weights ten times by 6e-8; the learning rate is f32 also for f64,
// which is an error of 1.5e-8 of what the steps moved.
TEST(Optimizers, AgreeWithPyTorchInTenSteps) {
  for (const Case& c : cases()) {
    const Array expected = fixture().tensor("final." + c.name);
    EXPECT_LT(deviation(final_weights(c.optimizer, DType::f32), expected), 5e-7) << c.name;
    EXPECT_LT(deviation(final_weights(c.optimizer, DType::f64), expected), 1e-7) << c.name;
  }
}

TEST(Optimizers, KeepTheirMomentsInF32ForHalves) {
  for (DType dtype : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
    Weights net(dtype);
    Builder b("apply");
    const Tensor g = b.feed("g", dtype, {5, 3});
    nn::apply_gradients(b, nn::Sgd{.momentum = 0.9}, {&net.w}, {g});
    EXPECT_EQ(b.graph().find_state("optim.momentum.w")->state.type.dtype, compute_dtype(dtype));
    Builder a("apply");
    nn::apply_gradients(a, nn::Adam{}, {&net.w}, {a.feed("g", dtype, {5, 3})});
    for (const char* name : {"optim.m.w", "optim.v.w"}) {
      EXPECT_EQ(a.graph().find_state(name)->state.type.dtype, compute_dtype(dtype));
      EXPECT_EQ(a.graph().find_state(name)->state.role, ir::Role::kSlot);
    }
    ir::verify(b.graph());
    ir::verify(a.graph());
  }
}

TEST(Optimizers, TakeTheLearningRateFromItsState) {
  Weights net;
  Builder b("apply");
  nn::apply_gradients(b, nn::AdamW{.lr = 0.5}, {&net.w}, {b.feed("g", DType::f32, {5, 3})});
  Session session = session_of(b);
  EXPECT_EQ(session.state("optim.lr").real(0), 0.5);
  session.set_state("optim.lr", Array::scalar(DType::f32, 0));
  session.set_state("w", fixture().tensor("state.w"));
  session.run({"", {{"g", step_of(fixture().tensor("g"), 0, DType::f32)}}, {}});
  EXPECT_TRUE(session.state("w").same_bits(fixture().tensor("state.w")));
}

TEST(Clipping, IsByTheJointNorm) {
  const io::TensorFile file = fixture();
  Weights net;
  Builder b("apply");
  const std::vector<Tensor> grads{b.feed("g", DType::f32, {5, 3}), b.feed("g2", DType::f32, {4})};
  nn::apply_gradients(b, nn::Sgd{.lr = 0.1}, net.parameters(),
                      nn::clip_by_global_norm(grads, 1).grads);
  Session session = session_of(b);
  for (const std::string name : {"w", "w2"}) {
    session.set_state(name, file.tensor("state." + name));
  }
  for (int i = 0; i < kSteps; ++i) {
    session.run({"",
                 {{"g", step_of(file.tensor("g"), i, DType::f32)},
                  {"g2", step_of(file.tensor("g2"), i, DType::f32)}},
                 {}});
  }
  EXPECT_LT(deviation(session.state("w"), file.tensor("final.clip_sgd")), 5e-7);
  EXPECT_LT(deviation(session.state("w2"), file.tensor("final.clip_sgd.w2")), 5e-7);
}

struct Net : nn::ModuleOf<Net> {
  using ModuleOf::ModuleOf;
  nn::Linear fc1{this, "fc1", 3, 4}, fc2{this, "fc2", 4, 2};
};

TEST(OptimizerMistakes, AreNamed) {
  Net net;
  Builder b("half");
  const Tensor x = b.feed("x", DType::f32, {2, 3});
  const Tensor loss = net.fc1(x).sum();
  EXPECT_EQ(error_of([&] { nn::minimize(loss, net.parameters(), nn::Sgd{}); }),
            "graph half does not read fc2.weight, fc2.bias, so its loss has no gradient there. "
            "Leave them out of the parameters to train");
  EXPECT_EQ(error_of([&] { nn::apply_gradients(b, nn::Sgd{}, net.parameters(), {x}); }),
            "4 parameters were given 1 gradients");
  EXPECT_EQ(error_of([&] { nn::apply_gradients(b, nn::Sgd{.lr = -1}, {}, {}); }),
            "the learning rate must be finite and >= 0, is -1");
  EXPECT_EQ(error_of([&] { nn::clip_by_global_norm({x}, 0); }),
            "gradients are clipped to a norm above 0, not 0");
  EXPECT_EQ(error_of([&] { nn::gradients_of(x, {&net.fc1.weight}); }),
            "only a float scalar has a gradient; the loss is f32[2,3]. Take its mean or sum?");
}

}  // namespace
}  // namespace plait
