// The device: one stream and those beside it, copies through pinned memory, launches of one
// parameter struct, recordings as CUDA graphs.
#include "backends/cuda/driver/driver_device.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <map>
#include <string_view>

#include "backends/cuda/driver/build.h"
#include "backends/cuda/driver/context.h"
#include "backends/cuda/driver/feed_stream.h"
#include "backends/cuda/driver/staging.h"
#include "backends/cuda/driver/tensor_maps.h"
#include "base/error.h"
#include "base/text.h"

namespace plait::cuda {
namespace {

constexpr int kStreams = 8;  // further ones share them
constexpr int kMostThreads = 1024;

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Whether kernels that wait themselves are launched before the one before them has ended.
bool launches_dependents() {
  static const bool programmatic = [] {
    const char* const given = std::getenv("PLAIT_CUDA_EARLY");
    const std::string_view text = given ? given : "";
    if (text != "" && text != "0" && text != "1") {
      fail("PLAIT_CUDA_EARLY is ", text, "; it is 0 or 1");
    }
    return text != "0";
  }();
  return programmatic;
}

CUdeviceptr address(const char* data) { return reinterpret_cast<CUdeviceptr>(data); }

class DriverDevice : public Device {
 public:
  explicit DriverDevice(const DriverOptions& options, Clock::time_point start = Clock::now())
      : context_(std::make_shared<Context>(
            driver(), options.device >= 0 ? options.device : chosen_device(driver()))),
        api_(context_->api()),
        nvrtc_(api_.version, context_->facts().architecture),
        progress_(options.progress),
        driver_seconds_(seconds_since(start)) {}

  ~DriverDevice() override {
    context_->enter();
    abandon_recording();
    for (CUstream stream : streams_) api_.stream_wait(stream);
    feeds_.reset();
    for (const std::vector<CUevent>& events : {marks_, joins_, signals_}) {
      for (CUevent event : events) api_.event_destroy(event);
    }
    for (CUstream stream : streams_) api_.stream_destroy(stream);
  }

  std::string identity() const override {
    return str("cuda ", context_->facts().name, " with ", multiprocessors(), " multiprocessors, ",
               nvrtc_.identity());
  }
  int multiprocessors() const override { return context_->facts().multiprocessors; }
  int most_block_bytes() const override { return context_->facts().most_block_bytes; }
  std::int64_t free_bytes() const override {
    context_->enter();
    std::size_t free = 0;
    std::size_t total = 0;
    context_->must(api_.memory_info(&free, &total), "ask for the GPU's free memory");
    return static_cast<std::int64_t>(free);
  }

  char* allocate(std::int64_t bytes, const std::string& what) override {
    check(!recording_, "memory for ", what, " is asked for in a recording");
    check(bytes >= 0, what, " has ", bytes, " bytes");
    context_->enter();
    CUdeviceptr out = 0;
    const auto size = static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1));
    const CUresult code = api_.memory_allocate(&out, size);
    if (code == CUDA_ERROR_OUT_OF_MEMORY) {
      throw RunError(str("the GPU has not enough memory for ", what, ": ", bytes_text(bytes),
                         " asked for, ", bytes_text(free_bytes()), " free of ",
                         bytes_text(context_->facts().total_bytes)));
    }
    context_->must(code, "allocate memory on the GPU");
    return reinterpret_cast<char*>(out);
  }
  void release(char* data) noexcept override {
    if (data == nullptr) return;
    context_->enter();
    api_.memory_free(address(data));
  }

