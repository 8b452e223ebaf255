// Interpreting with noise, and comparing within what noise did.
#include "tests/codegen/kernel_oracle.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/at.h"
#include "base/convert.h"
#include "base/text.h"
#include "tests/codegen/prelude_functions.h"
#include "tests/passes/random_draw.h"

namespace plait::codegen {
namespace {

constexpr int kRounds = 3, kFewRounds = 2;  // few of what takes long
constexpr std::int64_t kManyElements = 200'000;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

bool adds(loop::Reduce r) { return r == loop::Reduce::kSum || r == loop::Reduce::kProd; }

/// Which statements an order of sums other than the interpreter's may change.
class Inexact {
 public:
  Inexact(const OracleCase& c, SumOrder dialect)
      : tile_(c.contraction && is_float(c.contraction->dtype) && dialect == SumOrder::kCuda),
        columns_(dialect == SumOrder::kCuda) {
    if (!c.kernel) return;
    for (const loop::Let& let : c.kernel->lets) {
      bool follows = false;
      for (const loop::KernelOperand& o : let.operands) {
        follows |= o.kind == loop::KernelOperand::kLet && lets_[at(o.let)];
        follows |= o.kind == loop::KernelOperand::kTile && tile_;
        for (const loop::KernelStore& s : c.kernel->stores) {  // what was stored is loaded again
          const bool again = o.kind == loop::KernelOperand::kLoad && o.load.buffer == s.buffer;
          follows |= again && at(s.let) < lets_.size() && lets_[at(s.let)];
        }
      }
      begins_.push_back(adds(let.reduce) && let.compute != DType::i64 && (!let.column || columns_));
      lets_.push_back(follows || begins_.back());
    }
  }

  bool begins(int let) const { return let == loop::kTileSum ? tile_ : begins_[at(let)]; }
  /// Of a bare contraction, its one statement.
  bool follows(int let) const { return lets_.empty() ? tile_ : lets_[at(let)]; }
  /// Whether one that follows is a half.
  bool any_half(const OracleCase& c) const {
    if (!c.kernel) return tile_ && is_half(c.contraction->dtype);
    for (std::size_t i = 0; i < lets_.size(); ++i) {
      if (lets_[i] && is_half(c.kernel->lets[i].dtype)) return true;
    }
    return false;
  }
  bool any() const { return tile_ || std::find(lets_.begin(), lets_.end(), true) != lets_.end(); }

