// The samples of the format, and running what they describe.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "backends/backends.h"
#include "io/file.h"
#include "io/megengine/format.h"
#include "run/session.h"
#include "tests/raises.h"

namespace plait::io::megengine {

inline std::string sample_text(const std::string& name) {
  return read_file("tests/samples/megengine/" + name + ".json");
}

inline Record sample(const std::string& name) { return read(sample_text(name), name + ".json"); }

/// The package with named sizes set: those of the document, but for `changed`.
inline ir::Package sized(const Import& import, const std::map<std::string, std::int64_t>& changed) {
  DimBindings bindings = import.bindings();
  for (const auto& [name, size] : changed) bindings[name] = Dim(size);
  ir::Package package;
  for (const ir::Graph& graph : import.package.graphs) {
    package.graphs.push_back(substitute(graph, bindings));
  }
  return package;
}

inline Session session_of(ir::Package package, std::uint64_t seed = 1) {
  return Session(std::move(package), make_target("ref"), seed);
}

/// A feed for every feed of the first graph.
inline Arrays random_feeds(const ir::Package& package) {
  Arrays feeds;
  const ir::Graph& graph = package.graphs[0];
  for (ir::ValueId id : graph.feeds) feeds[graph.value(id).name] = random_feed(graph, id, 7);
  return feeds;
}

/// Of the first graph.
inline Arrays run(Session& session, const Arrays& feeds, std::vector<std::string> fetches = {}) {
  return session.run({"", feeds, std::move(fetches)});
}

/// The largest difference, relative to the largest magnitude of `b`.
inline double difference(const Array& a, const Array& b) {
  EXPECT_EQ(a.count(), b.count());
  double most = 0, scale = 0;
  for (std::int64_t i = 0; i < std::min(a.count(), b.count()); ++i) {
    if (std::isnan(a.real(i)) || std::isnan(b.real(i))) return NAN;
    most = std::max(most, std::fabs(a.real(i) - b.real(i)));
    scale = std::max(scale, std::fabs(b.real(i)));
  }
  return scale > 0 ? most / scale : most;
}

}  // namespace plait::io::megengine
