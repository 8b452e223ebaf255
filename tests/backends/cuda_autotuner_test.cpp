// Who runs a contraction, on a device with a clock of its own and libraries that do as they are
// told: slow ones, ones that fail, ones that want more memory than there is.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <functional>
#include <map>

#include "backends/cuda/target.h"
#include "base/error.h"
#include "tests/temporary.h"

namespace plait::cuda {
namespace {

constexpr double kMicro = 1e-6;

/// Launches take a time that the test says; nothing is computed.
class ClockDevice : public Device {
 public:
  double clock = 0, launch_seconds = 100 * kMicro;
  std::int64_t memory = std::int64_t{1} << 30;
  bool recording = false;

  std::string identity() const override { return "a clock"; }
  int multiprocessors() const override { return 132; }
  int most_block_bytes() const override { return 227 << 10; }
  std::int64_t free_bytes() const override { return memory; }
  char* allocate(std::int64_t bytes, const std::string& what) override {
    if (recording) throw Bug("memory in a recording");
    if (bytes > memory) throw RunError("no memory for " + what);
    return new char[static_cast<std::size_t>(bytes) + 1];
  }
  void release(char* data) noexcept override { delete[] data; }
  void write(char*, const void*, std::int64_t) override {}
  void read(void*, const char*, std::int64_t) override {}
  void zero(char*, std::int64_t) override {}
  void copy(char*, const char*, std::int64_t) override {}
  void feed(int, char*, const void*, std::int64_t) override {}
  void take_feeds(int) override {}
  void feeds_taken(int) override {}
  void wait() override {}
  Built compile(const std::vector<std::string>& texts) override {
    struct Nothing : Module {
      const void* function(const std::string&) const override { return this; }
    };
    return {{texts.size(), std::make_shared<Nothing>()}, 0, 0};
  }
  void launch(const Launch&) override { pass(launch_seconds); }
  bool can_record() const override { return true; }
  void begin_recording() override {
    check(!recording, "a recording in a recording");
    recording = true;
    recorded_ = 0;
  }
  std::unique_ptr<Recording> end_recording() override {
    check(recording, "no recording");
    recording = false;
    auto out = std::make_unique<Recorded>();
    out->seconds = recorded_;
    return out;
  }
  void replay(const Recording& recording) override {
    pass(dynamic_cast<const Recorded&>(recording).seconds);
  }
  void fork(int) override {}
  void set_stream(int) override {}
  void join() override {}
  int signal() override { return 0; }
  void await(int) override {}
  int mark() override {
    marks_.push_back(clock);
    return static_cast<int>(marks_.size()) - 1;
  }
  double seconds(int from, int to) override {
    return marks_.at(static_cast<std::size_t>(to)) - marks_.at(static_cast<std::size_t>(from));
  }
  void forget_marks() override { marks_.clear(); }
  void* stream() const override { return nullptr; }

  void pass(double seconds) { (recording ? recorded_ : clock) += seconds; }

 private:
  struct Recorded : Recording {
    double seconds = 0;
  };
  double recorded_ = 0;
  std::vector<double> marks_;
};

/// What a library's calls do.
struct Manners {
  double seconds = 20 * kMicro;        // of the first guess
  double tuned_seconds = 15 * kMicro;  // of the best algorithm
  bool tunes = true, runs = true, can_be_recorded = true;
  int asked = 0;  // runs so far
};

class PlayedCall : public LibraryCall {
 public:
  PlayedCall(ClockDevice& device, Manners& manners, bool tuned)
      : device_(device), manners_(manners), named_(tuned), tuned_(tuned) {}
  std::string id() const override { return tuned_ ? "lt.tuned" : "lt.guess"; }
  /// A library says less of what it is asked for by name.
  std::int64_t workspace_bytes() const override { return tuned_ && !named_ ? 512 : 256; }
  const char* run(void*, const LibraryOperands&) const override {
    ++manners_.asked;
    if (!manners_.runs) return "an internal error";
    if (device_.recording && !manners_.can_be_recorded) return "it allocates";
    device_.pass(tuned_ ? manners_.tuned_seconds : manners_.seconds);
    return nullptr;
  }
  std::int64_t tune_bytes() const override { return 256; }
  double tune(void*, const LibraryOperands&, int) override {
    if (!manners_.tunes) throw RunError("none of its engines runs:\nit wants 53738640 bytes");
    tuned_ = true;
    return manners_.tuned_seconds;
  }

