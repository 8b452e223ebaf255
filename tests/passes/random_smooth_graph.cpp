// Random losses that are differentiable everywhere and stay small, for checking gradients.
#include "ops/ops.h"
#include "tests/passes/random_draw.h"
#include "tests/passes/random_graph.h"

namespace plait::test {
namespace {

class SmoothGenerator {
 public:
  explicit SmoothGenerator(std::uint64_t seed) : draw_(seed), b_("smooth") {}

  ir::Graph run(int steps) {
    const std::vector<Shape> shapes{{3, 4}, {4}, {3, 1}, {2, 4, 3}, {}};
    for (int i = 0; i < 3; ++i) {
      const ir::Type type{DType::f64, draw_.of(shapes)};
      pool_.push_back(b_.state({str("w", i), type, ir::Role::kParam, {}}));
    }
    for (int i = 0; i < steps; ++i) {
      try {
        pool_.push_back(step());
      } catch (const UserError&) {  // what was drawn does not fit together; nothing was added
      }
    }
    Tensor loss = ops::tanh(pool_.back()).mean();
    for (int i = 0; i < 3; ++i) loss = loss + ops::sin(pick()).mean();
    b_.fetch("loss", loss);
    return b_.take();
  }

 private:
  Tensor pick() {
    const std::size_t late = std::min<std::size_t>(pool_.size(), 4);
    return draw_.chance(60) ? pool_[pool_.size() - 1 - static_cast<std::size_t>(draw_.below(late))]
                            : draw_.of(pool_);
  }

  Tensor step() {
    switch (draw_.below(4)) {
      case 0:
        return one_operand(pick());
      case 1:
        return two_operands(pick(), pick());
      case 2:
        return moved(pick());
      default:
        return joined(pick());
    }
  }

  Tensor one_operand(const Tensor& x) {
    switch (draw_.below(10)) {
      case 0:
        return ops::tanh(x);
      case 1:
        return ops::sigmoid(x);
      case 2:
        return ops::sin(x);
      case 3:
        return ops::exp(ops::tanh(x));
      case 4:
        return ops::softplus(x);
      case 5:
        return ops::gelu(x);
      case 6:
        return ops::log1p(x.square());
      case 7:
        return ops::rsqrt(x.square() + 1);
      case 8:
        return ops::atan(x);
      default:
        return -ops::cos(x);
    }
  }

  Tensor two_operands(const Tensor& a, const Tensor& b) {
    switch (draw_.below(6)) {
      case 0:
        return a + b;
      case 1:
        return a - b;
      case 2:
        return ops::tanh(a * b);
      case 3:
        return a / (b.square() + 1);
      case 4:
        return ops::pow(ops::sigmoid(ops::tanh(a)), ops::tanh(b));
      default:
        return ops::tanh(ops::matmul(a, b.rank() >= 2 ? b.t() : b));
    }
  }

  Tensor moved(const Tensor& x) {
    switch (draw_.below(7)) {
      case 0:
        return x.reshape({-1});
      case 1:
        return x.t();
      case 2:
        return x.broadcast_to({2, 3, 4});
      case 3:
        return x.slice(-1, draw_.chance(50) ? 0 : -2, 3);
      case 4:
        return ops::flip(x);
      case 5:
        return x.unsqueeze({0});
      default: {
        ops::Pad p{Shape(x.shape().size(), 1), Shape(x.shape().size(), -1), {}, 0.5};
        return ops::pad(x, p);
      }
    }
  }

  Tensor joined(const Tensor& x) {
    const ops::Reduction over{{draw_.below(2) - 1}, draw_.chance(50)};
    switch (draw_.below(8)) {
      case 0:
        return ops::mean(x, over);
      case 1:
        return ops::tanh(ops::sum(x, over));
      case 2:
        return ops::logsumexp(x, over);
      case 3:
        return ops::softmax(x, ops::Axis{-1});
      case 4:
        return ops::concat.all({x, x * 0.5}, ops::Axis{0})[0];
      case 5:
        return ops::tanh(ops::prod(x, over));
      case 6:
        return ops::where(b_.constant(draw_.below(2), DType::boolean), x, x.square());
      default:
        return ops::log_softmax(x, ops::Axis{-1});
    }
  }

  Draw draw_;
  Builder b_;
  std::vector<Tensor> pool_;
};

}  // namespace

ir::Graph random_smooth_graph(std::uint64_t seed, int steps) {
  return SmoothGenerator(seed).run(steps);
}

}  // namespace plait::test
