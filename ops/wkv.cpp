// RWKV-4's recurrence and its gradient, written out in double: per (batch, channel) a scan
// forwards, and for the gradient one backwards over the states it went through.
#include "ops/wkv.h"

#include <cmath>

namespace plait::ops {
namespace {

constexpr double kEmpty = -1e38;  // o of a state that has seen nothing: e^(o - anything) is 0

struct State {
  double a = 0, b = 0, o = kEmpty;
};

/// y = (A a + B v) / (A b + B), with A = e^(o-m), B = e^(u+k-m), m = max(o, u+k).
struct Reading {
  double past, now, mass, y;
};

Reading read(const State& s, double k, double v, double u) {
  const double m = std::max(s.o, u + k);
  const double past = std::exp(s.o - m), now = std::exp(u + k - m);
  const double mass = past * s.b + now;
  return {past, now, mass, (past * s.a + now * v) / mass};
}

/// The state after a step: a' = F a + G v, b' = F b + G, o' = max(w+o, k), with F = e^(w+o-o'),
/// G = e^(k-o').
struct Advance {
  double past, now;
  State next;
};

Advance advance(const State& s, double k, double v, double w) {
  const double m = std::max(w + s.o, k);
  const double past = std::exp(w + s.o - m), now = std::exp(k - m);
  return {past, now, {past * s.a + now * v, past * s.b + now, m}};
}

/// A double copy of an operand; empty when it is left out.
struct Values {
  Array array;
  bool present = false;
  Values(const EvalCtx& c, int i) : present(c.has(i)) {
    if (present) array = c.in(i).cast(DType::f64);
  }
  double at(std::int64_t i, double otherwise = 0) const {
    return present ? array.as<double>()[static_cast<std::size_t>(i)] : otherwise;
  }
};

/// The operands shared by both ops, and where their elements are.
struct Operands {
  const EvalCtx& c;
  Values k{c, 0}, v{c, 1}, w{c, 2}, u{c, 3}, a0{c, 4}, b0{c, 5}, o0{c, 6};
  std::int64_t batch = c.in(0).sizes()[0];
  std::int64_t time = c.in(0).sizes()[1];
  std::int64_t channels = c.in(0).sizes()[2];

