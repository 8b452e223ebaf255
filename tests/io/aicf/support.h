// Samples, and running what they describe on the reference backend.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "backends/backends.h"
#include "io/aicf/format.h"
#include "io/file.h"
#include "run/session.h"

namespace plait::io::aicf::test {

inline constexpr const char* kSamples[] = {"adam", "in_place", "inference", "no_bias", "sgd"};

inline std::string sample(const std::string& name) {
  return read_file("tests/samples/aicf/" + name + ".txt");
}
inline Record sample_record(const std::string& name) { return read(sample(name), name + ".txt"); }

inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at)) {
    text.replace(at, from.size(), to);
    at += to.size();
  }
  return text;
}

/// The graphs with named sizes set: the document's, or others.
inline ir::Package at_sizes(const Import& import, std::map<std::string, std::int64_t> others = {}) {
  DimBindings bindings;
  for (const auto& [name, value] : others) bindings.emplace(name, Dim(value));
  bindings.merge(import.bindings());
  ir::Package package;
  for (const ir::Graph& g : import.package.graphs) {
    package.graphs.push_back(substitute(g, bindings));
  }
  return package;
}

inline ir::Package package_of(const Record& record) { return at_sizes(to_graphs(record)); }

inline Session session_of(ir::Package package, std::uint64_t seed = 1) {
  return Session(std::move(package), make_target("ref"), seed);
}

/// Random values for every feed of the first graph.
inline Arrays feeds_of(const ir::Package& package, std::uint64_t seed) {
  Arrays feeds;
  const ir::Graph& graph = package.graphs[0];
  for (ir::ValueId id : graph.feeds) {
    feeds[graph.value(id).name] = random_feed(graph, id, seed);
  }
  return feeds;
}

/// Largest |a - b| over the largest |b|.
inline double deviation(const Array& a, const Array& b) {
  EXPECT_EQ(a.sizes(), b.sizes());
  double worst = 0, scale = 1e-30;
  for (std::int64_t i = 0; i < b.count(); ++i) {
    worst = std::max(worst, std::fabs(a.real(i) - b.real(i)));
    scale = std::max(scale, std::fabs(b.real(i)));
  }
  EXPECT_TRUE(std::isfinite(worst));
  return worst / scale;
}

/// The name of the same state in a network of models/: `opt.m.0.W` is `optim.m.0.W` there.
inline std::string model_name(const std::string& name) {
  return name.starts_with("opt.") ? "optim." + name.substr(4) : name;
}

/// Runs both for `steps` on the same feeds from the same states; the largest deviation of any state
/// of the first.
inline double deviation_after(Session& a, Session& b, int steps) {
  for (const std::string& name : a.state_names()) {
    const Array value = a.state(name);
    b.set_state(model_name(name), value.cast(b.state(model_name(name)).dtype()));
  }
  for (int step = 0; step < steps; ++step) {
    const Arrays feeds = feeds_of(a.package(), 100 + static_cast<std::uint64_t>(step));
    static_cast<void>(a.run({a.package().graphs[0].name, feeds, {}}));
    static_cast<void>(b.run({b.package().graphs[0].name, feeds, {}}));
  }
  double worst = 0;
  for (const std::string& name : a.state_names()) {
    worst = std::max(worst, deviation(a.state(name), b.state(model_name(name))));
  }
  return worst;
}

/// Where the states are after so many steps.
inline double moved(Session& session, int steps) {
  Arrays before;
  for (const std::string& name : session.state_names()) before[name] = session.state(name);
  for (int step = 0; step < steps; ++step) {
    const Arrays feeds = feeds_of(session.package(), 7);
    static_cast<void>(session.run({session.package().graphs[0].name, feeds, {}}));
  }
  double worst = 0;
  for (const auto& [name, value] : before) {
    worst = std::max(worst, deviation(session.state(name), value));
  }
  return worst;
}

/// Skips the calling test where the whole document is out of reach.
inline constexpr const char* kDocument = "../shared/documents/aicf_mlp_step.txt";
inline bool has_document() { return std::filesystem::exists(kDocument); }

}  // namespace plait::io::aicf::test
