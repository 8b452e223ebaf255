// Random graphs of every dtype: a pool of values that steps, drawn from a table, add to.
#include "random_graph.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "ops/ops.h"
#include "ops/samples.h"
#include "ops/table.h"
#include "random_draw.h"

namespace plait::test {
namespace {

class Generator {
 public:
  Generator(std::uint64_t seed, bool symbolic) : draw_(seed), symbolic_(symbolic), b_("random") {}

  ir::Graph run(int steps) {
    for (int i = 0; i < 3; ++i) {
      shapes_.push_back(random_shape());
      const DType dtype = random_dtype();
      pool_.push_back(b_.feed(str("x", i), dtype, shapes_.back()));
      pool_.push_back(b_.state({str("w", i), {dtype, related_shape()}, ir::Role::kParam, {}}));
    }
    for (int i = 0; i < steps; ++i) {
      try {
        step();
      } catch (const UserError&) {  // what was drawn does not fit together; nothing was added
      }
    }
    finish();
    return b_.take();
  }

 private:
  // What a step may be, with how often it is taken.
  void step() {
    using Step = void (Generator::*)();
    static constexpr std::pair<int, Step> kSteps[] = {
        {30, &Generator::elementwise}, {8, &Generator::neutral}, {6, &Generator::choose},
        {8, &Generator::cast},         {8, &Generator::reshape}, {6, &Generator::transpose},
        {6, &Generator::broadcast},    {5, &Generator::slice},   {4, &Generator::pad},
        {4, &Generator::flip},         {6, &Generator::join},    {6, &Generator::reduce},
        {4, &Generator::product},      {8, &Generator::again},   {5, &Generator::twice},
        {3, &Generator::sample},       {2, &Generator::count},
    };
    int total = 0;
    for (const auto& [weight, make] : kSteps) total += weight;
    int at = draw_.below(static_cast<std::size_t>(total));
    for (const auto& [weight, make] : kSteps) {
      if ((at -= weight) < 0) return (this->*make)();
    }
  }

  void put(const std::vector<Tensor>& made) { pool_.insert(pool_.end(), made.begin(), made.end()); }
  void put(const Tensor& made) { pool_.push_back(made); }

  DType random_dtype() { return static_cast<DType>(draw_.below(kDTypeCount)); }

  Dim random_size() {
    if (symbolic_ && draw_.chance(30)) return Dim::symbol("n", 1, 4);
    return draw_.of(std::vector<int>{1, 1, 2, 2, 3, 4, draw_.chance(10) ? 0 : 3});
  }

  Shape random_shape() {
    Shape shape;
    for (int rank = draw_.below(4); rank > 0; --rank) shape.push_back(random_size());
    return shape;
  }

  /// One that broadcasts with a shape that is there.
  Shape related_shape() {
    Shape shape = draw_.of(shapes_);
    if (draw_.chance(50)) return shape;
    shape.erase(shape.begin(), shape.begin() + draw_.below(shape.size() + 1));
    for (Dim& d : shape) {
      if (draw_.chance(30)) d = 1;
    }
    return shape;
  }

  /// Late values more often, so that chains form.
  Tensor pick(const std::function<bool(const Tensor&)>& fits = [](const Tensor&) { return true; }) {
    std::vector<Tensor> found;
    for (const Tensor& t : pool_) {
      if (fits(t)) found.push_back(t);
    }
    if (found.empty()) fail("nothing fits");
    const std::size_t late = std::min<std::size_t>(found.size(), 4);
    return draw_.chance(60) ? found[found.size() - 1 - static_cast<std::size_t>(draw_.below(late))]
                            : draw_.of(found);
  }
  Tensor pick(DType dtype) {
    return pick([&](const Tensor& t) { return t.dtype() == dtype; });
  }

  Tensor neutral_constant(DType dtype) {
    const std::vector<double> numbers{0, 0, -0.0, 1, 1, -1, 2, is_float(dtype) ? -HUGE_VAL : 3};
    const Tensor one = b_.constant(draw_.of(numbers), dtype);
    return draw_.chance(70) ? one : one.broadcast_to(related_shape());
  }
  void neutral() { put(neutral_constant(random_dtype())); }

