// Arrays, numbers and durations for people.
#include "cli/summary.h"

#include <charconv>
#include <cmath>
#include <cstdio>

#include "base/duration.h"
#include "base/hash.h"
#include "base/text.h"

namespace plait::cli {
namespace {

template <class... Values>
std::string format(const char* pattern, Values... values) {
  char text[64];
  std::snprintf(text, sizeof text, pattern, values...);
  return text;
}

}  // namespace

std::string element_text(const Array& array, std::int64_t i) {
  if (array.dtype() == DType::boolean) return array.integer(i) ? "true" : "false";
  if (!is_float(array.dtype())) return std::to_string(array.integer(i));
  if (array.dtype() == DType::f64 || !std::isfinite(array.real(i))) return real_text(array.real(i));
  char text[40];
  const auto value = static_cast<float>(array.real(i));
  std::string out(text, std::to_chars(text, text + sizeof text, value).ptr);
  return out.find_first_of(".e") == std::string::npos ? out + ".0" : out;
}

std::string short_text(double value, bool aligned) {
  return format(aligned ? "%#.5g" : "%.5g", value);
}

std::string duration_text(double seconds) {
  if (seconds < 0.01) return milliseconds_text(seconds * 1e3, 2) + " ms";
  if (seconds < 1) return format("%.0f ms", seconds * 1e3);
  if (seconds < 60) return format("%.1f s", seconds);
  if (!(seconds < 1e9)) return format("%.3g h", seconds / 3600);
  const auto whole = static_cast<long>(std::lround(seconds));
  if (whole < 3600) return format("%ld min %ld s", whole / 60, whole % 60);
  return format("%ld h %ld min", whole / 3600, whole / 60 % 60);
}

Summary summarise(const std::string& name, const Array& array) {
  Summary s{name, type_text(array), {}, {}, {}, "", ""};
  const std::span<const std::byte> bytes(array.data(), array.byte_count());
  s.hash = hex_digits(fnv1a64(bytes));
  if (array.sizes().empty()) s.value = element_text(array, 0);
  if (array.count() == 0) return s;
  double least = array.real(0), most = least, sum = 0;
  for (std::int64_t i = 0; i < array.count(); ++i) {
    const double x = array.real(i);
    if (std::isnan(x) || x < least) least = x;
    if (std::isnan(x) || x > most) most = x;
    sum += x;
    if (std::isnan(x)) break;  // nothing but NaN can follow
  }
  s.min = least;
  s.max = most;
  s.mean = sum / static_cast<double>(array.count());
  return s;
}

}  // namespace plait::cli
