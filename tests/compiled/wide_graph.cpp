// Random graphs over large tensors: a pool of values that steps, drawn from a table, add to.
#include "tests/compiled/wide_graph.h"

#include "ops/ops.h"
#include "tests/passes/random_draw.h"

namespace plait::test {
namespace {

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : draw_(seed), b_("wide") {}

  ir::Graph run(int steps) {
    const std::vector<Shape> shapes{{67, 130},    {130},          {67, 1},
                                    {3, 67, 130}, {2, 8, 19, 23}, {2, 8, 1, 1}};
    const std::vector<DType> dtypes{DType::f32, DType::f32, DType::f32, DType::bf16, DType::f64};
    const DType dtype = draw_.of(dtypes);
    for (int i = 0; i < 3; ++i) {
      pool_.push_back(b_.feed(str("x", i), dtype, draw_.of(shapes)));
      const ir::Type type{dtype, draw_.of(shapes)};
      pool_.push_back(b_.state({str("w", i), type, ir::Role::kParam, {}}));
    }
    for (int i = 0; i < steps; ++i) {
      try {
        const Tensor made = step();
        const std::int64_t elements = made.type().elements().value();
        if (elements > 0 && elements <= kMostElements) pool_.push_back(made);
      } catch (const UserError&) {  // what was drawn does not fit together; nothing was added
      }
    }
    for (int i = 0; i < 3; ++i) b_.fetch(str("y", i), pick());
    for (const ir::StateUse& use : std::vector(b_.graph().states)) {
      std::vector<Tensor> fit;
      for (const Tensor& t : pool_) {
        if (t.type() == use.state.type) fit.push_back(t);
      }
      if (!fit.empty()) b_.next(use.state.name, draw_.of(fit));
    }
    return b_.take();
  }

 private:
  static constexpr std::int64_t kMostElements = 40'000;

  Tensor pick() {
    const std::size_t late = std::min<std::size_t>(pool_.size(), 4);
    return draw_.chance(60) ? pool_[pool_.size() - 1 - static_cast<std::size_t>(draw_.below(late))]
                            : draw_.of(pool_);
  }

  Tensor step() {
    switch (draw_.below(6)) {
      case 0:
        return one_operand(pick());
      case 1:
        return two_operands(pick(), pick());
      case 2:
        return moved(pick());
      case 3:
        return reduced(pick());
      case 4:
        return contracted(pick(), pick());
      default:
        return normalised(pick());
    }
  }

  Tensor one_operand(const Tensor& x) {
    switch (draw_.below(6)) {
      case 0:
        return ops::tanh(x);
      case 1:
        return ops::sigmoid(x);
      case 2:
        return ops::relu(x);
      case 3:
        return ops::gelu(x);
      case 4:
        return x * 0.5;
      default:
        return x.cast(x.dtype() == DType::bf16 ? DType::f32 : DType::bf16).cast(x.dtype());
    }
  }

  Tensor two_operands(const Tensor& a, const Tensor& b) {
    switch (draw_.below(5)) {
      case 0:
        return a + b;
      case 1:
        return a - b;
      case 2:
        return a * ops::tanh(b);
      case 3:
        return ops::maximum(a, b);
      default:
        return ops::where(ops::less(a, b), a, b * 0.25);
    }
  }

  Tensor moved(const Tensor& x) {
    switch (draw_.below(7)) {
      case 0:
        return x.t();
      case 1:
        return x.reshape({-1});
      case 2:
        return x.slice(-1, draw_.below(3), 17 + draw_.below(40));
      case 3:
        return ops::flip(x);
      case 4:
        return ops::concat.all({x, x * 0.5}, ops::Axis{draw_.below(2)})[0];
      case 5:
        return x.broadcast_to({2, 67, 130});
      default: {
        ops::Pad p{Shape(x.shape().size(), 1), Shape(x.shape().size(), 2), {}, 0.5};
        return ops::pad(x, p);
      }
    }
  }

  Tensor reduced(const Tensor& x) {
    if (x.rank() == 0) return x;
    const ops::Reduction over{{draw_.below(static_cast<std::size_t>(x.rank()))}, draw_.chance(50)};
    switch (draw_.below(5)) {
      case 0:
        return ops::mean(x, over);
      case 1:
        return ops::max(x, over);
      case 2:
        return ops::tanh(ops::sum(x, over));
      case 3:
        return ops::logsumexp(x, over);
      default:
        return x.mean();
    }
  }

  Tensor contracted(const Tensor& a, const Tensor& b) {
    if (a.rank() == 4 && draw_.chance(70)) {
      const Tensor w =
          b_.state({str("k", kernels_++), {a.dtype(), {5, 8, 3, 3}}, ir::Role::kParam, {}});
      const ops::Conv2d conv{{1 + draw_.below(2), 1 + draw_.below(2)}, {1, 1}};
      return ops::conv2d(a, w, conv) * 0.1;
    }
    return ops::matmul(a, b.rank() >= 2 && draw_.chance(50) ? b.t() : b) * 0.1;
  }

  Tensor normalised(const Tensor& x) {
    switch (draw_.below(3)) {
      case 0:
        return ops::softmax(x, ops::Axis{draw_.below(2) - 1});
      case 1:
        return ops::layer_norm(x, Tensor(), Tensor(), ops::LayerNorm{});
      default:
        return x - x.mean();
    }
  }

  Draw draw_;
  Builder b_;
  std::vector<Tensor> pool_;
  int kernels_ = 0;
};

}  // namespace

ir::Graph wide_graph(std::uint64_t seed, int steps) { return Generator(seed).run(steps); }

}  // namespace plait::test