 private:
  bool tile_, columns_;
  std::vector<bool> begins_, lets_;
};

DType dtype_of(const OracleCase& c, int let) {
  return c.kernel ? c.kernel->lets[at(let)].dtype : c.contraction->dtype;
}
DType compute_of(const OracleCase& c, int let) {
  const bool tile = let == loop::kTileSum || !c.kernel;
  return tile ? loop::compute_type(c.contraction->dtype) : c.kernel->lets[at(let)].compute;
}

loop::Faults run(const OracleCase& c, std::vector<Bytes>& buffers, const Inexact* noisy,
                 test::Draw& draw) {
  loop::KernelRun run;
  for (Bytes& b : buffers) run.buffers.push_back(std::as_writable_bytes(std::span(b)));
  run.sizes = c.sizes;
  run.name = c.where;
  run.scalars = prelude_functions();
  if (noisy) {
    run.reduced = [&, noisy](const loop::Reduced& r) {
      if (r.terms < 2 || !std::isfinite(r.value) || !noisy->begins(r.let)) return r.value;
      const double unit = compute_of(c, r.let) == DType::f64 ? 0x1p-53 : 0x1p-24;
      const double roundings = std::max(4.0, std::sqrt(static_cast<double>(r.terms)));
      return r.value +
             roundings * unit * r.size * draw.uniform(0.5, 1) * (draw.chance(50) ? 1 : -1);
    };
  }
  if (noisy && noisy->any_half(c)) {
    run.rounded = [&, noisy](int let, double value) {
      const DType t = dtype_of(c, let);
      if (!is_half(t) || !noisy->follows(let)) return value;
      return value + value * (draw.below(3) - 1) * (t == DType::f16 ? 0x1p-11 : 0x1p-8);
    };
  }
  if (!c.contraction) return interpret(*c.kernel, run);
  return interpret(*c.contraction, c.kernel.get(), run);
}

template <class T>
T element(const Bytes& bytes, std::size_t i) {
  T x;
  std::memcpy(&x, bytes.data() + i * sizeof(T), sizeof(T));
  return x;
}

/// NaN is equal to NaN, and a zero to a zero of the other sign: maxima in lanes may find either.
template <class T>
bool same(T a, T b) {
  if constexpr (std::integral<T>) {
    return a == b;
  } else {
    const auto x = static_cast<double>(a), y = static_cast<double>(b);
    return x == y || (std::isnan(x) && std::isnan(y));
  }
}

/// How far b is from a; NaN where one is of another kind.
template <class T>
double distance(T a, T b) {
  if (same(a, b)) return 0;
  const auto x = static_cast<double>(a), y = static_cast<double>(b);
  return std::integral<T> || !std::isfinite(x) || !std::isfinite(y) ? kNan : std::abs(x - y);
}

/// A few units in the last place.
double few_roundings(DType t, double x) {
  const double unit = t == DType::f64    ? 0x1p-52
                      : t == DType::f32  ? 0x1p-23
                      : t == DType::f16  ? 0x1p-10
                      : t == DType::bf16 ? 0x1p-7
                                         : 0;
  const double least = t == DType::f64    ? 0x1p-1074
                       : t == DType::f32  ? 0x1p-149
                       : t == DType::f16  ? 0x1p-24
                       : t == DType::bf16 ? 0x1p-133
                                          : 0;
  return std::isfinite(x) ? 4 * unit * std::abs(x) + 8 * least : 0;
}

/// Buffers that an inexact statement is stored in.
std::vector<bool> inexact_buffers(const OracleCase& c, const Inexact& inexact, std::size_t count) {
  std::vector<bool> out(count, false);
  if (!c.kernel) {
    out[2] = inexact.any();
    return out;
  }
  for (const loop::KernelStore& s : c.kernel->stores) {
    if (inexact.follows(s.let)) out[at(s.buffer) + (c.contraction ? 2 : 0)] = true;
  }
  return out;
}

}  // namespace

std::vector<loop::KernelBuffer> OracleCase::buffers() const {
  std::vector<loop::KernelBuffer> out;
  if (contraction) {
    const DType t = contraction->dtype;
    out = {{t, false}, {t, false}};
    if (!kernel) out.push_back({t, true});
  }
  if (kernel) out.insert(out.end(), kernel->buffers.begin(), kernel->buffers.end());
  return out;
}

std::vector<Bytes> random_buffers(const OracleCase& c, std::uint64_t seed, bool special,
                                  int bound) {
  test::Draw draw(seed);
  std::vector<Bytes> out;
  const std::vector<loop::KernelBuffer> buffers = c.buffers();
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<double> specials{0.0, -0.0, 1, -1, inf, -inf, kNan, 1e-40, 65504};
  for (std::size_t b = 0; b < buffers.size(); ++b) {
    Bytes bytes(at(c.elements.at(b)) * size_of(buffers[b].dtype));
    visit_dtype(buffers[b].dtype, [&]<class T>(TypeTag<T>) {
      for (std::size_t i = 0; i < bytes.size() / sizeof(T); ++i) {
        T x{};
        if constexpr (std::same_as<T, bool>) {
          x = draw.chance(50);
        } else if constexpr (std::integral<T>) {
          x = static_cast<T>(draw.below(at(bound)));
        } else {
          x = convert<T>(special && draw.chance(10) ? draw.of(specials) : draw.uniform(-2, 2));
        }
        std::memcpy(bytes.data() + i * sizeof(T), &x, sizeof(T));
      }
    });
    out.push_back(std::move(bytes));
  }
  return out;
}

Oracle oracle_of(const OracleCase& c, const std::vector<Bytes>& given, SumOrder dialect) {
  const Inexact inexact(c, dialect);
  const std::vector<loop::KernelBuffer> buffers = c.buffers();
  test::Draw draw(7);
  Oracle out;
  out.buffers = given;
  out.faults = run(c, out.buffers, nullptr, draw);
  const std::vector<bool> moves = inexact_buffers(c, inexact, buffers.size());
  for (std::size_t b = 0; b < buffers.size(); ++b) {
    out.by.emplace_back(at(c.elements[b]), 0.0);
    if (!moves[b]) continue;
    visit_dtype(buffers[b].dtype, [&]<class T>(TypeTag<T>) {
      for (std::size_t i = 0; i < out.by[b].size(); ++i) {
        out.by[b][i] =
            few_roundings(buffers[b].dtype, static_cast<double>(element<T>(out.buffers[b], i)));
      }
    });
  }
  const std::int64_t most = *std::max_element(c.elements.begin(), c.elements.end());
  const int rounds = !inexact.any() ? 0 : most < kManyElements ? kRounds : kFewRounds;
  for (int round = 0; round < rounds; ++round) {
    std::vector<Bytes> noisy = given;
    run(c, noisy, &inexact, draw);
    for (std::size_t b = 0; b < buffers.size(); ++b) {
      visit_dtype(buffers[b].dtype, [&]<class T>(TypeTag<T>) {
        for (std::size_t i = 0; i < out.by[b].size(); ++i) {
          const double d = distance(element<T>(out.buffers[b], i), element<T>(noisy[b], i));
          double& by = out.by[b][i];
          by = std::isnan(d) || std::isnan(by) ? kNan : std::max(by, 8 * d);
        }
      });
    }
  }
  return out;
}

std::string difference(const OracleCase& c, const Oracle& want, const std::vector<Bytes>& got,
                       OracleCounts& counts) {
  const std::vector<loop::KernelBuffer> buffers = c.buffers();
  std::string first;
  for (std::size_t b = 0; b < buffers.size(); ++b) {
    visit_dtype(buffers[b].dtype, [&]<class T>(TypeTag<T>) {
      for (std::size_t i = 0; i < want.by[b].size(); ++i) {
        const double by = want.by[b][i];
        const T x = element<T>(want.buffers[b], i), y = element<T>(got[b], i);
        ++(std::isnan(by) ? counts.open : by == 0 ? counts.exact : counts.compared);
        const bool fits = std::isnan(by) || (by == 0 ? same(x, y) : distance(x, y) <= by);
        if (fits || !first.empty()) continue;
        first = str(c.where, ": element ", i, " of buffer ", b, " (", buffers[b].dtype, ") is ",
                    real_text(static_cast<double>(y)), ", not ", real_text(static_cast<double>(x)),
                    "; it may be off by ", real_text(by));
      }
    });
  }
  return first;
}

}  // namespace plait::codegen
