// Which token comes next: drawn from logits, by a counter-based generator. The same logits, options
// and position always give the same token. Knows nothing of models or text.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace plait::train {

struct Sampling {
  double temperature = 1;  // divides the logits; 0: the likeliest token always
  double top_p = 1;        // among the fewest likeliest tokens that together have this probability
  std::int64_t top_k = 0;  // among so many of the likeliest; 0: any
  std::uint64_t seed = 0;
};

/// UserError when an option is out of its range.
void check_sampling(const Sampling& sampling);

struct Candidate {
  std::int64_t token;
  double probability;  // among the candidates
};

/// The tokens that can be drawn; top_k chooses first, then top_p. The likeliest come first, of
/// equal ones the lower token, unless nothing is cut off: then by token. RunError when a logit is
/// NaN or +infinite, or all are -infinite.
std::vector<Candidate> candidates(std::span<const float> logits, const Sampling& sampling);

/// The token at `position` of a text.
std::int64_t draw(std::span<const float> logits, const Sampling& sampling, std::uint64_t position);

}  // namespace plait::train