  /// Any elementwise op of the table that needs no attributes; what rules look for more often.
  void elementwise() {
    static const std::vector<const Op*> kOps = [] {
      std::vector<const Op*> found;
      for (const Op* op : all_ops()) {
        const bool fails_on_zero = op == &ops::floor_div || op == &ops::mod;
        if (op->traits & kElementwise && op->scalar && !fails_on_zero) found.push_back(op);
      }
      return found;
    }();
    static const std::vector<const Op*> kOften{
        &ops::neg, &ops::abs,    &ops::add,     &ops::sub,     &ops::mul,
        &ops::div, &ops::square, &ops::maximum, &ops::minimum, &ops::logical_not};
    const Op& op = *draw_.of(draw_.chance(40) ? kOften : kOps);
    std::vector<Tensor> operands{pick([&](const Tensor& t) { return op.dtypes.has(t.dtype()); })};
    while (static_cast<int>(operands.size()) < op.inputs.size()) {
      const DType dtype = operands.back().dtype();
      operands.push_back(draw_.chance(20)   ? operands.back()
                         : draw_.chance(30) ? neutral_constant(dtype)
                                            : pick(dtype));
    }
    if (draw_.chance(50)) std::reverse(operands.begin(), operands.end());
    put(b_.add(op, operands, {}));
  }

  void choose() {
    const Tensor a = pick();
    put(where(pick(DType::boolean), a, draw_.chance(20) ? a : pick(a.dtype())));
  }

  void cast() {
    Tensor t = pick().cast(random_dtype());
    if (draw_.chance(50)) t = t.cast(random_dtype());
    put(t);
  }

  void reshape() {
    const Tensor t = pick();
    switch (draw_.below(4)) {
      case 0:
        return put(t.squeeze({}));
      case 1:
        return put(t.unsqueeze({draw_.below(static_cast<std::size_t>(t.rank()) + 1)}));
      case 2:
        return put(t.reshape({-1}));
    }
    Shape shape = t.shape();
    for (std::size_t i = shape.size(); i > 1; --i) {
      std::swap(shape[i - 1], shape[static_cast<std::size_t>(draw_.below(i))]);
    }
    put(t.reshape(shape));
  }

  std::vector<std::int64_t> random_order(int rank) {
    std::vector<std::int64_t> order;
    for (int i = 0; i < rank; ++i) order.push_back(draw_.chance(20) ? i - rank : i);
    for (std::size_t i = order.size(); i > 1; --i) {
      std::swap(order[i - 1], order[static_cast<std::size_t>(draw_.below(i))]);
    }
    return order;
  }
  void transpose() {
    const Tensor t = pick();
    put(draw_.chance(30) && t.rank() >= 2 ? t.t() : t.transpose(random_order(t.rank())));
  }

  void broadcast() {
    const Tensor t = pick();
    Shape shape = draw_.chance(30) ? t.shape() : related_shape();
    if (draw_.chance(30)) shape.insert(shape.begin(), random_size());
    put(t.broadcast_to(shape));
  }

  std::vector<std::int64_t> some_axes(const Tensor& t) {
    std::vector<std::int64_t> axes;
    for (int i = 0; i < t.rank(); ++i) {
      if (draw_.chance(50)) axes.push_back(i);
    }
    return axes;
  }

  void slice() {
    const Tensor t = pick([](const Tensor& x) { return x.rank() > 0; });
    ops::Slice s;
    s.axes = some_axes(t);
    for (std::size_t i = 0; i < s.axes.size(); ++i) {
      s.starts.push_back(draw_.below(4) - 2);
      s.stops.push_back(draw_.chance(40) ? Dim(100) : Dim(draw_.below(6) - 1));
      s.steps.push_back(draw_.chance(60) ? 1 : 2);
    }
    put(ops::slice(t, s));
  }

  void pad() {
    const Tensor t = pick();
    ops::Pad p;
    for (int i = 0; i < t.rank(); ++i) {
      p.low.push_back(draw_.chance(50) ? 0 : draw_.below(4) - 1);
      p.high.push_back(draw_.chance(50) ? 0 : draw_.below(4) - 1);
      if (draw_.chance(50)) p.interior.push_back(draw_.chance(60) ? 0 : 1);
    }
    if (p.interior.size() != p.low.size()) p.interior.clear();
    p.value = draw_.of(std::vector<double>{0, 0, 1});
    put(ops::pad(t, p));
  }

