// A GAN, two networks with an optimizer each, against tests/fixtures/gan.safetensors (its metadata
// `made_with` says what computed it): in two graphs that take turns, and in one.
#include "io/safetensors.h"
#include "nn/layers.h"
#include "nn/optimizer.h"
#include "ops/activation.h"
#include "ops/shape.h"
#include "tests/nn/run_ref.h"

namespace plait {
namespace {

struct Points : nn::ModuleOf<Points> {
  Points(nn::Module* parent, const std::string& name, std::int64_t in, std::int64_t out)
      : ModuleOf(parent, name), fc1(this, "fc1", in, 8), fc2(this, "fc2", 8, out) {}
  Tensor forward(const Tensor& x) { return fc2(ops::tanh(fc1(x))); }
  nn::Linear fc1, fc2;
};

struct Gan : nn::Module {
  using Module::Module;
  Points d{this, "d", 2, 1}, g{this, "g", 3, 2};

  Tensor noise(Builder& b) const { return b.feed("z", dtype(), {6, 3}); }
  Tensor loss_d(Builder& b, const Tensor& z) {
    const Tensor real = d(b.feed("x", dtype(), {6, 2})), fake = d(ops::stop_gradient(g(z)));
    return ops::softplus(-real).mean() + ops::softplus(fake).mean();
  }
  Tensor loss_g(const Tensor& z) { return ops::softplus(-d(g(z))).mean(); }

  /// Biases have a rate of their own and no decay.
  void update_d(const Tensor& loss) {
    nn::minimize(
        loss, d.parameters(), nn::Adam{.lr = 0.01, .beta1 = 0.5, .weight_decay = 0.05},
        {.name = "d",
         .groups = {{.parameters = {&*d.fc1.bias, &*d.fc2.bias}, .lr = 0.002, .weight_decay = 0}}});
  }
  void update_g(const Tensor& loss) {
    nn::minimize(loss, g.parameters(),
                 nn::AdamW{.lr = 0.005, .beta1 = 0.9, .beta2 = 0.99, .weight_decay = 0.1},
                 {.name = "g"});
  }
};

/// Graphs d_step and g_step.
ir::Package alternate(DType dtype) {
  Gan gan(dtype);
  ir::Package package;
  Builder d("d_step");
  const Tensor loss_d = gan.loss_d(d, gan.noise(d));
  d.fetch("loss_d", loss_d);
  gan.update_d(loss_d);
  package.graphs.push_back(d.take());
  Builder g("g_step");
  const Tensor loss_g = gan.loss_g(gan.noise(g));
  g.fetch("loss_g", loss_g);
  gan.update_g(loss_g);
  package.graphs.push_back(g.take());
  return package;
}

/// Both in one graph: neither sees the other's update.
ir::Package together(DType dtype) {
  Gan gan(dtype);
  Builder b("step");
  const Tensor z = gan.noise(b);
  const Tensor loss_d = gan.loss_d(b, z), loss_g = gan.loss_g(z);
  b.fetch("loss_d", loss_d);
  b.fetch("loss_g", loss_g);
  gan.update_d(loss_d);
  gan.update_g(loss_g);
  ir::Package package;
  package.graphs.push_back(b.take());
  return package;
}

/// Row `step` of [steps, ...].
Array at_step(const Array& all, std::int64_t step, DType dtype) {
  Array out(dtype, Sizes(all.sizes().begin() + 1, all.sizes().end()));
  for (std::int64_t i = 0; i < out.count(); ++i) out.set(i, all.real(step * out.count() + i));
  return out;
}

// The rates are states in f32, also where all else is f64: 6e-8 of what the steps moved, and Adam's
// moves are up to 10 * 0.01 of weights of 1. In f32 each of ten steps rounds weights and gradients.
void expect_as_stored(Session session, DType dtype, const std::string& order) {
  const io::TensorFile file = io::read_safetensors("tests/fixtures/gan.safetensors");
  const double allowed = dtype == DType::f64 ? 1e-7 : 3e-6;
  for (const auto& [name, value] : file.tensors) {
    if (name.starts_with("state.")) session.set_state(name.substr(6), value.cast(dtype));
  }
  for (std::int64_t i = 0; i < file.tensor("feed.x").sizes()[0]; ++i) {
    const Arrays both{{"x", at_step(file.tensor("feed.x"), i, dtype)},
                      {"z", at_step(file.tensor("feed.z"), i, dtype)}};
    Arrays told;
    for (const ir::Graph& graph : session.package().graphs) {
      Arrays feeds = both;
      if (graph.name == "g_step") feeds.erase("x");
      told.merge(session.run({graph.name, feeds, {}}));
    }
    for (const std::string loss : {"loss_d", "loss_g"}) {
      const Array& stored = file.tensor(order + ".losses_" + loss.substr(5));
      EXPECT_NEAR(told.at(loss).real(0), stored.real(i), allowed) << order << " " << i << loss;
    }
  }
  for (const auto& [name, value] : file.tensors) {
    const std::string final = order + ".final.";
    if (!name.starts_with(final)) continue;
    EXPECT_LT(deviation(session.state(name.substr(final.size())), value), allowed) << name;
  }
  for (const char* step : {"optim.d.step", "optim.g.step"}) {
    EXPECT_EQ(session.state(step).integer(0), 10) << step;
  }
}

TEST(Gan, InTwoGraphsThatTakeTurns) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    expect_as_stored({alternate(dtype), make_target("ref")}, dtype, "alternate");
  }
  expect_as_stored({alternate(DType::f32), cpu_target(2)}, DType::f32, "alternate");
}

TEST(Gan, InOneGraph) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    expect_as_stored({together(dtype), make_target("ref")}, dtype, "together");
  }
  expect_as_stored({together(DType::f32), cpu_target(2)}, DType::f32, "together");
}

}  // namespace
}  // namespace plait
