// Memory with fences, text through the C++ compiler, launches block by block.
#include "backends/cuda/emulate/emulated_device.h"

#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <new>
#include <optional>

#include "backends/cuda/emulate/emulation_text.h"
#include "backends/cuda/emulate/fiber.h"
#include "base/error.h"
#include "codegen/compile.h"

namespace plait::cuda {
namespace {

constexpr int kMostThreads = 1024, kMostWords = 4095, kMostBlockBytes = 227 << 10;
constexpr long kStackBytes = 128 << 10;
constexpr std::size_t kFence = 256;
constexpr unsigned char kUnset = 0xCD, kFenceByte = 0xFE;

/// As emulation.h has it.
struct Host {
  void* (*make)(char*, long, void (*)(void*), void*);
  void (*swap)(void**, void*);
  char* stacks;
  long stack_bytes;
  char* dynamic;
  long dynamic_bytes;
};
using RunLaunch = const char* (*)(const void*, const Word*, int, long, int, const Host*);

struct Kernel {
  std::string name;
  const void* address;
  RunLaunch run;
};

class EmulatedModule : public Module {
 public:
  explicit EmulatedModule(codegen::Library library) : library_(std::move(library)) {}
  const void* function(const std::string& name) const override {
    const auto [at, fresh] = kernels_.try_emplace(name);
    if (fresh) {
      const auto run = reinterpret_cast<RunLaunch>(library_.symbol("pl_launch"));
      at->second = {name, library_.symbol(name), run};
    }
    return &at->second;
  }

 private:
  codegen::Library library_;
  mutable std::map<std::string, Kernel> kernels_;
};

/// A launch, or zeros to be written where there is no function.
struct Action {
  Launch launch;
  char* to = nullptr;
  std::int64_t bytes = 0;
};

struct EmulatedRecording : Recording {
  std::vector<Action> actions;
};

struct Buffer {
  std::string what;
  std::size_t bytes = 0;
  unsigned char* data = nullptr;
  bool whole() const {
    for (std::size_t i = 1; i <= kFence; ++i) {
      if (data[-static_cast<std::ptrdiff_t>(i)] != kFenceByte) return false;
      if (data[bytes + i - 1] != kFenceByte) return false;
    }
    return true;
  }
};

/// Dynamic shared memory is declared by the text and given by the launch.
std::string without_dynamic(std::string text) {
  constexpr std::string_view kWord = "extern __shared__";
  for (std::size_t at = text.find(kWord); at != std::string::npos; at = text.find(kWord, at)) {
    const std::size_t end = text.find(';', at);
    check(end != std::string::npos, "an extern declaration without an end");
    text.erase(at, end + 1 - at);
  }
  return text;
}

/// A feed on its way.
struct Fed {
  char* to;
  std::vector<char> bytes;
};

class EmulatedDevice : public Device {
 public:
  explicit EmulatedDevice(std::int64_t memory_bytes)
      : memory_bytes_(memory_bytes),
        stacks_(kMostThreads, kStackBytes),
        dynamic_(kMostBlockBytes + 1024 + kFence) {
    const auto address = reinterpret_cast<std::uintptr_t>(dynamic_.data());
    dynamic_start_ = dynamic_.data() + (1024 - address % 1024);
  }
  ~EmulatedDevice() override {
    while (!buffers_.empty()) release(buffers_.begin()->first);
  }

  std::string identity() const override { return "emulated; " + codegen::compiler_identity(); }
  int multiprocessors() const override { return 8; }
  int most_block_bytes() const override { return kMostBlockBytes; }
  std::int64_t free_bytes() const override { return memory_bytes_ - allocated_; }

  char* allocate(std::int64_t bytes, const std::string& what) override {
    if (bytes < 0 || bytes > free_bytes()) {
      throw RunError(str("no memory on the device for ", what, ": ", bytes, " bytes asked for, ",
                         free_bytes(), " free"));
    }
    Buffer buffer{what, static_cast<std::size_t>(bytes), nullptr};
    void* data = ::operator new(buffer.bytes + 2 * kFence, std::align_val_t(kFence));
    buffer.data = static_cast<unsigned char*>(data) + kFence;
    std::memset(data, kFenceByte, buffer.bytes + 2 * kFence);
    std::memset(buffer.data, kUnset, buffer.bytes);
    allocated_ += bytes;
    char* out = reinterpret_cast<char*>(buffer.data);
    buffers_[out] = std::move(buffer);
    return out;
  }
  void release(char* data) noexcept override {
    const auto at = buffers_.find(data);
    if (at == buffers_.end()) return;
    const Buffer& buffer = at->second;
    if (!buffer.whole()) std::fprintf(stderr, "written beyond: %s\n", buffer.what.c_str());
    allocated_ -= static_cast<std::int64_t>(buffer.bytes);
    ::operator delete(buffer.data - kFence, std::align_val_t(kFence));
    buffers_.erase(at);
  }