  void write(char* to, const void* from, std::int64_t bytes) override {
    outside("a write");
    context_->must(staging().write(main(), address(to), static_cast<const char*>(from), bytes),
                   "copy to the GPU");
  }
  void read(void* to, const char* from, std::int64_t bytes) override {
    outside("a read");
    context_->must(staging().read(main(), static_cast<char*>(to), address(from), bytes),
                   "copy from the GPU");
  }
  void zero(char* to, std::int64_t bytes) override {
    if (bytes <= 0) return;
    context_->enter();
    context_->must(api_.set_bytes(address(to), 0, static_cast<std::size_t>(bytes), current()),
                   "clear memory on the GPU");
  }
  void copy(char* to, const char* from, std::int64_t bytes) override {
    outside("a copy");
    context_->must(
        api_.copy_within(address(to), address(from), static_cast<std::size_t>(bytes), main()),
        "copy on the GPU");
  }
  void feed(int slot, char* to, const void* from, std::int64_t bytes) override {
    outside("a feed");
    if (!feeds_) feeds_ = std::make_unique<FeedStream>(api_);
    context_->must(feeds_->write(slot, address(to), static_cast<const char*>(from), bytes),
                   "copy a feed to the GPU");
  }
  void take_feeds(int slot) override {
    outside("a wait for feeds");
    if (feeds_) context_->must(feeds_->take(slot, main()), "wait for feeds");
  }
  void feeds_taken(int slot) override {
    outside("a mark behind feeds");
    if (feeds_) context_->must(feeds_->taken(slot, main()), "mark the end of feeds");
  }
  void wait() override {
    outside("a wait");
    context_->must(api_.stream_wait(main()), "wait for the GPU");
  }

  Built compile(const std::vector<std::string>& texts) override;
  void launch(const Launch& launch) override;
  std::vector<Word> mapped(const Launch& launch) const override { return with_maps(api_, launch); }

  bool has_pairs() const override { return true; }
  bool can_record() const override { return true; }
  void begin_recording() override;
  std::unique_ptr<Recording> end_recording() override;
  void replay(const Recording& recording) override {
    outside("a replay");
    const auto& ours = dynamic_cast<const DriverRecording&>(recording);
    context_->must(api_.graph_launch(ours.handle(), main()), "run a recording");
  }

  void fork(int streams) override;
  void set_stream(int which) override {
    check(which >= 0 && which < forked_, "stream ", which, " of ", forked_);
    stream_ = which % kStreams;
  }
  void join() override;
  int signal() override;
  void await(int signal) override {
    context_->must(api_.stream_wait_event(current(), signals_[static_cast<std::size_t>(signal)], 0),
                   "wait for a stream");
  }

  int mark() override;
  double seconds(int from, int to) override;
  void forget_marks() override { marks_used_ = 0; }
  std::vector<std::pair<std::string, double>> start_seconds() const override {
    return {{"driver", driver_seconds_}, {"context", context_->seconds()}, {"code", code_seconds_}};
  }
  const Context& context() const { return *context_; }
  void* stream() const override {
    context_->enter();  // libraries take the context that is current
    return current();
  }

 private:
  CUstream main() const { return stream_at(0); }
  CUstream current() const { return stream_at(static_cast<std::size_t>(stream_)); }
  CUstream stream_at(std::size_t which) const {
    while (streams_.size() <= which) add_stream();
    return streams_[which];
  }
  Staging& staging() {
    if (!staging_) staging_ = std::make_unique<Staging>(api_);
    return *staging_;
  }
  /// What copies and waits must be: not recorded, not on a stream beside.
  void outside(const char* what) {
    check(!recording_, what, " in a recording");
    check(forked_ == 0, what, " between fork and join");
    context_->enter();
  }
  void add_stream() const;
  CUevent new_event(unsigned flags) const;
  void abandon_recording() noexcept;

  std::shared_ptr<Context> context_;
  const DriverApi& api_;
  Nvrtc nvrtc_;
  std::function<void(int, int, double)> progress_;
  double driver_seconds_ = 0, code_seconds_ = 0;
  // Made when they are first needed: starting waits for nothing.
  std::unique_ptr<Staging> staging_;
  std::unique_ptr<FeedStream> feeds_;
  mutable std::vector<CUstream> streams_;  // one per stream that was needed so far
  mutable std::vector<CUevent> joins_;     // one per stream; the first is that of forks
  int stream_ = 0, forked_ = 0;
  std::vector<CUevent> signals_;
  std::size_t signals_used_ = 0;
  bool recording_ = false;
  std::vector<CUevent> marks_;
  std::size_t marks_used_ = 0;
};

