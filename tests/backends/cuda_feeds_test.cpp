// Feeds that travel beside a run, arrays that take their layout on the device, and memory that is
// known to be too small before any is taken.
#include <gtest/gtest.h>

#include <numeric>

#include "backends/cuda/emulate/emulated_device.h"
#include "backends/cuda/feed_staging.h"
#include "backends/cuda/placer.h"
#include "backends/cuda/target.h"
#include "base/error.h"
#include "ir/text.h"
#include "run/compile.h"
#include "run/executor.h"
#include "tests/backends/device_under_test.h"

namespace plait::cuda {
namespace {

template <class T>
std::vector<T> numbers(std::int64_t count) {
  std::vector<T> out(static_cast<std::size_t>(count));
  std::iota(out.begin(), out.end(), T{1});
  return out;
}

/// Element by element.
template <class T>
std::vector<T> write_out(const std::vector<T>& array, const HostLayout& laid) {
  std::vector<T> out(array.size());
  for (std::size_t i = 0; i < array.size(); ++i) {
    std::vector<std::int64_t> index(laid.sizes.size());
    auto rest = static_cast<std::int64_t>(i);
    for (std::size_t d = laid.sizes.size(); d-- > 0; rest /= laid.sizes[d]) {
      index[d] = rest % laid.sizes[d];
    }
    std::int64_t at = 0;
    for (int d : laid.order) {
      const auto axis = static_cast<std::size_t>(d);
      at = at * laid.sizes[axis] + index[axis];
    }
    out[static_cast<std::size_t>(at)] = array[i];
  }
  return out;
}

template <class T>
void check_written(const HostLayout& laid) {
  const auto device = test::device_under_test();
  Placer placer(device);
  ASSERT_TRUE(Placer::takes(laid));
  const std::vector<T> array = numbers<T>(laid.bytes() / laid.width);
  char* to = device->allocate(laid.bytes(), "laid");
  placer.write(to, array.data(), laid);
  std::vector<T> got(array.size());
  device->read(got.data(), to, laid.bytes());
  EXPECT_TRUE(got == write_out(array, laid));
  device->release(to);
}

TEST(CudaFeeds, ArraysTakeTheirLayout) {
  check_written<std::uint8_t>({1, {5, 7}, {1, 0}});
  check_written<std::uint16_t>({2, {2, 3, 5, 4}, {0, 2, 3, 1}});
  check_written<std::uint32_t>({4, {3, 1, 4, 2, 3}, {4, 0, 3, 2, 1}});
  check_written<std::uint64_t>({8, {1, 2, 3, 1, 2, 2, 1, 3}, {7, 3, 5, 1, 0, 2, 4, 6}});
  check_written<std::uint32_t>({4, {0, 3}, {1, 0}});
}

TEST(CudaFeeds, ALargeArrayGoesInParts) {
  check_written<std::uint64_t>({8, {3, 101, 1777}, {2, 0, 1}});  // 4.3 MB
}

TEST(CudaFeeds, NineAxesAreTheHosts) {
  EXPECT_FALSE(Placer::takes({4, std::vector<std::int64_t>(9, 1), {8, 7, 6, 5, 4, 3, 2, 1, 0}}));
}

struct Fed {
  Fed() : device(test::device_under_test()), placer(std::make_shared<Placer>(device)) {
    for (const std::int64_t bytes : {kBytes, std::int64_t{64}, 2 * kBytes}) {
      p.views.push_back({"", {}, {}, program::BufferId(p.buffers.size()), 0});
      p.buffers.push_back({"", program::Region::kArena, bytes, 0, 0, 0});
      memory.buffers.push_back(device->allocate(bytes, "a buffer"));
    }
    p.feeds = {{"first", view(0)}, {"last", view(2)}};
    landing = std::make_unique<FeedStaging>(device, placer);
    landing->reserve(p, memory);
  }
  ~Fed() {
    for (char* buffer : memory.buffers) device->release(buffer);
  }
  /// One for each buffer.
  static program::ViewId view(int number) {
    return program::ViewId(static_cast<std::size_t>(number));
  }
  void feed(int number, std::uint32_t first) {
    const std::vector<std::uint32_t> value(kBytes / 4, first);
    EXPECT_TRUE(landing->feed(view(number), value.data(), {4, {kBytes / 4}, {0}}));
  }
  std::uint32_t first(int number) {
    std::uint32_t out = 0;
    device->read(&out, memory.at(p, view(number)), 4);
    return out;
  }