  void write(char* to, const void* from, std::int64_t bytes) override {
    check(!recording_, "a write while launches are recorded");
    check(streams_ == 0, "a write between fork and join");
    if (bytes > 0) std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }
  void read(void* to, const char* from, std::int64_t bytes) override {
    check(!recording_, "a read while launches are recorded");
    check(streams_ == 0, "a read between fork and join");
    if (bytes > 0) std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }
  void zero(char* to, std::int64_t bytes) override { ask({{}, to, bytes}); }
  void copy(char* to, const char* from, std::int64_t bytes) override {
    check(!recording_ && streams_ == 0, "a copy in a recording, or between fork and join");
    if (bytes > 0) std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }

  /// As late as can be: who does not wait for a feed does not find it.
  void feed(int slot, char* to, const void* from, std::int64_t bytes) override {
    const auto* begin = static_cast<const char*>(from);
    fed_.at(static_cast<std::size_t>(slot)).push_back({to, {begin, begin + bytes}});
  }
  void take_feeds(int slot) override {
    for (const Fed& f : fed_.at(static_cast<std::size_t>(slot))) {
      std::memcpy(f.to, f.bytes.data(), f.bytes.size());
    }
  }
  void feeds_taken(int slot) override {
    std::vector<Fed>& fed = fed_.at(static_cast<std::size_t>(slot));
    for (const Fed& f : fed) std::memset(f.to, kUnset, f.bytes.size());
    fed.clear();
  }
  void wait() override { check_fences("a launch"); }

  Built compile(const std::vector<std::string>& texts) override;
  void launch(const Launch& launch) override { ask({launch}); }

  bool can_record() const override { return true; }
  void begin_recording() override {
    check(recording_ == nullptr, "a recording within a recording");
    recording_ = std::make_unique<EmulatedRecording>();
  }
  std::unique_ptr<Recording> end_recording() override {
    check(recording_ != nullptr && streams_ == 0, "no recording to end");
    return std::move(recording_);
  }
  void replay(const Recording& recording) override {
    check(recording_ == nullptr, "a replay while launches are recorded");
    for (const Action& action : dynamic_cast<const EmulatedRecording&>(recording).actions) {
      run(action);
    }
  }

  void fork(int streams) override {
    check(streams_ == 0 && streams > 0, "a fork within a fork");
    streams_ = streams;
    stream_ = 0;
    waiting_.assign(static_cast<std::size_t>(streams), {});
    signals_ = 0;
  }
  void set_stream(int which) override {
    check(which >= 0 && which < streams_, "stream ", which, " of ", streams_);
    stream_ = which;
  }
  void join() override {
    check(streams_ > 0, "a join without a fork");
    std::vector<std::deque<Queued>> waiting = std::move(waiting_);
    streams_ = stream_ = 0;
    std::vector<bool> given(static_cast<std::size_t>(signals_));
    for (std::size_t l = waiting.size(); l > 0;) {
      std::deque<Queued>& queue = waiting[l - 1];
      if (queue.empty() || (queue[0].await >= 0 && !given[static_cast<std::size_t>(queue[0].await)])) {
        --l;  // the next stream, until it gives a signal
        continue;
      }
      const Queued next = std::move(queue.front());
      queue.pop_front();
      if (next.action) ask(*next.action);
      if (next.signal < 0) continue;
      given[static_cast<std::size_t>(next.signal)] = true;
      l = waiting.size();
    }
    for (const std::deque<Queued>& queue : waiting)
      check(queue.empty(), "streams wait for each other");
  }
  int signal() override {
    check(streams_ > 0, "a signal outside of a fork into streams");
    waiting_[static_cast<std::size_t>(stream_)].push_back({{}, signals_, -1});
    return signals_++;
  }
  void await(int signal) override {
    check(streams_ > 0 && signal >= 0 && signal < signals_, "nobody gave signal ", signal);
    waiting_[static_cast<std::size_t>(stream_)].push_back({{}, -1, signal});
  }

  int mark() override {
    marks_.push_back(std::chrono::steady_clock::now());
    return static_cast<int>(marks_.size()) - 1;
  }
  double seconds(int from, int to) override {
    const auto time =
        marks_.at(static_cast<std::size_t>(to)) - marks_.at(static_cast<std::size_t>(from));
    return std::chrono::duration<double>(time).count();
  }
  void forget_marks() override { marks_.clear(); }
  void* stream() const override { return nullptr; }

