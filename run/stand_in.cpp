// Uniform draws, a few thousand of them for a state of any size.
#include "run/stand_in.h"

#include <cmath>
#include <optional>

#include "base/philox.h"
#include "ops/initializers.h"
#include "run/in_parallel.h"

namespace plait {
namespace {

constexpr std::int64_t kPattern = 65521;  // a prime: rows of matrices differ

Array stand_in(const ir::State& state, std::uint64_t seed) {
  const std::int64_t count = element_count(sizes_of(state.type.shape));
  const std::optional<Spread> spread = count > kPattern ? initial_spread(state) : std::nullopt;
  if (!spread) return initial_value(state, seed);
  Array out(state.type.dtype, {kPattern});
  const RandomKey key{seed, 0, 0};
  const double half = std::sqrt(3.0) * spread->deviation;
  for (std::int64_t i = 0; i < kPattern; ++i) {
    const double draw = 2 * random_uniform(key, static_cast<std::uint64_t>(i)) - 1;
    out.set(i, spread->mean + half * draw);
  }
  return out;
}

}  // namespace

Arrays stand_in_values(const std::vector<ir::State>& states, std::uint64_t seed) {
  std::vector<Array> values(states.size());
  in_parallel(states.size(), [&](std::size_t i) {
    if (states[i].init.kind != "zeros") values[i] = stand_in(states[i], seed);
  });
  Arrays out;
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (states[i].init.kind != "zeros") out.emplace(states[i].name, std::move(values[i]));
  }
  return out;
}

}  // namespace plait
