// Which library takes a contraction, and what both makers share.
#include "backends/cuda/library/library.h"

#include <algorithm>
#include <numeric>
#include <sstream>
#include <string_view>

#include "backends/cuda/driver/api.h"
#include "backends/cuda/library/calls.h"
#include "backends/cuda/library/loaded.h"

namespace plait::cuda {
namespace {

Decision takes(const loop::BoundContraction& c, DType result) {
  if (!is_float(c.dtype)) return Decision::forbid(str("its dtype is ", c.dtype));
  if (result != c.dtype && !(result == DType::f32 && is_half(c.dtype))) {
    return Decision::forbid(str("a result in ", result, " of ", c.dtype));
  }
  for (const auto* axes : {&c.batch, &c.m, &c.n, &c.k}) {
    if (extent_of(*axes) == 0) return Decision::forbid("nothing is summed");
  }
  return Decision::allow();
}

// Runs in a row, fewer of long ones. Not timed further is what takes so many times the best, and
// what the host adds to a run alone.
constexpr int kRuns = 10;
constexpr double kRowSeconds = 10e-3, kHopeless = 4, kHostSeconds = 100e-6;

class Events {
 public:
  Events() {
    check_call(driver(), driver().event_create(&from, 0), "make an event");
    check_call(driver(), driver().event_create(&to, 0), "make an event");
  }
  ~Events() {
    driver().event_destroy(from);
    driver().event_destroy(to);
  }
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;
  CUevent from{}, to{};
};

}  // namespace

LibraryVersions library_versions() {
  LibraryVersions out;
  if (lt_api(out.cublaslt_why)) out.cublaslt = lt_version().version;
  if (dnn_api(out.cudnn_why)) out.cudnn = dnn_version().version;
  return out;
}

LibraryVersions kept_library_versions() {
  LibraryVersions out;
  out.cublaslt = kept_version("cublaslt", lt_version);
  out.cudnn = kept_version("cudnn", dnn_version);
  return out;
}

void start_libraries(bool cublaslt, bool cudnn) {
  std::string ignored;  // whoever makes a call hears it
  if (cublaslt) lt_handle(ignored);
  if (cudnn) lease_dnn_handle(ignored);  // for whoever comes first
}

std::unique_ptr<LibraryCall> make_library_call(const loop::BoundContraction& c, DType result,
                                               const LibraryOptions& options,
                                               const LibraryEpilogue& epilogue, std::string& why) {
  if (const Decision d = takes(c, result); !d) {
    why = d.why;
    return nullptr;
  }
  const std::string_view only = library_of(options.variant);
  LibraryProblem problem{c.dtype, result, options, epilogue};
  problem.options.variant = algorithm_of(options.variant);
  std::string lt_why = "not asked", dnn_why = "not asked";
  if (only.empty() || only == "lt") {
    MatrixProduct product;
    const Decision is_product = find_product(c, product);
    lt_why = is_product.why;
    if (is_product) {
      if (auto call = make_lt_call(product, problem, lt_why)) return call;
    }
  }
  if (only.empty() || only == "cudnn") {
    Convolution convolution;
    const Decision is_convolution = find_convolution(c, convolution);
    dnn_why = is_convolution.why;
    if (is_convolution) {
      if (auto call = make_dnn_call(convolution, problem, dnn_why)) return call;
    }
  }
  why = str("cuBLASLt: ", lt_why, "; cuDNN: ", dnn_why);
  return nullptr;
}

std::string algorithm_of(const std::string& variant) {
  const std::size_t at = variant.rfind('.');
  return at == std::string::npos ? "" : variant.substr(at + 1);
}

std::string words_text(std::vector<std::uint64_t> words) {
  while (!words.empty() && words.back() == 0) words.pop_back();
  std::ostringstream out;
  for (std::size_t i = 0; i < words.size(); ++i) out << (i > 0 ? "_" : "") << std::hex << words[i];
  return out.str();
}

std::vector<std::uint64_t> words_from(const std::string& text) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::vector<std::uint64_t> out(1, 0);
  for (const char c : text) {
    const std::size_t digit = digits.find(c);
    if (c == '_') {
      out.push_back(0);
    } else if (digit != digits.npos && out.back() >> 60 == 0) {
      out.back() = out.back() << 4 | digit;
    } else {
      return {};
    }
  }
  return text.empty() ? std::vector<std::uint64_t>{} : out;
}

std::int64_t common_alignment(std::int64_t alignment, std::initializer_list<std::int64_t> bytes) {
  for (const std::int64_t b : bytes) alignment = std::gcd(alignment, b);
  return alignment;
}

double seconds_of(void* stream, const LibraryCall& call, const LibraryOperands& operands,
                  double best, std::string& why) {
  const auto at = static_cast<CUstream>(stream);
  const DriverApi& api = driver();
  const Events events;
  const auto fails = [&] {
    const char* error = call.run(stream, operands);
    if (error != nullptr) why = error;
    return error != nullptr;
  };
  const auto row = [&](int runs) {
    check_call(api, api.event_record(events.from, at, 0), "record an event");
    for (int i = 0; i < runs; ++i) {
      if (fails()) return -1.0;
    }
    check_call(api, api.event_record(events.to, at, 0), "record an event");
    check_call(api, api.event_wait(events.to), "wait for a library's kernel");
    float ms = 0;
    check_call(api, api.event_elapsed(&ms, events.from, events.to), "time a library's kernel");
    return ms / 1e3 / runs;
  };
  if (fails()) return -1;
  const double once = row(1);
  if (once < 0 || once > kHopeless * best + kHostSeconds) return once;
  const int runs = std::clamp(static_cast<int>(kRowSeconds / std::max(once, 1e-9)), 1, kRuns);
  double least = once;
  for (int round = 0; round < 3; ++round) {
    const double seconds = row(runs);
    if (seconds < 0) return seconds;
    least = std::min(least, seconds);
  }
  return least;
}

}  // namespace plait::cuda
