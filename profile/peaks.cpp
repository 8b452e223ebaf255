// What this machine can do at most: multiply-adds a second, bytes copied a second.
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <fstream>
#include <functional>
#include <system_error>
#include <thread>

#include "base/cpus.h"
#include "base/error.h"
#include "profile/fma_loops.h"
#include "profile/profile.h"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace plait::profile {
namespace {

constexpr int kChains = 8, kLanes = 4;
constexpr std::int64_t kLineBytes = 64;

/// Any processor: a multiplication and an addition, which is all that four lanes promise.
float run_baseline(std::int64_t rounds) {
  float x[kChains][kLanes];
  for (int i = 0; i < kChains; ++i) std::fill_n(x[i], kLanes, static_cast<float>(i));
  for (std::int64_t r = 0; r < rounds; ++r) {
    for (auto& chain : x) {
      for (float& lane : chain) lane = lane * 0.999f + 0.001f;
    }
  }
  float sum = 0;
  for (const auto& chain : x) {
    for (float lane : chain) sum += lane;
  }
  return sum;
}

std::vector<FmaLoop> loops() {
  std::vector<FmaLoop> out;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) out.push_back(fma_avx512());
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) out.push_back(fma_avx2());
#endif
  if (out.empty()) out.push_back(fma_baseline());
  return out;
}

/// Seconds from the moment that all threads are there until the last is through with `work`.
double timed(int threads, const std::function<void(int thread)>& work) {
  std::atomic<int> ready{0};
  std::atomic<bool> go{false};
  std::vector<std::thread> others;
  const auto wait_and_work = [&](int t) {
    ready.fetch_add(1);
    while (!go.load()) std::this_thread::yield();
    work(t);
  };
  // Each on a cpu of its own: this thread may be kept on one, where those it makes would stay.
  const std::vector<int>& cpus = process_cpus();
  try {
    for (int t = 1; t < threads; ++t) {
      others.emplace_back([&, t] {
        stay_on({cpus[static_cast<std::size_t>(t) % cpus.size()]});
        wait_and_work(t);
      });
    }
  } catch (const std::system_error& e) {
    go.store(true);
    const std::size_t started = others.size() + 1;
    for (std::thread& other : others) other.join();
    throw RunError(str("only ", started, " of ", threads, " threads could be started to measure ",
                       "the machine's peaks: ", e.what()));
  }
  while (ready.load() < threads - 1) std::this_thread::yield();
  const auto begin = std::chrono::steady_clock::now();
  go.store(true);
  work(0);
  for (std::thread& other : others) other.join();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double fma_gflops(const FmaLoop& loop, int threads) {
  constexpr int kTries = 30;          // short and many: one of them is not interrupted
  constexpr double kSeconds = 0.002;  // of a try
  std::atomic<float> sink{0};
  const auto seconds = [&](std::int64_t rounds) {
    return timed(threads, [&](int) { sink.store(loop.run(rounds)); });
  };
  std::int64_t rounds = 1 << 14;
  while (seconds(rounds) < kSeconds / 2) rounds *= 2;
  double best = seconds(rounds);
  for (int i = 1; i < kTries; ++i) best = std::min(best, seconds(rounds));
  return static_cast<double>(loop.operations * rounds) * threads / best * 1e-9;
}

/// Of a level of cache that this processor has or shares; what the C library says of some
/// processors is the sum over all of them.
std::int64_t level_bytes(int index) {
  std::ifstream in(str("/sys/devices/system/cpu/cpu0/cache/index", index, "/size"));  // `32768K`
  std::int64_t kilobytes = 0;
  return in >> kilobytes ? kilobytes << 10 : 0;
}

/// Pages as large as can be, so that the copy waits for memory and not for page tables.
class Pages {
 public:
  explicit Pages(std::int64_t bytes) : bytes_(static_cast<std::size_t>(bytes)) {
    data_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data_ == MAP_FAILED) throw RunError(str("no memory for ", bytes, " bytes to copy"));
    madvise(data_, bytes_, MADV_HUGEPAGE);  // advice: smaller pages do too
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  ~Pages() { munmap(data_, bytes_); }
  char* at(std::int64_t byte) const { return static_cast<char*>(data_) + byte; }

 private:
  std::size_t bytes_;
  void* data_;
};

/// Past the caches: lines that are written whole need not be read before. Whole lines only.
void stream_copy(char* to, const char* from, std::int64_t bytes) {
#if defined(__x86_64__)
  for (std::int64_t i = 0; i < bytes; i += kLineBytes) {
    __m128i line[4];
    for (int j = 0; j < 4; ++j) {
      line[j] = _mm_load_si128(reinterpret_cast<const __m128i*>(from + i) + j);
    }
    for (int j = 0; j < 4; ++j) _mm_stream_si128(reinterpret_cast<__m128i*>(to + i) + j, line[j]);
  }
  _mm_sfence();
#else
  std::memcpy(to, from, static_cast<std::size_t>(bytes));
#endif
}

/// Read and written together; four times the cache, between 128 MB and 1 GB.
double copy_gbs(int threads) {
  constexpr int kTries = 12;
  const std::int64_t both = std::clamp<std::int64_t>(4 * level_bytes(3), 128 << 20, 1 << 30);
  const std::int64_t part = both / 2 / threads / kLineBytes * kLineBytes;  // of a thread
  const Pages from(both / 2), to(both / 2);
  const auto fill = [&](int t) {
    std::memset(from.at(t * part), 1, static_cast<std::size_t>(part));
    std::memset(to.at(t * part), 0, static_cast<std::size_t>(part));
  };
  const auto copy = [&](int t) { stream_copy(to.at(t * part), from.at(t * part), part); };
  timed(threads, fill);  // each page is near the thread that copies it
  double best = timed(threads, copy);
  for (int i = 1; i < kTries; ++i) best = std::min(best, timed(threads, copy));
  check(*to.at(part - 1) == 1, "the copy did not happen");
  return static_cast<double>(2 * part * threads) / best * 1e-9;
}

}  // namespace

