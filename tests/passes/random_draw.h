// Draws for tests: the same on every machine, unlike the distributions of the standard library.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace plait::test {

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : engine_(seed) {}
  int below(std::size_t n) { return static_cast<int>(engine_() % n); }
  bool chance(int percent) { return below(100) < percent; }
  double uniform(double lo, double hi) {
    return lo + (hi - lo) * static_cast<double>(engine_() >> 11) * 0x1p-53;
  }
  template <class T>
  const T& of(const std::vector<T>& list) {
    return list[static_cast<std::size_t>(below(list.size()))];
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace plait::test
