// A program that uses Plait as a library: a small network learns exclusive or.
#include <cstdio>

#include "plait/plait.h"

struct Net : plait::nn::ModuleOf<Net> {
  plait::nn::Linear fc1{this, "fc1", 2, 8}, fc2{this, "fc2", 8, 1};
  plait::Tensor forward(const plait::Tensor& x) { return fc2(plait::ops::tanh(fc1(x))); }
};

int main() try {
  using namespace plait;
  Net net;
  Builder b("step");
  const Tensor y = net(b.feed("x", DType::f32, {4, 2}));
  const Tensor loss = ops::mse_loss(y, b.feed("t", DType::f32, {4, 1}));
  b.fetch("loss", loss);
  b.fetch("y", y);
  nn::minimize(loss, net.parameters(), nn::Adam{.lr = 0.05});

  ir::Package package;
  package.graphs.push_back(b.take());
  Session session(std::move(package), make_target("ref"), /*seed=*/1);
  const Arrays feeds{{"x", Array::of(DType::f32, {4, 2}, {0, 0, 0, 1, 1, 0, 1, 1})},
                     {"t", Array::of(DType::f32, {4, 1}, {0, 1, 1, 0})}};
  Arrays result;
  for (int step = 0; step < 300; ++step) {
    result = session.run({"step", feeds, {}});
    if (step % 50 == 0) std::printf("step %3d  loss %.6f\n", step, result.at("loss").real(0));
  }
  bool learned = true;
  for (int i = 0; i < 4; ++i) {
    const double guess = result.at("y").real(i), wanted = feeds.at("t").real(i);
    std::printf("%d xor %d = %.3f\n", i / 2, i % 2, guess);
    learned = learned && guess > wanted - 0.1 && guess < wanted + 0.1;
  }
  return learned ? 0 : 1;
} catch (const std::exception& e) {
  std::fprintf(stderr, "error: %s\n", e.what());
  return 1;
}