void DriverDevice::add_stream() const {
  CUstream stream = nullptr;
  context_->must(api_.stream_create(&stream, CU_STREAM_NON_BLOCKING), "create a stream");
  streams_.push_back(stream);
  joins_.push_back(new_event(CU_EVENT_DISABLE_TIMING));
}

CUevent DriverDevice::new_event(unsigned flags) const {
  CUevent event = nullptr;
  context_->must(api_.event_create(&event, flags), "create an event");
  return event;
}

Built DriverDevice::compile(const std::vector<std::string>& texts) {
  outside("compiling");
  std::map<std::string_view, std::size_t> index;
  std::vector<const std::string*> distinct;
  for (const std::string& text : texts) {
    if (index.emplace(text, distinct.size()).second) distinct.push_back(&text);
  }
  std::vector<std::shared_ptr<Module>> modules(distinct.size());
  BuildHooks hooks;
  hooks.progress = progress_;
  hooks.load = [&](std::size_t text, const std::string& code) {
    std::string why;
    modules[text] = DriverModule::load(context_, code, why);
    return why;
  };
  const BuildResult result = build_code(nvrtc_, distinct, hooks);
  Built out;
  for (const std::string& text : texts) out.modules.push_back(modules[index.at(text)]);
  out.from_cache = static_cast<int>(texts.size() - distinct.size()) + result.from_cache;
  out.seconds = result.seconds;
  code_seconds_ += result.seconds;
  return out;
}

void DriverDevice::launch(const Launch& launch) {
  if (launch.blocks == 0) return;
  check(launch.function != nullptr, "a launch of no kernel");
  const auto& function = *static_cast<const DriverFunction*>(launch.function);
  check(launch.blocks > 0 && launch.blocks <= std::numeric_limits<int>::max(), function.name,
        " is launched with ", launch.blocks, " blocks");
  check(launch.threads > 0 && launch.threads <= kMostThreads, function.name, " is launched with ",
        launch.threads, " threads");
  const std::vector<Word> mapped = launch.maps > 0 ? this->mapped(launch) : std::vector<Word>();
  const std::vector<Word>& words = launch.maps > 0 ? mapped : launch.words;
  const auto bytes = static_cast<int>(words.size() * sizeof(Word));
  check(function.parameter_bytes < 0 || function.parameter_bytes == bytes, function.name, " takes ",
        function.parameter_bytes, " bytes of parameters, is given ", bytes);
  context_->enter();
  if (launch.block_bytes > function.allowed_bytes) {
    check(launch.block_bytes + function.fixed_bytes <= most_block_bytes(), function.name,
          " asks for ", launch.block_bytes, " bytes of shared memory besides ",
          function.fixed_bytes, " of its own");
    context_->must(
        api_.function_set_attribute(
            function.handle, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, launch.block_bytes),
        "give a kernel shared memory");
    function.allowed_bytes = launch.block_bytes;
  }
  void* parameters[] = {const_cast<Word*>(words.data())};  // the driver only reads them
  CUlaunchAttribute programmatic{};
  programmatic.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  programmatic.value.programmaticStreamSerializationAllowed = 1;
  CUlaunchConfig config{};
  config.gridDimX = static_cast<unsigned>(launch.blocks);
  config.blockDimX = static_cast<unsigned>(launch.threads);
  config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  config.sharedMemBytes = static_cast<unsigned>(launch.block_bytes);
  config.hStream = current();
  config.attrs = &programmatic;
  config.numAttrs = launch.dependent && launches_dependents() ? 1 : 0;
  const CUresult code =
      api_.launch_kernel(&config, function.handle, words.empty() ? nullptr : parameters, nullptr);
  if (code != CUDA_SUCCESS) {
    context_->must(code, str("launch ", function.name, " (", launch.blocks, " blocks of ",
                             launch.threads, " threads, ", launch.block_bytes, " bytes)")
                             .c_str());
  }
}

