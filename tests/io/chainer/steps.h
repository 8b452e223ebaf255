// What the tests of steps share: samples, runs on the reference backend, and how far two results
// are apart.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "backends/backends.h"
#include "io/chainer/format.h"
#include "io/file.h"
#include "run/session.h"

namespace plait::test {

inline const char* const kSamples[] = {"blocks",  "mlp",       "own_names", "residual",
                                       "unknown", "vgg_small", "words"};

inline std::string sample(const std::string& name) {
  return io::read_file("tests/samples/chainer/" + name + ".txt");
}

inline io::chainer::Record record_of(const std::string& name) {
  return io::chainer::read(sample(name), name + ".txt");
}

/// The step of an import with the sizes of the document, or with others.
inline ir::Package fixed(const io::Import& import, DimBindings sizes = {}) {
  for (const auto& [name, value] : import.bindings()) sizes.emplace(name, value);
  return {{ir::substitute(import.package.graphs[0], sizes)}};
}

inline Arrays random_feeds(const ir::Graph& graph, std::uint64_t seed) {
  Arrays feeds;
  for (ir::ValueId id : graph.feeds) feeds[graph.value(id).name] = random_feed(graph, id, seed);
  return feeds;
}

/// The largest difference over the largest value of `b`.
inline double distance(const Array& a, const Array& b) {
  if (a.sizes() != b.sizes()) return INFINITY;
  double most = 0, largest = 1e-30;
  for (std::int64_t i = 0; i < a.count(); ++i) {
    most = std::max(most, std::abs(a.real(i) - b.real(i)));
    largest = std::max(largest, std::abs(b.real(i)));
  }
  return most / largest;
}

}  // namespace plait::test
