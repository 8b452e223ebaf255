// Running a program's calls on a device: step by step, on its streams, recorded.
#include "backends/cuda/code.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "backends/cuda/binding.h"
#include "backends/cuda/feed_staging.h"
#include "backends/cuda/stream_tuner.h"
#include "base/at.h"
#include "codegen/cuda/print.h"

namespace plait::cuda {
namespace {

constexpr int kStepStreams = 4;  // within a step

class CudaCode : public Code {
 public:
  CudaCode(std::shared_ptr<Device> device, std::shared_ptr<const Libraries> libraries,
           std::shared_ptr<Placer> placer, const program::Program& program)
      : program_(program),
        device_(std::move(device)),
        feed_staging_(device_, std::move(placer)),
        binding_(device_, std::move(libraries), program),
        waited_for_(program.steps.size(), false),
        signals_(program.steps.size(), 0) {
    for (const program::Step& step : program.steps) {
      streams_ = std::max(streams_, step.stream + 1);  // that are used: a fork costs a microsecond
      for (const program::StepId id : step.waits) waited_for_[id.index()] = true;
    }
    if (streams_asked() || streams_ == 1) tuner_.decide(StreamTuner::kStreams);
  }

  void bind(const DimBindings& sizes, const Memory& memory) override {
    for (Kept& kept : kept_) kept.recording.reset();
    warm_ = false;
    feed_staging_.reserve(program_, memory);
    tuner_.start_over();
    binding_.place(sizes, memory);
  }

  bool feed(program::ViewId view, const void* from, const HostLayout& layout) override {
    return feed_staging_.feed(view, from, layout);
  }
  std::int64_t held_bytes() const override {
    return binding_.held_bytes() + feed_staging_.held_bytes();
  }
  void constants_changed() override {}

  const char* run(std::size_t step) override {
    binding_.bind();
    feed_staging_.take_over();
    const std::vector<Act>& acts = binding_.acts(step);
    const int streams = std::min<int>(kStepStreams, static_cast<int>(acts.size()));
    if (streams > 1) device_->fork(streams);
    const char* error = nullptr;
    for (std::size_t i = 0; i < acts.size(); ++i) {
      if (streams > 1) device_->set_stream(static_cast<int>(i % at(streams)));
      const char* text = run(acts[i]);
      if (text) error = text;
    }
    if (streams > 1) device_->join();
    return error;
  }

  bool runs_beside() const override { return true; }
  bool run_whole(const char*& error) override {
    if (!code().is_single_kernel() && !device_->can_record()) return false;
    device_->forget_marks();
    error = run_recorded(1, false);
    return true;
  }
  bool is_settled() const override {
    return code().is_single_kernel() || !device_->can_record() || tuner_.decided();
  }
  bool has_whole() const override { return code().is_single_kernel() || device_->can_record(); }

  const char* wait(std::size_t& step) override {
    device_->wait();
    if (const char* text = std::exchange(refused_, nullptr)) {
      step = refused_step_;
      return text;
    }
    const std::vector<int>& flags = binding_.read_flags();
    for (std::size_t i = 0; i < flags.size(); ++i) {
      if (flags[i] == 0) continue;
      step = i;
      const bool index = flags[i] & codegen::cuda::kBadIndex;
      binding_.clear_flags();
      return index ? kIndexError : kDivisionError;
    }
    return nullptr;
  }

  bool run_timed(std::vector<double>& seconds) override {
    binding_.bind();
    feed_staging_.take_over();
    device_->forget_marks();
    std::vector<int> marks{device_->mark()};
    for (std::size_t i = 0; i < binding_.count(); ++i) {
      if (const char* error = run(i)) return refuse(error, i);
      marks.push_back(device_->mark());
    }
    device_->wait();
    seconds.clear();
    for (std::size_t i = 0; i < binding_.count(); ++i) {
      seconds.push_back(device_->seconds(marks[i], marks[i + 1]));
    }
    return true;
  }

  bool run_row(int runs, double* seconds, bool in_order) override {
    if (!code().is_single_kernel() && !device_->can_record()) return false;
    binding_.bind();
    feed_staging_.take_over();
    device_->forget_marks();
    const int begin = device_->mark();
    if (const char* error = run_recorded(runs, in_order)) return refuse(error, refused_step_);
    const int end = device_->mark();
    device_->wait();
    if (seconds) *seconds = device_->seconds(begin, end);
    return true;
  }

  double build_seconds() const override { return code().seconds(); }
  int built_from_cache() const override { return code().from_cache(); }
  int units() const override { return code().count(); }

