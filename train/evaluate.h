// The loss of a model on data that it is not trained on, and how good that is: perplexity of
// language models, accuracy of classifiers.
#pragma once

#include <cstdint>
#include <optional>

#include "run/session.h"
#include "train/data/sampler.h"

namespace plait::train {

struct Evaluation {
  double loss = 0;                   // mean over the batches
  std::optional<double> perplexity;  // exp(loss), where samples are made of tokens
  std::optional<double> accuracy;    // share of labels that the largest output names
  std::int64_t batches = 0;
};

/// The request that evaluates a package's graph `eval`: its loss, and its output where labels can
/// be compared with it.
RunRequest evaluation_request(const ir::Package& package);

/// What several batches said; those of one session can be added to those of another.
struct Tally {
  double loss_sum = 0;  // of samples: a batch's loss times its samples
  std::int64_t samples = 0, batches = 0;
  std::int64_t right = 0, labels = 0;
};
/// The sampler's next `batches` batches.
void add_batches(Session& session, RunRequest& request, const Source& source, Sampler& sampler,
                 std::int64_t batch, std::int64_t batches, Tally& tally);
Evaluation evaluation_of(const Tally& tally, const Source& source);

/// The first `batches` batches of the source, in order; 0: all whole ones there are, at least one.
Evaluation evaluate(Session& session, RunRequest request, const Source& source, std::int64_t batch,
                    std::int64_t batches);

}  // namespace plait::train
