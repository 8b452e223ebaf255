// Drawing a token from logits.
#include "train/sampling.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/philox.h"

namespace plait::train {
namespace {

constexpr std::uint32_t kStream = 0x53414d50;  // apart from what initial values and dropout draw

/// The first of the largest.
std::size_t likeliest(std::span<const float> logits) {
  if (logits.empty()) throw RunError("the model gives no logits to draw from");
  std::size_t best = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (std::isnan(logits[i]) || (std::isinf(logits[i]) && logits[i] > 0)) {
      throw RunError(str("the model's logit of token ", i, " is ", logits[i],
                         ": its weights are no longer finite, or too large"));
    }
    if (logits[i] > logits[best]) best = i;
  }
  if (std::isinf(logits[best])) throw RunError("all logits of the model are -inf");
  return best;
}

/// Uniform in [0, 1) with 53 bits.
double uniform(std::uint64_t seed, std::uint64_t position) {
  const Philox bits = random_bits({seed, position, kStream}, 0);
  const std::uint64_t word = (std::uint64_t{bits[0]} << 32) | bits[1];
  return static_cast<double>(word >> 11) * 0x1p-53;
}

bool before(const Candidate& a, const Candidate& b) {
  return a.probability != b.probability ? a.probability > b.probability : a.token < b.token;
}

double total_of(const std::vector<Candidate>& all) {
  double total = 0;
  for (const Candidate& c : all) total += c.probability;
  return total;
}

/// Sorted candidates: keeps the fewest that reach `top_p` of their sum.
void keep_nucleus(std::vector<Candidate>& all, double top_p) {
  const double wanted = top_p * total_of(all);
  double sum = 0;
  std::size_t count = 0;
  while (count < all.size() && (count == 0 || sum < wanted)) sum += all[count++].probability;
  all.resize(count);
}

}  // namespace

void check_sampling(const Sampling& s) {
  if (!(s.temperature >= 0 && std::isfinite(s.temperature))) {
    fail("temperature must be 0 or above, is ", s.temperature);
  }
  if (!(s.top_p > 0 && s.top_p <= 1)) fail("top-p must be above 0 and at most 1, is ", s.top_p);
  if (s.top_k < 0) fail("top-k must be 0 (any) or above, is ", s.top_k);
}

std::vector<Candidate> candidates(std::span<const float> logits, const Sampling& s) {
  check_sampling(s);
  const std::size_t best = likeliest(logits);
  if (s.temperature == 0) return {{static_cast<std::int64_t>(best), 1.0}};
  std::vector<Candidate> all(logits.size());
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const double below = static_cast<double>(logits[i]) - static_cast<double>(logits[best]);
    all[i] = {static_cast<std::int64_t>(i), std::exp(below / s.temperature)};
  }
  const auto most = static_cast<std::size_t>(s.top_k);
  if (s.top_p < 1 || (most > 0 && most < all.size())) std::sort(all.begin(), all.end(), before);
  if (most > 0 && most < all.size()) all.resize(most);
  if (s.top_p < 1) keep_nucleus(all, s.top_p);
  const double total = total_of(all);
  for (Candidate& c : all) c.probability /= total;
  return all;
}

std::int64_t draw(std::span<const float> logits, const Sampling& s, std::uint64_t position) {
  const std::vector<Candidate> all = candidates(logits, s);
  double left = uniform(s.seed, position);
  for (const Candidate& c : all) {
    if (left < c.probability) return c.token;
    left -= c.probability;
  }
  // Rounding left a little over: the last that can be drawn at all.
  const auto last =
      std::find_if(all.rbegin(), all.rend(), [](const Candidate& c) { return c.probability > 0; });
  return last->token;
}

}  // namespace plait::train
