// Running what a test has built, on the reference backend or compiled.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "backends/backends.h"
#include "ops/builder.h"
#include "run/session.h"

namespace plait {

inline Session session_of(Builder& b, std::uint64_t seed = 0) {
  ir::Package package;
  package.graphs.push_back(b.take());
  return Session(std::move(package), make_target("ref"), seed);
}

/// The cpu's, with a kernel cache beside the test program.
inline std::unique_ptr<Target> cpu_target(int threads) {
  const auto program = std::filesystem::read_symlink("/proc/self/exe");
  ::setenv("PLAIT_CACHE", (program.parent_path() / "kernel_cache").c_str(), 1);
  return make_target("cpu", threads);
}

/// The text of the UserError that `action` raises.
template <class F>
std::string error_of(F action) {
  try {
    action();
  } catch (const UserError& e) {
    return e.what();
  }
  return "no error";
}

/// Largest |a - b|, over the largest |b|; infinite when shapes differ or something is not finite.
inline double deviation(const Array& a, const Array& b) {
  if (a.sizes() != b.sizes()) return INFINITY;
  double worst = 0, scale = 1e-30;
  for (std::int64_t i = 0; i < b.count(); ++i) {
    const double difference = std::fabs(a.real(i) - b.real(i));
    if (!std::isfinite(difference)) return INFINITY;
    worst = std::max(worst, difference);
    scale = std::max(scale, std::fabs(b.real(i)));
  }
  return worst / scale;
}

}  // namespace plait
