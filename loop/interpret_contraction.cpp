// Contractions, product by product, and what rides behind them.
#include <cmath>

#include "base/at.h"
#include "base/convert.h"
#include "loop/kernel_interpreter.h"

namespace plait::loop {
namespace {

using Axis = AxisOf<std::int64_t>;

std::int64_t count_of(const std::vector<Axis>& axes) {
  std::int64_t count = 1;
  for (const Axis& x : axes) count *= x.extent;
  return count;
}

/// Adds the place of point number `n` of some axes.
void add_place(Axis& to, const std::vector<Axis>& axes, std::int64_t n) {
  for (std::size_t i = axes.size(); i-- > 0;) {
    const std::int64_t index = n % axes[i].extent;
    n /= axes[i].extent;
    to.a += index * axes[i].a;
    to.b += index * axes[i].b;
    to.c += index * axes[i].c;
    to.h += index * axes[i].h;
    to.w += index * axes[i].w;
  }
}

class ContractionInterpreter {
 public:
  ContractionInterpreter(const Contraction& c, const KernelRun& run)
      : c_(bind(c, run.sizes)), run_(run) {
    check(run.buffers.size() >= 2, run.name, " is a contraction of ", run.buffers.size(),
          " buffers");
    a_ = {c_.dtype, false, run.buffers[0]};
    b_ = {c_.dtype, false, run.buffers[1]};
  }

  std::int64_t columns() const { return count_of(c_.n); }
  std::int64_t rows() const { return count_of(c_.batch) * count_of(c_.m); }

  /// The place of an element of the result, in all operands.
  Axis place(std::int64_t row, std::int64_t column) const {
    Axis at{.extent = 1, .a = c_.a0, .b = c_.b0, .c = c_.c0, .h = c_.h0, .w = c_.w0};
    const std::int64_t m = count_of(c_.m);
    add_place(at, c_.batch, row / m);
    add_place(at, c_.m, row % m);
    add_place(at, c_.n, column);
    return at;
  }

  /// The sum of an element's products, held as compute_type(dtype).
  HeldValue element(std::int64_t row, std::int64_t column) const {
    if (c_.dtype == DType::f64) return sum<double>(place(row, column));
    if (is_float(c_.dtype)) return sum<float>(place(row, column));
    return sum<std::int64_t>(place(row, column));
  }

 private:
  template <class T>
  T loaded(const char* name, const HeldBuffer& buffer, std::int64_t i) const {
    if (i < 0 || i >= buffer.count()) {
      throw Bug(str(run_.name, ": the contraction reads ", name, "[", i, "] of ", buffer.count(),
                    " elements"));
    }
    const HeldValue x = buffer.load(i);
    return is_float(buffer.dtype) ? convert<T>(x.real) : convert<T>(x.whole);
  }

  template <class T>
  HeldValue sum(const Axis& origin) const {
    T acc = 0;
    Reduced out{kTileSum, 0, 0, 0};
    const std::int64_t terms = count_of(c_.k);
    for (std::int64_t k = 0; k < terms; ++k) {
      Axis at = origin;
      add_place(at, c_.k, k);
      const bool inside = at.h >= 0 && at.h < c_.height && at.w >= 0 && at.w < c_.width;
      if (c_.guarded && !inside) continue;
      const T a = loaded<T>("a", a_, at.a), b = loaded<T>("b", b_, at.b);
      if constexpr (std::integral<T>) {
        acc = apply_integer(ScalarOp::kAdd, acc, apply_integer(ScalarOp::kMul, a, b, 0), 0);
      } else {
        const T product = a * b;
        acc += product;
        ++out.terms;
        out.size += std::abs(static_cast<double>(product));
      }
    }
    if constexpr (std::integral<T>) {
      return {0, acc};
    } else {
      out.value = static_cast<double>(acc);
      if (run_.reduced) out.value = static_cast<double>(static_cast<T>(run_.reduced(out)));
      return {out.value, 0};
    }
  }

  BoundContraction c_;
  const KernelRun& run_;
  HeldBuffer a_{}, b_{};
};

/// The product alone: c = a b, rounded once.
Kernel bare_epilogue(const Contraction& c) {
  Kernel k;
  k.epilogue = true;
  Let let;
  let.dtype = c.dtype;
  let.compute = compute_type(c.dtype);
  let.body = Expr::load(0);
  let.operands = {{.kind = KernelOperand::kTile}};
  Dim offset = c.c0;
  const auto add = [&](const std::vector<AxisOf<Dim>>& axes, std::vector<KernelIndex>& to) {
    for (const AxisOf<Dim>& x : axes) {
      to.push_back({str("$c", k.rows.size() + k.inner.size()), x.extent});
      offset = offset + x.c * symbol_of(to.back());
    }
  };
  add(c.batch, k.rows);
  k.batch_rows = static_cast<int>(k.rows.size());
  add(c.m, k.rows);
  add(c.n, k.inner);
  k.buffers = {{c.dtype, true}};
  k.lets = {let};
  k.stores = {{0, 0, offset}};
  return k;
}

}  // namespace

Faults interpret(const Contraction& contraction, const Kernel* epilogue, const KernelRun& run) {
  const Kernel bare = epilogue ? Kernel() : bare_epilogue(contraction);
  const Kernel& behind = epilogue ? *epilogue : bare;
  check(behind.epilogue, run.name, " has a kernel behind its contraction that is no epilogue");
  const ContractionInterpreter product(contraction, run);
  KernelInterpreter kernel(behind, run, 2);
  check(kernel.rows() == product.rows() && kernel.inner() == product.columns(), run.name,
        ": the contraction has ", product.rows(), " x ", product.columns(),
        " elements, its epilogue is for ", kernel.rows(), " x ", kernel.inner());
  kernel.call();
  for (std::int64_t row = 0; row < kernel.rows(); ++row) {
    kernel.row(
        row, [&](std::int64_t column) { return product.element(row, column); },
        compute_type(contraction.dtype));
  }
  return kernel.faults();
}

}  // namespace plait::loop
