// Batches through the graph `eval`.
#include "train/evaluate.h"

#include <algorithm>
#include <cmath>

namespace plait::train {
namespace {

constexpr const char* kLabels = "labels";
constexpr std::size_t kClassAxis = 1;

struct Count {
  std::int64_t right = 0, all = 0;
};

/// `output` [batch, classes, ...] against `labels` [batch, ...].
Count count_right(const Array& output, const Array& labels) {
  const std::int64_t classes = output.sizes()[kClassAxis];
  std::int64_t inner = 1;
  for (std::size_t d = kClassAxis + 1; d < output.sizes().size(); ++d) inner *= output.sizes()[d];
  Count count;
  for (std::int64_t i = 0; i < labels.count(); ++i) {
    const std::int64_t first = i / inner * classes * inner + i % inner;
    std::int64_t best = 0;
    for (std::int64_t c = 1; c < classes; ++c) {
      if (output.real(first + c * inner) > output.real(first + best * inner)) best = c;
    }
    count.right += best == labels.integer(i);
    ++count.all;
  }
  return count;
}

}  // namespace

RunRequest evaluation_request(const ir::Package& package) {
  RunRequest request{"eval", {}, {"loss"}};
  const ir::Graph& graph = find_graph(package, request.graph);
  const ir::ValueId labels = graph.find_value(kLabels);
  if (labels == ir::kNone) return request;
  for (const ir::Fetch& fetch : graph.fetches) {
    const bool has_classes =
        graph.type(fetch.value).shape.size() == graph.type(labels).shape.size() + 1;
    if (fetch.name != "loss" && has_classes) request.fetches.push_back(fetch.name);
  }
  return request;
}

void add_batches(Session& session, RunRequest& request, const Source& source, Sampler& sampler,
                 std::int64_t batch, std::int64_t batches, Tally& tally) {
  Batch into;
  for (std::int64_t i = 0; i < batches; ++i) {
    read_batch(source, sampler, batch, into);
    std::swap(request.feeds, into.feeds);
    const Arrays results = session.run(request);
    std::swap(request.feeds, into.feeds);
    tally.loss_sum += results.at("loss").real(0) * static_cast<double>(batch);
    tally.samples += batch;
    ++tally.batches;
    for (const auto& [name, output] : results) {
      if (name == "loss") continue;
      const Count more = count_right(output, into.feeds.at(kLabels));
      tally.right += more.right;
      tally.labels += more.all;
    }
  }
}

Evaluation evaluation_of(const Tally& tally, const Source& source) {
  Evaluation out;
  out.batches = tally.batches;
  out.loss = tally.loss_sum / static_cast<double>(tally.samples);
  if (source.tokens() > 0) out.perplexity = std::exp(out.loss);
  if (tally.labels > 0) {
    out.accuracy = static_cast<double>(tally.right) / static_cast<double>(tally.labels);
  }
  return out;
}

Evaluation evaluate(Session& session, RunRequest request, const Source& source, std::int64_t batch,
                    std::int64_t batches) {
  Sampler sampler(source, 0, Order::kSequential);
  const std::int64_t whole = std::max<std::int64_t>(1, sampler.epoch_length() / batch);
  Tally tally;
  add_batches(session, request, source, sampler, batch,
              batches == 0 ? whole : std::min(batches, whole), tally);
  return evaluation_of(tally, source);
}

}  // namespace plait::train