  std::int64_t step(std::int64_t n, std::int64_t t, std::int64_t ch) const {
    return (n * time + t) * channels + ch;
  }
  std::int64_t lane(std::int64_t n, std::int64_t ch) const { return n * channels + ch; }
  State initial(std::int64_t lane) const { return {a0.at(lane), b0.at(lane), o0.at(lane, kEmpty)}; }
};

/// Gradients on their way back through one lane.
struct Back {
  double a = 0, b = 0, o = 0;  // of the state
  double k = 0, v = 0;         // of this step's operands
  double w = 0, u = 0;         // summed over steps
};

/// Back through advance(), from the gradient of the next state to that of this one. The larger
/// side of the maximum takes its gradient; at a tie the past does.
void back_through_advance(Back& g, const State& s, const Advance& f, double v, bool past_is_max) {
  const double da = g.a, db = g.b, dmax = g.o;
  const double past = f.past * (da * s.a + db * s.b);  // of w+o, but for the maximum's part
  const double now = f.now * (da * v + db);            // of k, likewise
  const double to_past = past_is_max ? dmax - now : past;
  g.k = past_is_max ? now : dmax - past;
  g.v = f.now * da;
  g.a = f.past * da;
  g.b = f.past * db;
  g.o = to_past;
  g.w += to_past;
}

/// Back through read(). y does not depend on its maximum, so that has no gradient.
void back_through_read(Back& g, const State& s, const Reading& r, double v, double dy) {
  const double top = dy / r.mass, bottom = -top * r.y;
  const double now = r.now * (top * v + bottom);
  g.a += r.past * top;
  g.b += r.past * bottom;
  g.o += r.past * (top * s.a + bottom * s.b);
  g.k += now;
  g.u += now;
  g.v += r.now * top;
}

/// Operands of k's shape: k, v and dy.
bool is_row(int operand) { return operand < 2 || operand == 7; }

/// Halves with all else in f32: w, u and the state.
bool has_wide_lanes(const NodeView& v) {
  return is_half(v.in(0).dtype) && v.in(2).dtype == DType::f32;
}

void check_scan(const NodeView& v) {
  want_rank(v, 0, 3);
  const Shape& k = v.in(0).shape;  // [B,T,C]
  for (int i = 1; i < v.count(); ++i) {
    if (v.has(i)) same_dtype(v, is_row(i) || !has_wide_lanes(v) ? 0 : 2, i);
  }
  want_shape(v, 1, k, "k's");
  want_shape(v, 2, {k[2]}, "the channels");
  want_shape(v, 3, {k[2]}, "the channels");
  for (int i = 4; i < 7; ++i) {
    if (v.has(i)) want_shape(v, i, {k[0], k[2]}, "batch and channels");
    if (v.has(i) != v.has(4)) {
      v.fail_hint("Give all three or none", "a0, b0 and o0 are one state: ", v.operand_text());
    }
  }
}

}  // namespace

std::vector<ir::Type> infer_wkv(const NodeView& v) {
  check_scan(v);
  const ir::Type& k = v.in(0);
  const ir::Type state{v.in(2).dtype, {k.shape[0], k.shape[2]}};
  return {{k.dtype, k.shape}, state, state, state};
}

std::vector<ir::Type> infer_wkv_backward(const NodeView& v) {
  check_scan(v);
  const ir::Type k{v.in(0).dtype, v.in(0).shape};
  const DType wide = v.in(2).dtype;
  const ir::Type state{wide, {k.shape[0], k.shape[2]}}, channels{wide, {k.shape[2]}};
  if (v.has(7)) want_shape(v, 7, k.shape, "k's");
  for (int i = 8; i < v.count(); ++i) {
    if (v.has(i)) want_shape(v, i, state.shape, "batch and channels");
  }
  return {k, k, channels, channels, state, state, state};
}

void eval_wkv(EvalCtx& c) {
  const Operands x{c};
  for (std::int64_t n = 0; n < x.batch; ++n) {
    for (std::int64_t ch = 0; ch < x.channels; ++ch) {
      const std::int64_t lane = x.lane(n, ch);
      State s = x.initial(lane);
      for (std::int64_t t = 0; t < x.time; ++t) {
        const std::int64_t i = x.step(n, t, ch);
        c.out(0).set(i, read(s, x.k.at(i), x.v.at(i), x.u.at(ch)).y);
        s = advance(s, x.k.at(i), x.v.at(i), x.w.at(ch)).next;
      }
      c.out(1).set(lane, s.a);
      c.out(2).set(lane, s.b);
      c.out(3).set(lane, s.o);
    }
  }
}

void eval_wkv_backward(EvalCtx& c) {
  const Operands x{c};
  const Values dy(c, 7), da(c, 8), db(c, 9), dmax(c, 10);
  std::vector<double> dw(static_cast<std::size_t>(x.channels)), du(dw);
  std::vector<State> before(static_cast<std::size_t>(x.time));
  for (std::int64_t n = 0; n < x.batch; ++n) {
    for (std::int64_t ch = 0; ch < x.channels; ++ch) {
      const std::int64_t lane = x.lane(n, ch);
      const double w = x.w.at(ch), u = x.u.at(ch);
      State s = x.initial(lane);
      for (std::int64_t t = 0; t < x.time; ++t) {
        const std::int64_t i = x.step(n, t, ch);
        before[static_cast<std::size_t>(t)] = s;
        s = advance(s, x.k.at(i), x.v.at(i), w).next;
      }
      Back g{da.at(lane), db.at(lane), dmax.at(lane)};
      for (std::int64_t t = x.time; t-- > 0;) {
        const std::int64_t i = x.step(n, t, ch);
        const double k = x.k.at(i), v = x.v.at(i);
        s = before[static_cast<std::size_t>(t)];
        back_through_advance(g, s, advance(s, k, v, w), v, w + s.o >= k);
        back_through_read(g, s, read(s, k, v, u), v, dy.at(i));
        c.out(0).set(i, g.k);
        c.out(1).set(i, g.v);
      }
      dw[static_cast<std::size_t>(ch)] += g.w;
      du[static_cast<std::size_t>(ch)] += g.u;
      c.out(4).set(lane, g.a);
      c.out(5).set(lane, g.b);
      c.out(6).set(lane, g.o);
    }
  }
  for (std::int64_t ch = 0; ch < x.channels; ++ch) {
    c.out(2).set(ch, dw[static_cast<std::size_t>(ch)]);
    c.out(3).set(ch, du[static_cast<std::size_t>(ch)]);
  }
}

Grads grad_wkv(GradCtx& g) {
  std::vector<Tensor> operands;
  for (int i = 0; i < 7; ++i) operands.push_back(g.node.has(i) ? g.in(i) : Tensor());
  for (int i = 0; i < 4; ++i) operands.push_back(g.has_dy(i) ? g.dy(i) : Tensor());
  Grads grads = g.b.add(wkv_backward, operands, {});
  grads.resize(static_cast<std::size_t>(g.node.count()));
  return grads;
}

}  // namespace plait::ops