 private:
  ClockDevice& device_;
  Manners& manners_;
  bool named_, tuned_;
};

class PlayedLibraries : public Libraries {
 public:
  PlayedLibraries(ClockDevice& device, Manners& manners) : device_(device), manners_(manners) {}
  std::string identity() const override { return "played"; }
  std::unique_ptr<LibraryCall> make(const loop::BoundContraction&, DType, const LibraryEpilogue&,
                                    const std::string& variant, bool, std::string&) const override {
    return std::make_unique<PlayedCall>(device_, manners_, variant == "lt.tuned");
  }
  std::shared_ptr<const Libraries> with(bool) const override {
    return std::make_shared<PlayedLibraries>(device_, manners_);
  }

 private:
  ClockDevice& device_;
  Manners& manners_;
};

class CudaAutotuner : public testing::Test {
 protected:
  void SetUp() override { ::setenv("PLAIT_CACHE", cache_.path().c_str(), 1); }

  /// Of a product of 2 us at most: 512 x 512 x 512.
  Choice chosen(bool measure, std::int64_t m = 512, std::int64_t n = 512, std::int64_t k = 512) {
    loop::Contraction c;
    c.dtype = DType::bf16;
    c.m = {{.extent = m, .a = k, .c = n}};
    c.n = {{.extent = n, .b = k, .c = 1}};
    c.k = {{.extent = k, .a = 1, .b = 1}};
    const auto target =
        make_cuda_target(device_, std::make_shared<PlayedLibraries>(*device_, manners_), {});
    tuning_.measure = measure;
    return target->choose(c, nullptr, false, {}, {}, tuning_);
  }