 private:
  // --- running -------------------------------------------------------------------------------

  const char* run(const Act& act) {
    const LibraryRun& l = act.library;
    if (l.call) {
      const char* error = l.call->run(device_->stream(), l.operands);
      if (error) return error;
    }
    for (const Launch& launch : act.launches) {
      if (launch.blocks > 0) device_->launch(launch);
    }
    return nullptr;
  }

  /// `runs` runs as one launch or replay; the first ever is neither.
  const char* run_recorded(int runs, bool in_order) {
    binding_.bind();
    feed_staging_.take_over();
    if (code().is_single_kernel()) {
      binding_.single_kernel().words[0] = static_cast<Word>(runs);
      device_->launch(binding_.single_kernel());
      return nullptr;
    }
    if (!warm_) {  // libraries load their kernels with their first call, not while recording
      warm_ = true;
      return run_all(in_order);
    }
    if (!in_order && !tuner_.decided() && runs == 1) return replay_timed();
    const StreamTuner::Way usual = tuner_.decided() ? tuner_.way() : StreamTuner::kStreams;
    return replay(kept_[in_order ? StreamTuner::kInOrder : usual], runs);
  }

  /// Steps as they were recorded for one replay.
  struct Kept {
    std::unique_ptr<Recording> recording;
    int runs = 0;
  };

  const char* keep(Kept& kept, int runs) {
    if (kept.recording && kept.runs == runs) return nullptr;
    kept.recording.reset();
    device_->begin_recording();
    const char* error = nullptr;
    for (int i = 0; i < runs && !error; ++i)
      error = run_all(&kept == &kept_[StreamTuner::kInOrder]);
    kept.recording = device_->end_recording();
    kept.runs = runs;
    if (error) kept.recording.reset();
    return error;
  }

  const char* replay(Kept& kept, int runs) {
    if (const char* error = keep(kept, runs)) return error;
    device_->replay(*kept.recording);
    return nullptr;
  }

  /// One run, waited for: it tells which way the next ones go. The first replay of a recording also
  /// brings it to the device.
  const char* replay_timed() {
    Kept& kept = kept_[tuner_.way()];
    if (!kept.recording || kept.runs != 1) return replay(kept, 1);
    const int begin = device_->mark();
    device_->replay(*kept.recording);
    const int end = device_->mark();
    device_->wait();
    tuner_.took(device_->seconds(begin, end));
    if (tuner_.decided()) kept_[1 - tuner_.way()].recording.reset();
    return nullptr;
  }

  const char* run_all(bool in_order) {
    const int streams = in_order ? 1 : streams_;
    const char* error = nullptr;
    if (streams > 1) device_->fork(streams);
    for (std::size_t i = 0; i < binding_.count(); ++i) {
      const char* text = streams > 1 ? run_on_stream(i) : run(i);
      if (!text || error) continue;
      error = text;
      refused_step_ = i;
    }
    if (streams > 1) device_->join();
    return error;
  }

  const char* run_on_stream(std::size_t step) {
    device_->set_stream(program_.steps[step].stream);
    for (const program::StepId other : program_.steps[step].waits) {
      device_->await(signals_[other.index()]);
    }
    const char* error = nullptr;
    for (const Act& act : binding_.acts(step)) {
      const char* text = run(act);
      if (text) error = text;
    }
    if (waited_for_[step]) signals_[step] = device_->signal();
    return error;
  }

  /// What a library said to a call, for wait() to tell.
  bool refuse(const char* error, std::size_t step) {
    refused_ = error;
    refused_step_ = step;
    return true;
  }

  const Units& code() const { return binding_.units(); }

  const program::Program& program_;
  std::shared_ptr<Device> device_;
  FeedStaging feed_staging_;
  Binding binding_;
  bool warm_ = false;
  int streams_ = 1;
  const char* refused_ = nullptr;
  std::size_t refused_step_ = 0;
  std::vector<bool> waited_for_;  // by step: by one of another stream
  std::vector<int> signals_;      // by step, of those that are waited for
  StreamTuner tuner_;
  std::array<Kept, 2> kept_;  // by StreamTuner::Way
};

}  // namespace

std::unique_ptr<Code> load_code(std::shared_ptr<Device> device,
                                std::shared_ptr<const Libraries> libraries,
                                std::shared_ptr<Placer> placer, const program::Program& program) {
  if (libraries) expect_libraries(*libraries, program);
  return std::make_unique<CudaCode>(std::move(device), std::move(libraries), std::move(placer),
                                    program);
}

}  // namespace plait::cuda
