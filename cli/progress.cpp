// Progress lines and the backend that reports to them.
#include "cli/progress.h"

#include <algorithm>

#include "base/error.h"
#include "cli/output.h"
#include "cli/summary.h"
#include "ops/table.h"

namespace plait::cli {
namespace {

constexpr double kWorthAnEstimate = 2;  // seconds
constexpr double kRedrawEvery = 0.2;    // seconds, on a terminal
constexpr double kPrintEvery = 10;      // seconds, elsewhere

/// Passes everything on to another backend and counts.
class Watched : public Backend {
 public:
  Watched(std::unique_ptr<Backend> inner, Progress& progress)
      : inner_(std::move(inner)), progress_(progress) {}
  std::string_view name() const override { return inner_->name(); }
  Decision supports(const Op& op) const override { return inner_->supports(op); }
  std::vector<Array> execute(const NodeView& node,
                             const std::vector<const Array*>& inputs) override {
    std::vector<Array> results = inner_->execute(node, inputs);
    progress_.node_done(node.where);
    return results;
  }

 private:
  std::unique_ptr<Backend> inner_;
  Progress& progress_;
};

}  // namespace

Progress::Progress(const ir::Graph& graph, std::int64_t steps, bool quiet)
    : steps_(steps), quiet_(quiet), redraws_(quiet ? error_is_terminal() : output_is_terminal()) {
  for (const ir::Node& node : graph.nodes) {
    const Dim work = operations_of(graph, node) + bytes_of(graph, node);
    const double weight = 1 + static_cast<double>(work.hi());
    weights_[describe(graph, node)] = weight;
    step_weight_ += weight;
  }
}

Progress::~Progress() {
  if (open_line_) print_error("\n");
}

double Progress::seconds_since(Clock::time_point start) const {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::string Progress::eta(double done) const {
  const double elapsed = seconds_since(start_);
  const double left = done > 0 ? elapsed * (static_cast<double>(steps_) - done) / done : 0;
  if (elapsed + left < kWorthAnEstimate || left <= 0) return "";
  return "  eta " + duration_text(left);
}

void Progress::show(const std::string& line, bool final) {
  last_shown_ = Clock::now();
  if (redraws_) {
    const std::string text = "\r\x1b[K" + line + (final ? "\n" : "");
    open_line_ = !final;
    if (quiet_) return print_error(text);
    return print(text);
  }
  if (!quiet_) print(line + "\n");
}

void Progress::node_done(const std::string& where) {
  const auto weight = weights_.find(where);
  if (weight != weights_.end()) weight_done_ += weight->second;
  if (seconds_since(start_) < kWorthAnEstimate) return;
  if (seconds_since(last_shown_) < (redraws_ ? kRedrawEvery : kPrintEvery)) return;
  const double fraction = std::min(weight_done_ / std::max(step_weight_, 1.0), 1.0);
  const std::string line =
      str("step ", step_ + 1, "/", steps_, "  ", static_cast<int>(100 * fraction), "%",
          eta(static_cast<double>(step_) + fraction));
  if (redraws_) return show(line, false);
  // Results are on standard output; that a step goes on is a note beside them.
  last_shown_ = Clock::now();
  note(line);
}

double Progress::step_done(const std::string& results) {
  const double seconds = seconds_since(step_start_);
  ++step_;
  show(str("step ", step_, "/", steps_, results, "  ", duration_text(seconds),
           eta(static_cast<double>(step_))),
       step_ == steps_);
  step_start_ = Clock::now();
  weight_done_ = 0;
  return seconds;
}

std::unique_ptr<Backend> watched(std::unique_ptr<Backend> inner, Progress& progress) {
  return std::make_unique<Watched>(std::move(inner), progress);
}

}  // namespace plait::cli
