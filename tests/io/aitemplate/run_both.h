// Running an imported graph beside another one, on the reference backend, from the same numbers.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "backends/backends.h"
#include "io/aitemplate/format.h"
#include "io/file.h"
#include "run/session.h"

namespace plait::io::aitemplate {

inline std::string sample(const std::string& name) {
  return read_file("tests/samples/aitemplate/" + name);
}
inline Record read_sample(const std::string& name) { return read(sample(name), name); }

/// The import's package with sizes as numbers: the document's, but for those in `set`.
inline ir::Package at_sizes(const Import& import, const DimBindings& set = {}) {
  DimBindings all = set;
  for (const auto& [name, value] : import.bindings()) all.emplace(name, value);
  ir::Package out;
  for (const ir::Graph& g : import.package.graphs) out.graphs.push_back(ir::substitute(g, all));
  return out;
}

/// Feeds with random numbers that depend on the position alone.
inline Arrays random_feeds(const ir::Graph& graph) {
  Arrays feeds;
  for (std::size_t i = 0; i < graph.feeds.size(); ++i) {
    const ir::ValueId id = graph.feeds[i];
    feeds[graph.value(id).name] = random_feed(graph, id, 7 + i);
  }
  return feeds;
}

/// The largest difference of two arrays, relative to the largest number of the second.
inline double difference(const Array& a, const Array& b) {
  EXPECT_EQ(type_text(a), type_text(b));
  if (a.sizes() != b.sizes()) return 1;
  double apart = 0, most = 1e-30;
  for (std::int64_t i = 0; i < b.count(); ++i) {
    apart = std::max(apart, std::fabs(a.real(i) - b.real(i)));
    most = std::max(most, std::fabs(b.real(i)));
    if (std::isnan(a.real(i)) != std::isnan(b.real(i))) return 1;
  }
  return apart / most;
}

}  // namespace plait::io::aitemplate