  void flip() {
    const Tensor t = pick();
    put(ops::flip(t, ops::Axes{some_axes(t)}));
  }

  void join() {
    const Tensor t = pick([](const Tensor& x) { return x.rank() > 0; });
    const std::int64_t axis = draw_.below(static_cast<std::size_t>(t.rank()));
    if (draw_.chance(50)) return put(ops::concat.all({t, pick(t.dtype())}, ops::Axis{axis}));
    const Dim& size = t.dim(static_cast<int>(axis));
    const Dim first = draw_.chance(30) ? size : plait::min(size, 1);
    ops::Split s{axis, {first, size - first}};
    if (first == size) s.sizes.pop_back();
    const std::vector<Tensor> pieces = ops::split.all({t}, s);
    put(pieces);
    std::vector<Operand> again(pieces.begin(), pieces.end());
    if (draw_.chance(30)) put(ops::concat.all(again, ops::Axis{axis}));
  }

  void reduce() {
    const Op& op = *ops::kReduce[draw_.below(std::size(ops::kReduce))];
    const Tensor t = pick([&](const Tensor& x) { return op.dtypes.has(x.dtype()); });
    put(op(t, ops::Reduction{some_axes(t), draw_.chance(50)}));
  }

  void product() {
    const Tensor a = pick([](const Tensor& t) { return t.rank() >= 2; });
    const Tensor b = draw_.chance(40) ? a : pick(a.dtype());
    put(ops::matmul(a, draw_.chance(50) && b.rank() >= 2 ? b.t() : b,
                    ops::Matmul{draw_.chance(50), draw_.chance(50)}));
  }

  /// A node that is there once more, under another path.
  void again() {
    if (b_.graph().nodes.empty()) return;
    const ir::Node node = draw_.of(b_.graph().nodes);
    std::vector<Tensor> operands;
    for (ir::ValueId id : node.inputs) operands.push_back(id < 0 ? Tensor() : b_.value(id));
    const Scope scope(b_, "again");
    put(b_.add(node.op, operands, node.attrs));
  }

  /// The op that made a value, on that value.
  void twice() {
    const Tensor t =
        pick([&](const Tensor& x) { return b_.graph().value(x.id()).producer != ir::kNone; });
    const ir::Node node = b_.graph().node(b_.graph().value(t.id()).producer);
    if (node.inputs.size() == 1) put(b_.add(node.op, {t}, node.attrs));
  }

  /// An op of the table on constants from its samples.
  void sample() {
    const Op& op = *draw_.of(std::vector<const Op*>(all_ops().begin(), all_ops().end()));
    const std::vector<Sample> samples = samples_of(op);
    if (samples.empty() || op.traits & kRandom) return;
    const Sample& s = draw_.of(samples);
    std::vector<Array> feeds = sample_feeds(s, DType::f32, 3);
    std::vector<Tensor> operands;
    auto next = feeds.begin();
    for (const SampleOperand& o : s.operands) {
      operands.push_back(o.absent ? Tensor() : b_.constant(*next++));
    }
    put(b_.add(op, operands, s.attrs));
  }

  void count() {
    const Shape shape = related_shape();
    put(ops::iota.make(b_, ops::Iota{shape, 0, draw_.chance(50) ? DType::i64 : DType::f16}));
  }

  void finish() {
    for (int i = 0; i < 5; ++i) b_.fetch(str("y", i), pick());
    for (const ir::StateUse& use : std::vector(b_.graph().states)) {
      b_.next(use.state.name, pick([&](const Tensor& t) { return t.type() == use.state.type; }));
    }
  }

  Draw draw_;
  bool symbolic_;
  Builder b_;
  std::vector<Tensor> pool_;
  std::vector<Shape> shapes_;
};

}  // namespace

ir::Graph random_graph(std::uint64_t seed, int steps, bool symbolic) {
  return Generator(seed, symbolic).run(steps);
}

}  // namespace plait::test
