// Running samples between fences.
#include "tests/compiled/fence_case.h"

#include <stdlib.h>

#include <optional>

#include "backends/backends.h"
#include "base/text.h"
#include "ops/table.h"
#include "tests/ops/harness.h"

namespace plait::test {
namespace {

struct Case {
  std::string text;
  ir::Graph graph;
  Arrays feeds;
  std::vector<Array> expected;
};

std::vector<Array> in_double(const std::vector<Array>& feeds) {
  std::vector<Array> wide;
  for (const Array& a : feeds) wide.push_back(is_float(a.dtype()) ? a.cast(DType::f64) : a);
  return wide;
}

void add_cases(const OpSamples& given, DType real, std::vector<Case>& cases) {
  Op op = op_named(given.op);
  op.samples = given.text;
  for (const Sample& sample : samples_of(op)) {
    Case c;
    c.text = str(given.op, ": ", sample.text, " as ", real);
    const std::vector<Array> feeds = sample_feeds(sample, real, 7);
    try {
      c.graph = sample_graph(op, sample, real);
      c.expected = run_graph(sample_graph(op, sample, DType::f64), in_double(feeds));
    } catch (const UserError&) {  // a window larger than the image, say
      continue;
    }
    for (std::size_t i = 0; i < feeds.size(); ++i) {
      c.feeds.emplace(c.graph.value(c.graph.feeds[i]).name, feeds[i]);
    }
    cases.push_back(std::move(c));
  }
}

void check_cases(const std::vector<Case>& cases, bool in_steps) {
  std::vector<ir::Graph> graphs;
  Arrays feeds;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    graphs.push_back(cases[i].graph);
    feeds.merge(named_in(i, cases[i].feeds));
  }
  if (in_steps) graphs.push_back(scan_graph());
  const ir::Graph all = side_by_side(graphs);
  std::vector<std::string> modes = protected_modes();
  if (!is_swept()) modes.push_back("fill");
  if (modes.empty()) modes.push_back("");  // a mode for the whole process
  for (const std::string& mode : modes) {
    std::optional<Fence> fence;
    if (!mode.empty()) fence.emplace(mode);
    const Arrays results = run_compiled(all, feeds, {}, 2);
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const Case& c = cases[i];
      for (std::size_t k = 0; k < c.expected.size(); ++k) {
        const Array& got = results.at(str("g", i, ".", c.graph.fetches[k].name));
        EXPECT_LE(largest_error(got, c.expected[k]), tolerance(got.dtype()))
            << c.text << ", output " << k << ", fence " << mode;
      }
    }
  }
}

}  // namespace

int check_in_fences(const std::vector<OpSamples>& samples, DType real) {
  std::vector<Case> cases;
  for (const OpSamples& s : samples) add_cases(s, real, cases);
  const std::size_t taken = cases.size();
  if (tested() == Tested::kEmulated && soak_seeds(0) == 0) {  // every second one
    for (std::size_t i = 0; 2 * i < taken; ++i) std::swap(cases[i], cases[2 * i]);
    cases.resize((taken + 1) / 2);
  }
  constexpr std::size_t kTogether = 24;
  for (std::size_t first = 0; first < cases.size(); first += kTogether) {
    const auto begin = cases.begin() + static_cast<std::ptrdiff_t>(first);
    const auto count = std::min(kTogether, cases.size() - first);
    const std::vector<Case> some(begin, begin + static_cast<std::ptrdiff_t>(count));
    check_cases(some, false);
    const QuickCompiler quick;
    check_cases(some, true);
  }
  return static_cast<int>(taken);
}

void expect_same_in_fences(const std::function<Arrays()>& run) {
  const char* whole_process = ::getenv("PLAIT_FENCE");
  std::vector<std::string> modes = protected_modes();
  if (is_swept()) modes.push_back(whole_process);
  const Fence none("");
  const Arrays expected = run();
  for (const std::string& mode : modes) {
    const Fence fence(mode);
    EXPECT_EQ(differing_bits(expected, run()), "") << "fence " << mode;
  }
}

}  // namespace plait::test