FmaLoop fma_baseline() { return {run_baseline, std::int64_t{2} * kChains * kLanes}; }

std::int64_t cache_bytes(int threads) { return threads * level_bytes(2) + level_bytes(3); }

double measure_cache_gbs(int threads) {
  constexpr int kTries = 12, kTimes = 8;
  const std::int64_t both = std::max<std::int64_t>(cache_bytes(threads) / 4, 1 << 20);
  const std::int64_t part = both / 2 / threads / kLineBytes * kLineBytes;  // of a thread
  const Pages from(both / 2), to(both / 2);
  std::memset(from.at(0), 1, static_cast<std::size_t>(both / 2));
  const auto copy = [&](int t) {
    for (int i = 0; i < kTimes; ++i) {
      std::memcpy(to.at(t * part), from.at(t * part), static_cast<std::size_t>(part));
    }
  };
  double best = timed(threads, copy);
  for (int i = 1; i < kTries; ++i) best = std::min(best, timed(threads, copy));
  check(*to.at(part - 1) == 1, "the copy did not happen");
  return static_cast<double>(kTimes * 2 * part * threads) / best * 1e-9;
}

Peaks measure_peaks(int threads) {
  check(threads >= 1, "peaks of ", threads, " threads");
  Peaks out;
  for (const FmaLoop& loop : loops()) {
    out.gflops = std::max(out.gflops, fma_gflops(loop, threads));
  }
  out.gbs = copy_gbs(threads);
  return out;
}

double measure_dot_gflops(std::string_view unit, int threads) {
#if defined(__x86_64__)
  if (unit == "amx" && may_use_amx()) return fma_gflops(dot_amx(), threads);
  if (unit == "avx512bf16" && __builtin_cpu_supports("avx512bf16")) {
    return fma_gflops(dot_avx512bf16(), threads);
  }
#endif
  return 0;
}

}  // namespace plait::profile