void DriverDevice::begin_recording() {
  context_->enter();
  abandon_recording();
  check(forked_ == 0, "a recording begins between fork and join");
  stream_at(kStreams - 1);  // none is made in a recording
  context_->must(api_.capture_begin(main(), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
                 "begin a recording");
  recording_ = true;
}

std::unique_ptr<Recording> DriverDevice::end_recording() {
  check(recording_, "a recording ends that did not begin");
  check(forked_ == 0, "a recording ends between fork and join");
  context_->enter();
  recording_ = false;
  CUgraph graph = nullptr;
  context_->must(api_.capture_end(main(), &graph), "end a recording");
  return std::make_unique<DriverRecording>(context_, graph, main());
}

/// An exception came between begin and end: what was recorded is dropped.
void DriverDevice::abandon_recording() noexcept {
  if (!recording_) return;
  CUgraph graph = nullptr;
  if (api_.capture_end(main(), &graph) == CUDA_SUCCESS && graph) api_.graph_destroy(graph);
  recording_ = false;
  forked_ = 0;
  stream_ = 0;
}

void DriverDevice::fork(int streams) {
  check(forked_ == 0, "a fork inside a fork");
  check(streams >= 1, "a fork into ", streams, " streams");
  context_->enter();
  const auto used = static_cast<std::size_t>(std::min(streams, kStreams));
  stream_at(used - 1);
  if (used > 1) context_->must(api_.event_record(joins_[0], main(), 0), "fork streams");
  for (std::size_t i = 1; i < used; ++i) {
    context_->must(api_.stream_wait_event(streams_[i], joins_[0], 0), "fork streams");
  }
  forked_ = streams;
  stream_ = 0;
  signals_used_ = 0;
}

int DriverDevice::signal() {
  if (signals_used_ == signals_.size()) signals_.push_back(new_event(CU_EVENT_DISABLE_TIMING));
  context_->must(api_.event_record(signals_[signals_used_], current(), 0), "signal to streams");
  return static_cast<int>(signals_used_++);
}

void DriverDevice::join() {
  check(forked_ > 0, "a join without a fork");
  context_->enter();
  const auto used = static_cast<std::size_t>(std::min(forked_, kStreams));
  forked_ = 0;
  stream_ = 0;
  for (std::size_t i = 1; i < used; ++i) {
    context_->must(api_.event_record(joins_[i], streams_[i], 0), "join streams");
    context_->must(api_.stream_wait_event(main(), joins_[i], 0), "join streams");
  }
}

int DriverDevice::mark() {
  context_->enter();
  if (marks_used_ == marks_.size()) marks_.push_back(new_event(CU_EVENT_DEFAULT));
  // In a recording: part of every replay, and readable from outside.
  const unsigned flags = recording_ ? CU_EVENT_RECORD_EXTERNAL : CU_EVENT_RECORD_DEFAULT;
  context_->must(api_.event_record(marks_[marks_used_], current(), flags), "mark a time");
  return static_cast<int>(marks_used_++);
}

double DriverDevice::seconds(int from, int to) {
  outside("a time");
  const auto event = [this](int which) {
    check(which >= 0 && static_cast<std::size_t>(which) < marks_used_, "there is no mark ", which);
    return marks_[static_cast<std::size_t>(which)];
  };
  float milliseconds = 0;
  for (int which : {from, to}) context_->must(api_.event_wait(event(which)), "wait for the GPU");
  context_->must(api_.event_elapsed(&milliseconds, event(from), event(to)), "take a time");
  return milliseconds * 1e-3;
}

}  // namespace

std::shared_ptr<Device> make_driver_device(const DriverOptions& options) {
  return std::make_shared<DriverDevice>(options);
}

void enter_context(const Device& device) {
  dynamic_cast<const DriverDevice&>(device).context().enter();
}

void wait_for_context(const Device& device) {
  dynamic_cast<const DriverDevice&>(device).context().wait();
}

}  // namespace plait::cuda
