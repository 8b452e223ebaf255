// Lab: a 2d convolution in NHWC, its weight gradient and its input gradient, in f32 on one thread,
// from plain loops to the engine. lab_conv [n size channels filters kernel stride]
#include "bench/contract_lab.h"

namespace plait::lab {
namespace {

struct Conv {
  std::int64_t n, size, c, o, kernel, stride;
  std::int64_t pad() const { return kernel / 2; }
  std::int64_t out() const { return (size + 2 * pad() - kernel) / stride + 1; }
  std::int64_t x_count() const { return n * size * size * c; }
  std::int64_t y_count() const { return n * out() * out() * o; }
  std::int64_t w_count() const { return o * kernel * kernel * c; }
  double flops() const { return 2.0 * static_cast<double>(y_count() * kernel * kernel * c); }
};

/// y[n, oh, ow, o] = sum x[n, ih, iw, c] * w[o, i, j, c]
void naive(const Conv& s, const float* x, const float* w, float* y) {
  for (std::int64_t p = 0; p < s.n * s.out() * s.out(); ++p) {
    const std::int64_t n = p / (s.out() * s.out()), oh = p / s.out() % s.out(), ow = p % s.out();
    for (std::int64_t o = 0; o < s.o; ++o) {
      float sum = 0;
      for (std::int64_t tap = 0; tap < s.kernel * s.kernel; ++tap) {
        const std::int64_t ih = oh * s.stride + tap / s.kernel - s.pad();
        const std::int64_t iw = ow * s.stride + tap % s.kernel - s.pad();
        if (ih < 0 || ih >= s.size || iw < 0 || iw >= s.size) continue;
        const float* pixel = x + ((n * s.size + ih) * s.size + iw) * s.c;
        const float* weights = w + (o * s.kernel * s.kernel + tap) * s.c;
        for (std::int64_t c = 0; c < s.c; ++c) sum += pixel[c] * weights[c];
      }
      y[p * s.o + o] = sum;
    }
  }
}

/// The columns of every output pixel in memory, then a matmul with w[.., o].
void columns(const Conv& s, const float* x, float* out) {
  for (std::int64_t p = 0; p < s.n * s.out() * s.out(); ++p) {
    const std::int64_t n = p / (s.out() * s.out()), oh = p / s.out() % s.out(), ow = p % s.out();
    for (std::int64_t tap = 0; tap < s.kernel * s.kernel; ++tap, out += s.c) {
      const std::int64_t ih = oh * s.stride + tap / s.kernel - s.pad();
      const std::int64_t iw = ow * s.stride + tap % s.kernel - s.pad();
      const bool inside = ih >= 0 && ih < s.size && iw >= 0 && iw < s.size;
      const float* pixel = x + ((n * s.size + ih) * s.size + iw) * s.c;
      for (std::int64_t c = 0; c < s.c; ++c) out[c] = inside ? pixel[c] : 0;
    }
  }
}

cpu::Problem forward(const Conv& s) {
  const std::int32_t stride = static_cast<std::int32_t>(s.stride);
  const std::int64_t row = s.size * s.c, out_row = s.out() * s.o, taps = s.kernel * s.c;
  cpu::Problem p;
  p.m = {{.extent = s.n, .a = s.size * row, .c = s.out() * out_row},
         {.extent = s.out(), .a = s.stride * row, .c = out_row, .h = stride},
         {.extent = s.out(), .a = s.stride * s.c, .c = s.o, .w = stride}};
  p.n = {{.extent = s.o, .b = s.kernel * taps, .c = 1}};
  p.k = {{.extent = s.kernel, .a = row, .b = taps, .h = 1},
         {.extent = s.kernel, .a = s.c, .b = s.c, .w = 1},
         {.extent = s.c, .a = 1, .b = 1}};
  p.guarded = s.pad() > 0;
  p.h0 = p.w0 = -s.pad();
  p.height = p.width = s.size;
  p.a0 = -s.pad() * (row + s.c);
  return p;
}

/// dw[o, i, j, c] = sum over pixels of x * dy: what was summed becomes m, and the pixels are
/// summed.
cpu::Problem weight_grad(const Conv& s) {
  cpu::Problem p = forward(s);
  std::swap(p.m, p.k);
  for (cpu::Axis& axis : p.m) std::swap(axis.b, axis.c);
  for (cpu::Axis& axis : p.n) std::swap(axis.b, axis.c);
  for (cpu::Axis& axis : p.k) std::swap(axis.b, axis.c);
  return p;
}

/// dx[n, ih, iw, c] = sum dy[n, ih + pad - i, iw + pad - j, o] * w[o, i, j, c], stride 1.
cpu::Problem input_grad(const Conv& s) {
  const std::int64_t row = s.size * s.c, out_row = s.out() * s.o, taps = s.kernel * s.c;
  cpu::Problem p;
  p.m = {{.extent = s.n, .a = s.out() * out_row, .c = s.size * row},
         {.extent = s.size, .a = out_row, .c = row, .h = 1},
         {.extent = s.size, .a = s.o, .c = s.c, .w = 1}};
  p.n = {{.extent = s.c, .b = 1, .c = 1}};
  p.k = {{.extent = s.kernel, .a = -out_row, .b = taps, .h = -1},
         {.extent = s.kernel, .a = -s.o, .b = s.c, .w = -1},
         {.extent = s.o, .a = 1, .b = s.kernel * taps}};
  p.guarded = s.pad() > 0;
  p.h0 = p.w0 = s.pad();
  p.height = p.width = s.out();
  p.a0 = s.pad() * (out_row + s.o);
  return p;
}

void engine_row(Table& table, const char* name, const cpu::Problem& p, const float* a,
                const float* b, float* c, std::int64_t count) {
  const cpu::Variant v = cpu::variants(p, cpu::detect_isa()).front();
  const Engine engine(p, v);
  table.time_only(std::string("  pack, ") + name, [&] { engine.pack(a, b); });
  table.row(std::string(name) + " " + to_text(v), c, count, [&] { engine.run(a, b, c); });
}

void lab(const Conv& s) {
  const Floats x(s.x_count()), w(s.w_count()), y(s.y_count());
  const std::int64_t pixels = s.n * s.out() * s.out(), taps = s.kernel * s.kernel * s.c;
  const Floats spread(pixels * taps), turned(taps * s.o), packed(256 * 16);
  x.fill(s.x_count(), 1);
  w.fill(s.w_count(), 2);
  for (std::int64_t i = 0; i < taps * s.o; ++i) {
    turned.get()[i % taps * s.o + i / taps] = w.get()[i];
  }
  std::printf("conv %ld x %ld x %ld x %ld, %ld filters %ld x %ld, stride %ld: ",
              static_cast<long>(s.n), static_cast<long>(s.size), static_cast<long>(s.size),
              static_cast<long>(s.c), static_cast<long>(s.o), static_cast<long>(s.kernel),
              static_cast<long>(s.kernel), static_cast<long>(s.stride));
  Table table(s.flops());
  table.row("naive: seven loops", y.get(), s.y_count(),
            [&] { naive(s, x.get(), w.get(), y.get()); });
  table.row("columns in memory, then a packed matmul", y.get(), s.y_count(), [&] {
    columns(s, x.get(), spread.get());
    matmul_packed(pixels, s.o, taps, spread.get(), turned.get(), y.get(), packed.get());
  });
  engine_row(table, "engine", forward(s), x.get(), w.get(), y.get(), s.y_count());
  const Floats dy(s.y_count()), dw(s.w_count()), dx(s.x_count());
  dy.fill(s.y_count(), 3);
  Table grads(s.flops());
  engine_row(grads, "dw", weight_grad(s), x.get(), dy.get(), dw.get(), s.w_count());
  if (s.stride != 1) return;
  Table inputs(s.flops());
  engine_row(inputs, "dx", input_grad(s), dy.get(), w.get(), dx.get(), s.x_count());
}

}  // namespace
}  // namespace plait::lab

int main(int count, char** words) {
  const auto size = [&](int i) { return std::strtol(words[i], nullptr, 10); };
  if (count == 7) {
    plait::lab::lab({size(1), size(2), size(3), size(4), size(5), size(6)});
    return 0;
  }
  plait::lab::lab({1, 56, 64, 64, 3, 1});
  plait::lab::lab({1, 56, 256, 64, 1, 1});
  plait::lab::lab({1, 224, 3, 64, 7, 2});
}
