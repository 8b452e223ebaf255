// Contractions for the tests: matmuls, convolutions and their gradients in every layout, written as
// Problems, with a plain double loop as the reference and memory that ends where the operand ends.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "backends/cpu/contract/contract.h"

namespace plait::cpu {

struct Case {
  std::string name;
  Problem problem;
};

/// Memory between two pages that may not be touched; it starts after the first or ends before the
/// last, so that one access too far on that side ends the test.
class Fenced {
 public:
  Fenced(std::int64_t bytes, bool at_end) : bytes_(bytes) {
    const std::int64_t page = sysconf(_SC_PAGESIZE);
    const std::int64_t inside = (bytes + page - 1) / page * page;
    mapped_ = inside + 2 * page;
    base_ = static_cast<std::byte*>(
        mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    check(base_ != MAP_FAILED, "mmap failed");
    if (inside > 0) check(mprotect(base_ + page, inside, PROT_READ | PROT_WRITE) == 0, "mprotect");
    data_ = base_ + page + (at_end ? inside - bytes : 0);
  }
  ~Fenced() { munmap(base_, mapped_); }
  Fenced(const Fenced&) = delete;
  Fenced& operator=(const Fenced&) = delete;
  std::byte* data() const { return data_; }
  std::int64_t bytes() const { return bytes_; }

 private:
  std::int64_t bytes_, mapped_;
  std::byte *base_, *data_;
};

inline std::int64_t extent_of(const std::vector<Axis>& axes) {
  std::int64_t extent = 1;
  for (const Axis& axis : axes) extent *= axis.extent;
  return extent;
}

/// Where the flattened index of `axes` lies in every operand.
inline Axis place_of(const std::vector<Axis>& axes, std::int64_t index) {
  Axis at{.extent = 0};
  for (std::size_t i = axes.size(); i-- > 0;) {
    const std::int64_t x = index % axes[i].extent;
    index /= axes[i].extent;
    at.a += x * axes[i].a;
    at.b += x * axes[i].b;
    at.c += x * axes[i].c;
    at.h += static_cast<std::int32_t>(x * axes[i].h);
    at.w += static_cast<std::int32_t>(x * axes[i].w);
  }
  return at;
}

/// Calls f(offset in A or -1 where guarded away, offset in B) for every product of one element.
template <class F>
void each_product(const Problem& p, const Axis& batch, const Axis& m, const Axis& n, F f) {
  const std::int64_t depth = extent_of(p.k);
  for (std::int64_t i = 0; i < depth; ++i) {
    const Axis k = place_of(p.k, i);
    const std::int64_t h = p.h0 + batch.h + m.h + n.h + k.h, w = p.w0 + batch.w + m.w + n.w + k.w;
    const bool inside = !p.guarded || (h >= 0 && h < p.height && w >= 0 && w < p.width);
    f(inside ? p.a0 + batch.a + m.a + k.a : -1, p.b0 + batch.b + n.b + k.b);
  }
}

/// Calls f(batch, m, n, offset in C, places) for every element of the result.
template <class F>
void each_result(const Problem& p, F f) {
  for (std::int64_t i = 0; i < extent_of(p.batch); ++i) {
    const Axis batch = place_of(p.batch, i);
    for (std::int64_t j = 0; j < extent_of(p.m); ++j) {
      const Axis m = place_of(p.m, j);
      for (std::int64_t l = 0; l < extent_of(p.n); ++l) {
        const Axis n = place_of(p.n, l);
        f(i, j, l, p.c0 + batch.c + m.c + n.c, batch, m, n);
      }
    }
  }
}

struct MatmulShape {
  std::int64_t m, n, k, batch = 1;
  bool a_turned = false, b_turned = false, c_turned = false;  // b_turned: B is [k, n]
  bool share_a = false, share_b = false;                      // over the batch
  std::int64_t slack = 0;                                     // added to every row length
};

inline Problem matmul(const MatmulShape& s) {
  Problem p;
  const std::int64_t a_ld = (s.a_turned ? s.m : s.k) + s.slack;
  const std::int64_t b_ld = (s.b_turned ? s.n : s.k) + s.slack;
  const std::int64_t c_ld = (s.c_turned ? s.m : s.n) + s.slack;
  p.batch = {{.extent = s.batch,
              .a = s.share_a ? 0 : a_ld * (s.a_turned ? s.k : s.m),
              .b = s.share_b ? 0 : b_ld * (s.b_turned ? s.k : s.n),
              .c = c_ld * (s.c_turned ? s.n : s.m)}};
  p.m = {{.extent = s.m, .a = s.a_turned ? 1 : a_ld, .c = s.c_turned ? 1 : c_ld}};
  p.n = {{.extent = s.n, .b = s.b_turned ? 1 : b_ld, .c = s.c_turned ? c_ld : 1}};
  p.k = {{.extent = s.k, .a = s.a_turned ? a_ld : 1, .b = s.b_turned ? b_ld : 1}};
  return p;
}

struct ConvShape {
  std::int64_t n, h, w, c, o;  // c and o: of one group
  std::int64_t kh = 3, kw = 3;
  std::int64_t stride = 1, pad = 1, dilation = 1, groups = 1;
  bool nchw = false;
  std::int64_t oh() const { return (h + 2 * pad - dilation * (kh - 1) - 1) / stride + 1; }
  std::int64_t ow() const { return (w + 2 * pad - dilation * (kw - 1) - 1) / stride + 1; }
};

/// Steps of an image tensor [n, h, w, channels] in its layout.
struct ImageSteps {
  std::int64_t n, h, w, c;
  ImageSteps(std::int64_t height, std::int64_t width, std::int64_t channels, bool nchw)
      : n(height * width * channels),
        h(nchw ? width : width * channels),
        w(nchw ? 1 : channels),
        c(nchw ? height * width : 1) {}
};

/// y[n, oh, ow, o] = sum x[n, oh * s + i * d - p, .., c] * weight[o, i, j, c].
inline Problem conv(const ConvShape& s) {
  const ImageSteps x(s.h, s.w, s.c * s.groups, s.nchw), y(s.oh(), s.ow(), s.o * s.groups, s.nchw);
  const std::int32_t stride = static_cast<std::int32_t>(s.stride);
  const std::int32_t dilation = static_cast<std::int32_t>(s.dilation);
  // Weights [group][o][i][j][c], or [group][o][c][i][j] with images in NCHW.
  const std::int64_t tap = s.kh * s.kw, o_step = tap * s.c;
  const std::int64_t i_step = s.nchw ? s.kw : s.kw * s.c, j_step = s.nchw ? 1 : s.c;
  Problem p;
  p.batch = {{.extent = s.groups, .a = s.c * x.c, .b = s.o * o_step, .c = s.o * y.c}};
  p.m = {{.extent = s.n, .a = x.n, .c = y.n},
         {.extent = s.oh(), .a = s.stride * x.h, .c = y.h, .h = stride},
         {.extent = s.ow(), .a = s.stride * x.w, .c = y.w, .w = stride}};
  p.n = {{.extent = s.o, .b = o_step, .c = y.c}};
  p.k = {{.extent = s.kh, .a = s.dilation * x.h, .b = i_step, .h = dilation},
         {.extent = s.kw, .a = s.dilation * x.w, .b = j_step, .w = dilation},
         {.extent = s.c, .a = x.c, .b = s.nchw ? tap : 1}};
  p.guarded = true;
  p.h0 = p.w0 = -s.pad;
  p.height = s.h;
  p.width = s.w;
  p.a0 = -s.pad * (x.h + x.w);
  return p;
}

/// dw[o, i, j, c] = sum over n, oh, ow of x * dy: A is the image, B is dy.
inline Problem conv_weight_grad(const ConvShape& s) {
  const Problem forward = conv(s);
  Problem p = forward;
  const auto moved = [](const Axis& axis, std::int64_t b, std::int64_t c) {
    return Axis{.extent = axis.extent, .a = axis.a, .b = b, .c = c, .h = axis.h, .w = axis.w};
  };
  p.batch[0] = moved(forward.batch[0], forward.batch[0].c, forward.batch[0].b);
  for (Axis& axis : p.n) axis = moved(axis, axis.c, axis.b);
  p.k.clear();
  for (const Axis& axis : forward.m) p.k.push_back(moved(axis, axis.c, 0));
  p.m.clear();
  for (const Axis& axis : forward.k) p.m.push_back(moved(axis, 0, axis.b));
  return p;
}

/// dx of one phase (ph, pw) of the stride: those input positions, and the taps that reach them.
inline Problem conv_input_grad(const ConvShape& s, std::int64_t ph, std::int64_t pw) {
  const ImageSteps x(s.h, s.w, s.c * s.groups, s.nchw), y(s.oh(), s.ow(), s.o * s.groups, s.nchw);
  const std::int64_t o_step = s.kh * s.kw * s.c;
  const std::int64_t i_step = s.nchw ? s.kw : s.kw * s.c, j_step = s.nchw ? 1 : s.c;
  // Positions ih = ph + s * u need taps i with (ih + pad - i) % s == 0: i = i0 + s * t, oh = u + h0
  // - t (dilation 1).
  const std::int64_t i0 = (ph + s.pad) % s.stride, j0 = (pw + s.pad) % s.stride;
  const auto count = [](std::int64_t all, std::int64_t from, std::int64_t step) {
    return all > from ? (all - from + step - 1) / step : 0;
  };
  Problem p;
  p.h0 = (ph + s.pad - i0) / s.stride;
  p.w0 = (pw + s.pad - j0) / s.stride;
  p.batch = {{.extent = s.groups, .a = s.o * y.c, .b = s.o * o_step, .c = s.c * x.c}};
  p.m = {{.extent = s.n, .a = y.n, .c = x.n},
         {.extent = count(s.h, ph, s.stride), .a = y.h, .c = s.stride * x.h, .h = 1},
         {.extent = count(s.w, pw, s.stride), .a = y.w, .c = s.stride * x.w, .w = 1}};
  p.n = {{.extent = s.c, .b = s.nchw ? s.kh * s.kw : 1, .c = x.c}};
  p.k = {{.extent = count(s.kh, i0, s.stride), .a = -y.h, .b = s.stride * i_step, .h = -1},
         {.extent = count(s.kw, j0, s.stride), .a = -y.w, .b = s.stride * j_step, .w = -1},
         {.extent = s.o, .a = y.c, .b = o_step}};
  p.guarded = true;
  p.height = s.oh();
  p.width = s.ow();
  p.a0 = p.h0 * y.h + p.w0 * y.w;
  p.b0 = i0 * i_step + j0 * j_step;
  p.c0 = ph * x.h + pw * x.w;
  return p;
}

}  // namespace plait::cpu
