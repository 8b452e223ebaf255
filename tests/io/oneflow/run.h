// Running the graphs of a sample and comparing with numbers.
#pragma once

#include <gtest/gtest.h>

#include <cmath>

#include "run/session.h"
#include "tests/io/oneflow/sample.h"

namespace plait::io::oneflow {

using Reals = std::vector<double>;

inline ir::Package with_sizes(const Import& import, const DimBindings& sizes) {
  DimBindings all = import.bindings();
  for (const auto& [name, value] : sizes) all.insert_or_assign(name, value);
  ir::Package package;
  for (const ir::Graph& g : import.package.graphs) package.graphs.push_back(ir::substitute(g, all));
  return package;
}

inline Reals reals(const Array& a) {
  Reals out;
  for (std::int64_t i = 0; i < a.count(); ++i) out.push_back(a.real(i));
  return out;
}

/// f32 results of a few roundings against doubles.
inline void expect_near(const Reals& got, const Reals& want, const std::string& what,
                        double tolerance = 2e-6) {
  ASSERT_EQ(got.size(), want.size()) << what;
  double most = 1e-30;
  for (double x : want) most = std::max(most, std::abs(x));
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_NEAR(got[i], want[i], tolerance * most) << what << " " << i;
  }
}

}  // namespace plait::io::oneflow