  test::TemporaryFolder cache_;
  std::shared_ptr<ClockDevice> device_ = std::make_shared<ClockDevice>();
  Manners manners_;
  Tuning tuning_;
};

bool says(const Choice& choice, const std::string& what) {
  return choice.why.find(what) != std::string::npos;
}

TEST_F(CudaAutotuner, TheFastestIsTaken) {
  const Choice choice = chosen(true);
  EXPECT_EQ(choice.kernel, "lt.tuned") << choice.why;
  manners_.tuned_seconds = 1e-3;
  EXPECT_EQ(chosen(true).kernel, "lt.tuned") << "what was measured is kept";
}

TEST_F(CudaAutotuner, ALibraryWithoutAnEngineIsACandidateLess) {
  manners_.tunes = false;
  const Choice choice = chosen(true);
  EXPECT_TRUE(choice.generated);
  EXPECT_FALSE(choice.variant.empty());
  EXPECT_TRUE(says(choice, "the library fails: none of its engines runs: it wants 53738640 bytes"))
      << choice.why;
  EXPECT_EQ(chosen(true).variant, choice.variant) << "as it is kept";
}

TEST_F(CudaAutotuner, WhatCannotBeRecordedIsACandidateLess) {
  manners_.can_be_recorded = false;
  const Choice choice = chosen(true);
  EXPECT_TRUE(choice.generated) << choice.why;
  EXPECT_FALSE(device_->recording);
}

TEST_F(CudaAutotuner, WithoutMemoryToMeasureTheGuessStands) {
  device_->memory = 1000;
  for (const bool measure : {false, true}) {
    const Choice choice = chosen(measure);
    EXPECT_EQ(choice.kernel, "lt.guess") << choice.why;
  }
  device_->memory = 1 << 30;
  EXPECT_EQ(chosen(true).kernel, "lt.tuned") << "what could not be measured is not kept";
}

/// Of the planning that is repeated: what was measured, and what could not be.
TEST_F(CudaAutotuner, GivenResultsAreTaken) {
  manners_.tunes = false;
  const Choice own = chosen(true);
  ASSERT_EQ(tuning_.used.size(), 1u);
  manners_.tunes = true;
  const auto repeated = [&](Tuning tuning) {
    const test::TemporaryFolder empty;
    ::setenv("PLAIT_CACHE", empty.path().c_str(), 1);
    tuning_ = {.measure = false, .given = std::move(tuning.used)};
    return chosen(tuning.measure);
  };
  const Tuning measured = tuning_;
  EXPECT_EQ(repeated(measured).variant, own.variant);
  EXPECT_EQ(tuning_.used, measured.used);
  const test::TemporaryFolder cold;
  ::setenv("PLAIT_CACHE", cold.path().c_str(), 1);
  tuning_ = {};
  const Choice library = chosen(true);
  EXPECT_EQ(library.kernel, "lt.tuned");
  EXPECT_EQ(repeated(tuning_).shared_bytes, library.shared_bytes);
  Tuning changed = measured;
  changed.used.begin()->second = "own\n999x999x999.wg.s9.k9\nno such variant";
  EXPECT_EQ(repeated(changed).kernel, "lt.tuned") << "measured anew";
  EXPECT_NE(tuning_.used, changed.used);
  for (const bool measure : {false, true}) {
    device_->memory = 1000;
    const Choice guess = repeated({.measure = measure});
    const Tuning without = tuning_;
    ASSERT_EQ(without.used.size(), 1u);
    device_->memory = 1 << 30;
    manners_.seconds = 5e-3;
    EXPECT_EQ(repeated(without).kernel, guess.kernel) << "though there is memory now";
    EXPECT_EQ(tuning_.used, without.used);
  }
}

/// One picture's classifier: our first guess has no tiles.
TEST_F(CudaAutotuner, AProductOfOneRowIsMeasured) {
  EXPECT_EQ(chosen(true, 1, 1000, 2048).kernel, "lt.tuned");
}

TEST_F(CudaAutotuner, AGoodGuessIsTakenAndRunOnce) {
  const Choice choice = chosen(false);
  EXPECT_EQ(choice.kernel, "lt.guess");
  EXPECT_EQ(choice.why, "the library's first guess");
  const int asked = manners_.asked;
  EXPECT_GT(asked, 0);
  EXPECT_EQ(chosen(false).kernel, "lt.guess");
  EXPECT_EQ(manners_.asked, asked) << "once";
}

TEST_F(CudaAutotuner, AGuessFarBelowItsCeilingIsTriedAgainstOthers) {
  manners_.seconds = 5e-3;
  const Choice choice = chosen(false);
  EXPECT_EQ(choice.kernel, "lt.tuned");
  EXPECT_TRUE(says(choice, "the library's first guess, lt.guess 5000.00 us, is far below its"))
      << choice.why;
  const int asked = manners_.asked;
  manners_.seconds = manners_.tuned_seconds = 30 * kMicro;
  EXPECT_EQ(chosen(false).kernel, "lt.tuned") << "as it is kept";
  EXPECT_EQ(manners_.asked, asked);
}

/// Slow, but less than 5 times its ceiling, of 1.4 ms; or more, but below 50 us.
TEST_F(CudaAutotuner, WhatIsNotFarBelowIsNotMeasured) {
  manners_.seconds = 6e-3;
  EXPECT_EQ(chosen(false, 8192, 8192, 8192).kernel, "lt.guess");
  manners_.seconds = 45 * kMicro;
  EXPECT_EQ(chosen(false).kernel, "lt.guess");
}

TEST_F(CudaAutotuner, AGuessThatDoesNotRunIsTriedAgainstOthers) {
  manners_.runs = manners_.tunes = false;
  const Choice choice = chosen(false);
  EXPECT_TRUE(choice.generated);
  EXPECT_TRUE(says(choice, "lt.guess, does not run: an internal error")) << choice.why;
}

}  // namespace
}  // namespace plait::cuda