  static constexpr std::int64_t kBytes = 1 << 17;
  std::shared_ptr<Device> device;
  std::shared_ptr<Placer> placer;
  program::Program p;
  Memory memory;
  std::unique_ptr<FeedStaging> landing;
};

TEST(CudaFeeds, LandBeforeTheNextRunAndNotEarlier) {
  Fed fed;
  fed.feed(0, 1);
  fed.landing->take_over();
  EXPECT_EQ(fed.first(0), 1u);
  for (std::uint32_t run = 2; run < 6; ++run) {
    fed.feed(0, run);
    fed.feed(2, 10 * run);
    EXPECT_EQ(fed.first(0), run - 1);
    fed.landing->take_over();
    EXPECT_EQ(fed.first(0), run);
    EXPECT_EQ(fed.first(2), 10 * run);
  }
  fed.feed(0, 7);
  fed.feed(0, 8);  // the last one counts
  fed.landing->take_over();
  fed.landing->take_over();
  EXPECT_EQ(fed.first(0), 8u);
  EXPECT_EQ(fed.landing->held_bytes(), 2 * 3 * Fed::kBytes);
}

TEST(CudaFeeds, OnlyFeedsOfSomeSizeAreTaken) {
  Fed fed;
  const std::uint32_t value = 1;
  EXPECT_FALSE(fed.landing->feed(Fed::view(1), &value, {4, {1}, {0}}));
  fed.p.feeds = {{"small", Fed::view(1)}};
  fed.landing->reserve(fed.p, fed.memory);
  EXPECT_FALSE(fed.landing->feed(Fed::view(1), &value, {4, {1}, {0}}));
}

const char* const kGraph = R"(
graph g(x: f32[64,512]) state(w: f32[64,512] = ones) {
  %y = add(x, w)      : f32[64,512]
  %z = mul(%y, %y)    : f32[64,512]
  next w = %y
  return %z
})";

Array filled(double value) {
  Array out(DType::f32, {64, 512});
  for (std::int64_t i = 0; i < out.count(); ++i) out.set(i, value);
  return out;
}

TEST(CudaFeeds, TheNextRunsFeedsDisturbNoResult) {
  const auto target = make_cuda_target(test::device_under_test(), nullptr, {});
  Executor executor(compile(ir::parse_graph(kGraph, "g"), *target, {.use_cache = false}).program,
                    target->open());
  EXPECT_GE(executor.code().held_bytes(), 2 * 4 * 64 * 512);
  executor.memory().zero_state("w");
  executor.set_feed("x", filled(1));
  double sum = 0;
  for (int run = 1; run < 5; ++run) {
    executor.run();
    executor.set_feed("x", filled(run + 1));  // of the next
    sum += run;
    const Array z = executor.fetch(executor.program().fetches[0].name);
    EXPECT_EQ(z.real(0), sum * sum);
    EXPECT_EQ(z.real(z.count() - 1), sum * sum);
  }
  EXPECT_EQ(executor.state("w").real(5), sum);
}

TEST(CudaFeeds, WhatDoesNotFitIsToldBeforeAnythingIsTaken) {
  if (test::tested_on_gpu()) GTEST_SKIP() << "its memory is what it is";
  const auto device = make_emulated_device(500'000);
  const auto target = make_cuda_target(device, nullptr, {});
  const program::Program program =
      compile(ir::parse_graph(kGraph, "g"), *target, {.use_cache = false}).program;
  try {
    const Executor executor(program, target->open());
    FAIL() << "it fits";
  } catch (const RunError& e) {
    EXPECT_TRUE(std::string(e.what()).starts_with("the program does not fit: it takes "))
        << e.what();
    EXPECT_NE(std::string(e.what()).find("500,000 (500.0 kB) free"), std::string::npos) << e.what();
  }
  EXPECT_EQ(device->free_bytes(), 500'000);
}

TEST(CudaFeeds, TheDevicesCountIsWhatWasPlanned) {
  if (test::tested_on_gpu()) GTEST_SKIP() << "a driver gives memory in pieces of its own size";
  const auto target = make_cuda_target(make_emulated_device(), nullptr, {});
  const Executor executor(
      compile(ir::parse_graph(kGraph, "g"), *target, {.use_cache = false}).program, target->open());
  EXPECT_EQ(executor.measured_bytes(), executor.program().peak_bytes());
}

}  // namespace
}  // namespace plait::cuda
