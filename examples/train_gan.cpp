// Two networks with an optimizer each: a generator learns to draw points as a discriminator, which
// learns beside it, sees them. Two graphs over one table of states, run in turn.
#include <cmath>
#include <cstdio>
#include <random>

#include "plait/plait.h"

namespace {

using namespace plait;

constexpr int kBatch = 64, kNoise = 4, kSteps = 800;
constexpr double kCentre[] = {2, -1}, kSpread = 0.5;

struct Net : nn::ModuleOf<Net> {
  Net(nn::Module* parent, const char* name, int in, int out)
      : ModuleOf(parent, name), fc1(this, "fc1", in, 32), fc2(this, "fc2", 32, out) {}
  Tensor forward(const Tensor& x) { return fc2(ops::leaky_relu(fc1(x))); }
  nn::Linear fc1, fc2;
};

struct Gan : nn::Module {
  Net d{this, "d", 2, 1}, g{this, "g", kNoise, 2};
};

/// The discriminator's step: real points are worth more than 0, drawn ones less.
ir::Graph d_step(Gan& gan) {
  Builder b("d_step");
  const Tensor real = b.feed("x", DType::f32, {kBatch, 2});
  const Tensor drawn = ops::stop_gradient(gan.g(b.feed("z", DType::f32, {kBatch, kNoise})));
  const Tensor loss = ops::softplus(-gan.d(real)).mean() + ops::softplus(gan.d(drawn)).mean();
  b.fetch("loss", loss);
  nn::minimize(loss, gan.d.parameters(), nn::Adam{.lr = 2e-3, .beta1 = 0.5}, {.name = "d"});
  return b.take();
}

/// The generator's: what it draws is to be worth more than 0.
ir::Graph g_step(Gan& gan) {
  Builder b("g_step");
  const Tensor drawn = gan.g(b.feed("z", DType::f32, {kBatch, kNoise}));
  const Tensor loss = ops::softplus(-gan.d(drawn)).mean();
  b.fetch("loss", loss);
  b.fetch("drawn", drawn);
  nn::minimize(loss, gan.g.parameters(), nn::Adam{.lr = 1e-3, .beta1 = 0.5}, {.name = "g"});
  return b.take();
}

Array normal(std::mt19937& random, int width, const double* centre, double spread) {
  std::normal_distribution<double> draw;
  Array out(DType::f32, {kBatch, width});
  for (int i = 0; i < kBatch * width; ++i) {
    out.set(i, (centre ? centre[i % width] : 0) + spread * draw(random));
  }
  return out;
}

}  // namespace

int main() try {
  Gan gan;
  ir::Package package;
  package.graphs.push_back(d_step(gan));
  package.graphs.push_back(g_step(gan));
  Session session(std::move(package), make_target("ref"), /*seed=*/1);
  std::mt19937 random(1);
  double centre[2] = {};  // of what the generator drew in the last 100 steps
  for (int step = 1; step <= kSteps; ++step) {
    const Array x = normal(random, 2, kCentre, kSpread), z = normal(random, kNoise, nullptr, 1);
    const double loss_d = session.run({"d_step", {{"x", x}, {"z", z}}, {}}).at("loss").real(0);
    const Arrays told = session.run({"g_step", {{"z", z}}, {}});
    if (step % 100 == 1) centre[0] = centre[1] = 0;
    for (int i = 0; i < 2 * kBatch; ++i) {
      centre[i % 2] += told.at("drawn").real(i) / (100.0 * kBatch);
    }
    if (step % 100 == 0) {
      std::printf("step %4d  loss of d %.4f  of g %.4f  drawn round (%.2f, %.2f)\n", step, loss_d,
                  told.at("loss").real(0), centre[0], centre[1]);
    }
  }
  const double off = std::hypot(centre[0] - kCentre[0], centre[1] - kCentre[1]);
  std::printf("%.2f from the centre of the real points, whose spread is %.2f\n", off, kSpread);
  return off < kSpread ? 0 : 1;
} catch (const std::exception& e) {
  std::fprintf(stderr, "error: %s\n", e.what());
  return 1;
}
