// The prelude's functions of float and double against libm in more precision: the error bounds that
// their comments state, special values and edges of the range included.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "base/error.h"
#include "codegen/prelude.h"
#include "tests/codegen/ulp.h"

namespace plait {
namespace {

struct Function {
  const char* name;
  float (*ours)(float);
  double (*exact)(double);
  double bound;  // ulp
};

const Function kFunctions[] = {
    {"exp", pl_exp_f, std::exp, 1.1},     {"expm1", pl_expm1_f, std::expm1, 1.2},
    {"log", pl_log_f, std::log, 1.0},     {"log1p", pl_log1p_f, std::log1p, 1.0},
    {"tanh", pl_tanh_f, std::tanh, 1.4},  {"erf", pl_erf_f, std::erf, 1.4},
    {"erfc", pl_erfc_f, std::erfc, 5.0},
    {"sinh", pl_sinh_f, std::sinh, 2.3},  {"cosh", pl_cosh_f, std::cosh, 1.5},
    {"sin", pl_sin_f, std::sin, 1.7},     {"cos", pl_cos_f, std::cos, 1.7},
    {"tan", pl_tan_f, std::tan, 2.7},     {"asin", pl_asin_f, std::asin, 2.5},
    {"acos", pl_acos_f, std::acos, 1.3},  {"atan", pl_atan_f, std::atan, 1.6},
    {"sqrt", pl_sqrt_f, std::sqrt, 0.51},
};

/// Every 4099th float, a dense stretch round zero, and the neighbours of each edge.
std::vector<float> arguments() {
  std::vector<float> list;
  for (std::uint64_t bits = 0; bits < (1ull << 32); bits += 4099) list.push_back(float_of(bits));
  for (int i = -400000; i <= 400000; ++i) list.push_back(static_cast<float>(i) * 2.7e-5f);
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float edge : {0.0f,           0x1p-149f,
                           0x1p-126f,      0x1p-25f,
                           0x1p-13f,       0.25f,
                           0.5f,           0.6f,
                           0.70710678f,    1.0f,
                           1.4142135f,     1.5707964f,
                           3.1415927f,     4.0f,
                           10.0f,          20.0f,
                           87.336544f,     88.72284f,
                           89.0f,          89.416f,
                           89.5f,          103.27893f,
                           103.97208f,     104.0f,
                           1e5f,           0x1p20f,
                           0x1p58f,        0x1p93f,
                           0x1.f37e9ap95f,  // the float next to a multiple of pi/2 for its size
                           0x1.f9cbe2p7f,  std::numeric_limits<float>::max(),
                           infinity}) {
    const auto bits = std::bit_cast<std::uint32_t>(edge);
    for (std::uint32_t step = 0; step < 128; ++step) {
      list.push_back(float_of(bits - step));
      list.push_back(float_of(bits + step));
      list.push_back(-float_of(bits - step));
      list.push_back(-float_of(bits + step));
    }
  }
  return list;
}

TEST(PreludeMath, FloatFunctionsStayWithinTheirBounds) {
  const std::vector<float> list = arguments();
  for (const Function& f : kFunctions) {
    double worst = 0;
    float at = 0;
    for (const float x : list) {
      const double error = ulps(f.ours(x), f.exact(static_cast<double>(x)));
      if (error > worst) worst = error, at = x;
    }
    EXPECT_LE(worst, f.bound) << f.name << "(" << at << ") = " << f.ours(at) << ", not "
                              << f.exact(static_cast<double>(at));
    RecordProperty(f.name, str(worst));
  }
}

struct Pair {
  const char* name;
  float (*ours)(float, float);
  double (*exact)(double, double);
  double bound;
};

const Pair kPairs[] = {{"pow", pl_pow_f, std::pow, 0.6}, {"atan2", pl_atan2_f, std::atan2, 1.7}};

TEST(PreludeMath, FunctionsOfTwoFloatsStayWithinTheirBounds) {
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  const std::vector<float> special = {0.0f,      -0.0f,  1.0f,        -1.0f,        infinity,
                                      -infinity, nan,    2.0f,        -2.0f,        3.0f,
                                      -3.0f,     0.5f,   -0.5f,       1e-40f,       -1e-40f,
                                      1e38f,     -1e38f, 16777217.0f, -16777215.0f, 0x1p-149f};
  std::vector<std::pair<float, float>> list;
  for (const float a : special) {
    for (const float b : special) list.emplace_back(a, b);
  }
  std::mt19937 random(7);
  std::uniform_real_distribution<float> unit(-1, 1);
  for (int i = 0; i < 300000; ++i) {
    list.emplace_back(float_of(random()), float_of(random()));
    list.emplace_back(2 + 2 * unit(random), 10 * unit(random));
    list.emplace_back(1 + 0.01f * unit(random), 10000 * unit(random));
    list.emplace_back(float_of(random()), std::round(6 * unit(random)));
  }
  for (const Pair& f : kPairs) {
    double worst = 0;
    std::pair<float, float> at;
    for (const auto& x : list) {
      const double error = ulps(f.ours(x.first, x.second), f.exact(x.first, x.second));
      if (error > worst) worst = error, at = x;
    }
    EXPECT_LE(worst, f.bound) << f.name << "(" << at.first << ", " << at.second
                              << ") = " << f.ours(at.first, at.second) << ", not "
                              << f.exact(at.first, at.second);
  }
}

struct DoubleFunction {
  const char* name;
  double (*ours)(double);
  long double (*exact)(long double);
  double bound;
};

const DoubleFunction kDoubles[] = {
    {"exp", pl_exp_d, std::exp, 1.1},
    {"expm1", pl_expm1_d, std::expm1, 1.3},
    {"log", pl_log_d, std::log, 1.0},
    {"tanh", pl_tanh_d, std::tanh, 2.6},
};

TEST(PreludeMath, DoublePolynomialsStayWithinTheirBounds) {
  if (std::numeric_limits<long double>::digits <= 53) GTEST_SKIP() << "long double is double here";
  std::vector<double> list;
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> unit(-1, 1);
  for (int i = 0; i < 200000; ++i) {
    list.push_back(std::bit_cast<double>(random()));
    list.push_back(750 * unit(random));
    list.push_back(2 * unit(random));
  }
  for (const double edge : {0.0, 0x1p-1074, 0x1p-1022, 0x1p-54, 0x1p-28, 0.70710678118654757, 1.0,
                            20.0, 40.0, 708.39641853226408, 709.782712893384, 710.0,
                            745.13321910194122, 746.0, std::numeric_limits<double>::infinity()}) {
    const auto bits = std::bit_cast<std::uint64_t>(edge);
    for (std::uint64_t step = 0; step < 64; ++step) {
      for (const std::uint64_t b : {bits - step, bits + step}) {
        list.push_back(std::bit_cast<double>(b));
        list.push_back(-std::bit_cast<double>(b));
      }
    }
  }
  for (const DoubleFunction& f : kDoubles) {
    double worst = 0, at = 0;
    for (const double x : list) {
      const double error = ulps(f.ours(x), f.exact(static_cast<long double>(x)));
      if (error > worst) worst = error, at = x;
    }
    EXPECT_LE(worst, f.bound) << f.name << "(" << at << ") = " << f.ours(at);
  }
}

}  // namespace
}  // namespace plait
