// The table of initialisers: what each kind writes into a state's first value.
#include "ops/initializers.h"

#include <algorithm>
#include <cmath>

#include "base/fits.h"
#include "base/hash.h"
#include "base/philox.h"
#include "base/text.h"
#include "ops/orthogonal.h"

namespace plait {
namespace {

template <class A>
A attrs_of(const ir::State& state) {
  return ir::decode<A>(state.init.attrs, state.init.kind);
}

/// A state's array while it is filled.
struct Filling {
  const ir::State& state;
  Array& array;
  RandomKey key;
  std::uint64_t seed;

  template <class A>
  A as() const {
    return attrs_of<A>(state);
  }
  std::int64_t size(std::size_t axis) const { return array.sizes()[axis]; }
  std::size_t rank() const { return array.sizes().size(); }
  template <class Value>
  void each(Value value) {
    for (std::int64_t i = 0; i < array.count(); ++i) array.set(i, value(i));
  }
  /// The same with numbers that somebody chose: the state's dtype must hold them.
  template <class Value>
  void each_chosen(Value value) {
    each([&](std::int64_t i) {
      const double number = value(i);
      if (const std::string why = misfit(number, array.dtype()); !why.empty()) {
        fail("element ", i, " is ", real_text(number), "; the state is ", state.type, ", and ",
             why);
      }
      return number;
    });
  }
  void want_float() const {
    if (!is_float(array.dtype())) fail("draws real numbers; the state is ", state.type);
  }
  void draw_normal(double mean, double std) {
    want_float();
    each([&](std::int64_t i) {
      return mean + std * random_normal(key, static_cast<std::uint64_t>(i));
    });
  }
  void draw_uniform(double lo, double hi) {
    want_float();
    each([&](std::int64_t i) {
      return lo + (hi - lo) * random_uniform(key, static_cast<std::uint64_t>(i));
    });
  }
  /// Normal, or uniform of the same spread.
  void draw(double std, bool uniform) {
    if (uniform) {
      draw_uniform(-std::sqrt(3.0) * std, std::sqrt(3.0) * std);
    } else {
      draw_normal(0, std);
    }
  }
};

struct Fans {
  double in, out;
};

/// As PyTorch counts them for (out, in, ...): the rest is the window that every pair shares.
Fans fans_of(const ir::State& state) {
  const Sizes sizes = sizes_of(state.type.shape);
  if (sizes.size() < 2) {
    fail("needs (out, in, ...), at least two dimensions; the state is ", state.type);
  }
  double window = 1;
  for (std::size_t d = 2; d < sizes.size(); ++d) window *= static_cast<double>(sizes[d]);
  return {static_cast<double>(sizes[1]) * window, static_cast<double>(sizes[0]) * window};
}

Spread spread_normal(const ir::State& state) {
  const auto a = attrs_of<init::Normal>(state);
  return {a.mean, a.std};
}

Spread spread_xavier(const ir::State& state) {
  const Fans fans = fans_of(state);
  return {0, attrs_of<init::Xavier>(state).gain * std::sqrt(2.0 / (fans.in + fans.out))};
}

Spread spread_kaiming(const ir::State& state) {
  const auto a = attrs_of<init::Kaiming>(state);
  const Fans fans = fans_of(state);
  return {0, a.gain / std::sqrt(a.fan_out ? fans.out : fans.in)};
}

/// Its shorter side's vectors have length gain.
Spread spread_orthogonal(const ir::State& state) {
  const double rows = static_cast<double>(sizes_of(state.type.shape).at(0));
  return {0, attrs_of<init::Orthogonal>(state).gain / std::sqrt(std::max(rows, fans_of(state).in))};
}

void fill_constant(Filling& f) {
  const double value = f.as<init::Constant>().value;
  f.each_chosen([&](std::int64_t) { return value; });
}

void fill_normal(Filling& f) {
  const Spread spread = spread_normal(f.state);
  f.draw_normal(spread.mean, spread.deviation);
}

void fill_uniform(Filling& f) {
  const auto a = f.as<init::Uniform>();
  f.draw_uniform(a.lo, a.hi);
}

void fill_xavier(Filling& f) {
  f.draw(spread_xavier(f.state).deviation, f.as<init::Xavier>().uniform);
}

void fill_kaiming(Filling& f) {
  f.draw(spread_kaiming(f.state).deviation, f.as<init::Kaiming>().uniform);
}

void fill_orthogonal(Filling& f) {
  const double gain = f.as<init::Orthogonal>().gain;
  if (f.rank() < 2) {
    fail("needs a matrix, at least two dimensions; the state is ", f.state.type);
  }
  f.want_float();
  if (f.array.count() == 0) return;
  const std::vector<double> q = orthonormal(f.size(0), f.array.count() / f.size(0), f.key);
  f.each([&](std::int64_t i) { return gain * q[static_cast<std::size_t>(i)]; });
}

void fill_power(Filling& f) {
  const auto a = f.as<init::Power>();
  f.each_chosen([&](std::int64_t i) {
    return a.offset + a.scale * std::pow(static_cast<double>(i) / a.divisor, a.exponent);
  });
}

void fill_cycle(Filling& f) {
  const auto values = f.as<init::Cycle>().values;
  if (values.empty()) fail("needs at least one value");
  f.each_chosen(
      [&](std::int64_t i) { return values[static_cast<std::size_t>(i) % values.size()]; });
}

void fill_seed(Filling& f) {
  if (f.array.dtype() != DType::i64 || f.array.sizes() != Sizes{2}) {
    fail("needs i64[2], for (seed, step); the state is ", f.state.type);
  }
  f.array.set_integer(0, static_cast<std::int64_t>(f.seed));
}

struct Row {
  std::string_view kind;
  const ir::AttrSchema* attrs;
  void (*fill)(Filling&);
  Spread (*spread)(const ir::State&) = nullptr;
};

constexpr Row kInitializers[] = {
    {"zeros", &ir::kSchema<ir::NoAttrs>, [](Filling&) {}},
    {"ones", &ir::kSchema<ir::NoAttrs>, [](Filling& f) { f.each([](std::int64_t) { return 1; }); }},
    {init::Constant::kKind, &ir::kSchema<init::Constant>, fill_constant},
    {init::Normal::kKind, &ir::kSchema<init::Normal>, fill_normal, spread_normal},
    {init::Uniform::kKind, &ir::kSchema<init::Uniform>, fill_uniform},
    {init::Xavier::kKind, &ir::kSchema<init::Xavier>, fill_xavier, spread_xavier},
    {init::Kaiming::kKind, &ir::kSchema<init::Kaiming>, fill_kaiming, spread_kaiming},
    {init::Orthogonal::kKind, &ir::kSchema<init::Orthogonal>, fill_orthogonal, spread_orthogonal},
    {init::Power::kKind, &ir::kSchema<init::Power>, fill_power},
    {init::Cycle::kKind, &ir::kSchema<init::Cycle>, fill_cycle},
    {"seed", &ir::kSchema<ir::NoAttrs>, fill_seed},
};

const Row& row_of(const std::string& kind) {
  for (const Row& row : kInitializers) {
    if (row.kind == kind) return row;
  }
  fail("there is no such initialiser.", suggestion(kind, initializer_names()), " There are ",
       join(initializer_names(), ", "));
}

}  // namespace

std::vector<std::string> initializer_names() {
  std::vector<std::string> names;
  for (const Row& row : kInitializers) names.emplace_back(row.kind);
  return names;
}

namespace {

/// The row of a state's kind, its attributes checked; errors of `use` name the state.
template <class Use>
auto with_row(const ir::State& state, Use use) {
  try {
    const Row& row = row_of(state.init.kind);
    row.attrs->validate(state.init.attrs, state.init.kind);
    return use(row);
  } catch (const UserError& e) {
    fail("initial value of state ", state.name, " (", state.init.kind, "): ", e.what());
  }
}

}  // namespace

Array initial_value(const ir::State& state, std::uint64_t seed) {
  return with_row(state, [&](const Row& row) {
    Array array(state.type.dtype, sizes_of(state.type.shape));
    Filling filling{state, array, {seed, 0, fnv1a32(state.name)}, seed};
    row.fill(filling);
    return array;
  });
}

std::optional<Spread> initial_spread(const ir::State& state) {
  return with_row(state, [&](const Row& row) {
    return row.spread ? std::optional(row.spread(state)) : std::nullopt;
  });
}

}  // namespace plait
