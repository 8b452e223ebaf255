// Candidates in order of likelihood, and the first of those that fit best.
#include "io/chainer/guess.h"

#include <algorithm>
#include <cmath>

#include "io/chainer/functions.h"

namespace plait::io::chainer {
namespace {

constexpr std::int64_t kMaxTrials = 200, kMaxWork = 60'000;  // work: trials times operations
constexpr std::int64_t kMaxChannels = 4096;

void add_once(Sizes& list, std::int64_t n) {
  if (n > 0 && std::find(list.begin(), list.end(), n) == list.end()) list.push_back(n);
}

std::int64_t bytes_of(const Record& record, const Operation& op, std::size_t input) {
  return record.variables[static_cast<std::size_t>(op.inputs[input].variable)].bytes;
}

/// Numbers of rows that something in the document speaks for.
Sizes batches(const Record& record, DType real) {
  const auto size = static_cast<std::int64_t>(size_of(real));
  Sizes strong, weak;
  for (const Operation& op : record.operations) {
    if (op.backward) continue;
    if (op.function == "SoftmaxCrossEntropy" && op.inputs.size() == 2) {
      add_once(strong, bytes_of(record, op, 1) / 4);
      add_once(weak, bytes_of(record, op, 1) / 8);
    }
    if (op.function == "LinearFunction" && op.inputs.size() > 1) {
      const auto x = static_cast<double>(bytes_of(record, op, 0) / size);
      const auto w = static_cast<double>(bytes_of(record, op, 1) / size);
      const int out = op.outputs[0];
      const auto y =
          static_cast<double>(record.variables[static_cast<std::size_t>(out)].bytes / size);
      const double n = w > 0 ? std::sqrt(x / w * y) : 0;
      if (n >= 1 && n < 1e9 && std::abs(n - std::round(n)) < 1e-6 * n)
        add_once(strong, std::llround(n));
    }
    const Value* shape = op.function == "Reshape" ? find(op.attributes, "shape") : nullptr;
    const auto* sizes = shape ? std::get_if<std::vector<Value>>(&shape->data) : nullptr;
    if (sizes && !sizes->empty() && whole(sizes->front())) add_once(weak, *whole(sizes->front()));
    if (strong.size() + weak.size() > 16) break;
  }
  for (std::int64_t n : weak) add_once(strong, n);
  for (std::int64_t n : {1, 2, 4, 8, 16, 32, 64, 128, 256}) add_once(strong, n);
  return strong;
}

std::int64_t root_of(std::int64_t n) {
  const auto root = std::llround(std::sqrt(static_cast<double>(n)));
  return root * root == n ? root : 0;
}

/// Images of `pixels` values with any number of channels, square ones.
void add_squares(std::vector<Sizes>& out, std::int64_t batch, std::int64_t pixels) {
  Sizes channels{3, 1, 4, 2};
  for (std::int64_t c = 5; c <= kMaxChannels && c <= pixels; ++c) channels.push_back(c);
  for (std::int64_t c : channels) {
    if (pixels % c != 0) continue;
    const std::int64_t side = root_of(pixels / c);
    if (side > 0) out.push_back({batch, c, side, side});
  }
}

/// The same with sides that differ by less than four times.
void add_oblongs(std::vector<Sizes>& out, std::int64_t batch, std::int64_t pixels) {
  for (std::int64_t c : {3, 1, 4, 2}) {
    if (pixels % c != 0) continue;
    const std::int64_t area = pixels / c;
    const auto root = static_cast<std::int64_t>(std::sqrt(static_cast<double>(area)));
    for (std::int64_t h = root; h > root / 2 && h > 0 && root - h < 4096; --h) {
      if (area % h != 0 || h * h == area) continue;
      out.push_back({batch, c, h, area / h});
      out.push_back({batch, c, area / h, h});
    }
  }
}

bool is_index(const Record& record, int variable) {
  for (const Operation& op : record.operations) {
    if (op.backward || op.function != "EmbedIDFunction" || op.inputs.empty()) continue;
    if (op.inputs[0].variable == variable) return true;
  }
  return false;
}

std::vector<Sizes> candidates(const Record& record, int variable, const Sizes& rows, DType real) {
  const std::int64_t bytes = record.variables[static_cast<std::size_t>(variable)].bytes;
  std::vector<Sizes> out;
  if (is_index(record, variable)) {
    for (std::int64_t width : {4, 8}) {
      if (bytes % width != 0) continue;
      out.push_back({bytes / width});
      for (std::int64_t n : rows) {
        if (bytes / width % n == 0) out.push_back({n, bytes / width / n});
      }
    }
    return out;
  }
  const std::int64_t elements = bytes / static_cast<std::int64_t>(size_of(real));
  if (elements == 0) return {{0}};
  for (std::int64_t n : rows) {
    if (elements % n == 0) add_squares(out, n, elements / n);
    if (out.size() >= kMaxTrials / 2) break;
  }
  for (std::int64_t n : rows) {
    if (elements % n == 0) out.push_back({n, elements / n});
  }
  for (std::int64_t n : rows) {
    if (elements % n == 0) add_oblongs(out, n, elements / n);
  }
  return out;
}

struct Trial {
  int misfits;
  std::vector<int> asked;
};

Trial attempt(const Record& record, const Links& links, const Assumptions& assumptions) {
  Step step(record, links, assumptions, {});
  step.forward();
  return {step.misfits(), step.asked()};
}

/// Shapes of feeds one after the other, each the first of those with the fewest misfits.
int settle(const Record& record, const Links& links, Assumptions& assumptions) {
  const auto operations = static_cast<std::int64_t>(links.forward_order.size());
  std::int64_t trials =
      std::clamp<std::int64_t>(kMaxWork / std::max<std::int64_t>(operations, 1), 2, kMaxTrials);
  const Sizes rows = batches(record, assumptions.real);
  Trial best = attempt(record, links, assumptions);
  for (;;) {
    const auto open = std::find_if(best.asked.begin(), best.asked.end(),
                                   [&](int v) { return assumptions.feeds.count(v) == 0; });
    if (open == best.asked.end() || trials <= 0) return best.misfits;
    const int variable = *open;
    Assumptions with = assumptions;
    std::optional<Sizes> chosen;
    for (const Sizes& shape : candidates(record, variable, rows, assumptions.real)) {
      if (--trials < 0) break;
      with.feeds[variable] = shape;
      Trial trial = attempt(record, links, with);
      if (chosen && trial.misfits >= best.misfits) continue;
      chosen = shape;
      best = std::move(trial);
      if (best.misfits == 0) break;
    }
    if (!chosen) return best.misfits;
    assumptions.feeds[variable] = *chosen;
  }
}

}  // namespace

Assumptions guess(const Record& record, const Links& links) {
  Assumptions best;
  const int misfits = settle(record, links, best);
  if (misfits == 0) return best;
  Assumptions half{DType::f16, {}};
  return settle(record, links, half) < misfits ? half : best;
}

}  // namespace plait::io::chainer