 private:
  void ask(const Action& action) {
    if (streams_ > 0) {
      waiting_[static_cast<std::size_t>(stream_)].push_back({action, -1, -1});
    } else if (recording_ != nullptr) {
      recording_->actions.push_back(action);
    } else {
      run(action);
    }
  }
  void run(const Action& action);
  void check_fences(const std::string& who) const {
    for (const auto& [data, buffer] : buffers_) {
      check(buffer.whole(), who, " wrote beyond the buffer \"", buffer.what, "\" of ", buffer.bytes,
            " bytes");
    }
  }

  std::int64_t memory_bytes_;
  Stacks stacks_;
  std::vector<char> dynamic_;
  char* dynamic_start_ = nullptr;
  std::map<char*, Buffer> buffers_;
  std::int64_t allocated_ = 0;
  std::array<std::vector<Fed>, 2> fed_;  // by slot
  std::unique_ptr<EmulatedRecording> recording_;
  int streams_ = 0, stream_ = 0;
  /// What a stream does, gives or waits for.
  struct Queued {
    std::optional<Action> action;
    int signal = -1, await = -1;
  };
  std::vector<std::deque<Queued>> waiting_;  // by stream, until they join
  int signals_ = 0;
  std::vector<std::chrono::steady_clock::time_point> marks_;
};

Built EmulatedDevice::compile(const std::vector<std::string>& texts) {
  std::vector<std::string> sources;
  for (const std::string& text : texts) {
    sources.push_back(str(codegen::emulation_text(), without_dynamic(text)));
  }
  codegen::CompileOptions options;
  options.extra_flags =
      "-x c++ -std=c++17 -Og -fno-exceptions -fno-rtti -fno-threadsafe-statics "
      "-fno-strict-aliasing";
  codegen::Built libraries = codegen::build(sources, options);
  Built built;
  built.from_cache = libraries.from_cache;
  built.seconds = libraries.seconds;
  for (codegen::Library& library : libraries.libraries) {
    built.modules.push_back(std::make_shared<EmulatedModule>(std::move(library)));
  }
  return built;
}

void EmulatedDevice::run(const Action& action) {
  const Launch& launch = action.launch;
  if (launch.function == nullptr) {
    if (action.bytes > 0) std::memset(action.to, 0, static_cast<std::size_t>(action.bytes));
    return;
  }
  const Kernel& kernel = *static_cast<const Kernel*>(launch.function);
  check(launch.blocks >= 0 && launch.blocks < (std::int64_t{1} << 31), kernel.name, ": ",
        launch.blocks, " blocks");
  check(launch.threads > 0 && launch.threads <= kMostThreads, kernel.name, ": ", launch.threads,
        " threads");
  check(launch.block_bytes >= 0 && launch.block_bytes <= kMostBlockBytes, kernel.name, ": ",
        launch.block_bytes, " bytes of shared memory");
  check(launch.words.size() <= kMostWords, kernel.name, ": ", launch.words.size(), " words");
  if (launch.blocks == 0) return;
  Word unset = 0;
  std::memset(&unset, kUnset, sizeof unset);
  std::vector<Word> words = launch.words;
  words.resize(kMostWords + 1, unset);
  std::memset(dynamic_start_ + launch.block_bytes, kFenceByte, kFence);
  const Host host{make_fiber,  swap_fibers,    stacks_.data(),
                  kStackBytes, dynamic_start_, launch.block_bytes};
  static std::mutex mutex;  // static shared memory is one per library
  const std::lock_guard lock(mutex);
  const char* error =
      kernel.run(kernel.address, words.data(), static_cast<int>(launch.words.size()), launch.blocks,
                 launch.threads, &host);
  check(error == nullptr, "kernel ", kernel.name, ": ", error != nullptr ? error : "");
  for (std::size_t i = 0; i < kFence; ++i) {
    const char byte = dynamic_start_[static_cast<std::size_t>(launch.block_bytes) + i];
    check(static_cast<unsigned char>(byte) == kFenceByte, "kernel ", kernel.name,
          " wrote beyond its ", launch.block_bytes, " bytes of shared memory");
  }
  check_fences("kernel " + kernel.name);
}

}  // namespace

std::shared_ptr<Device> make_emulated_device(std::int64_t memory_bytes) {
  return std::make_shared<EmulatedDevice>(memory_bytes);
}

}  // namespace plait::cuda
