// One build: the cache first, then threads that compile while this one loads what they finish.
#include "backends/cuda/driver/build.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <sstream>
#include <thread>

#include "base/error.h"
#include "codegen/cache.h"

namespace plait::cuda {
namespace {

using Clock = std::chrono::steady_clock;
using codegen::cache::content_name;

constexpr const char* kKind = "cubin";

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// An entry's key is the first half of its content's name; the whole name stands before the code.
std::uint64_t key_of(const std::string& name) {
  return std::stoull(name.substr(0, 16), nullptr, 16);
}

std::optional<std::string> cached(const std::string& name) {
  std::optional<std::string> entry = codegen::cache::load(kKind, key_of(name));
  if (!entry || !entry->starts_with(name)) return std::nullopt;
  return entry->substr(name.size());
}

std::string first_lines(const std::string& text) {
  std::istringstream in(text);
  std::string out;
  std::string line;
  for (int i = 0; i < 12 && std::getline(in, line); ++i) out += "\n  " + line.substr(0, 300);
  return out;
}

[[noreturn]] void raise_failure(const std::string& text, const std::string& name,
                                const std::string& log) {
  const std::string path = codegen::cache::keep_text(name + ".c", text);
  const std::string where = path.empty() ? "" : "; the text is " + path;
  throw Bug(str("generated CUDA C++ does not compile", where, ":", first_lines(log)));
}

/// Texts that wait for a compiler, and results that wait to be loaded.
class Batch {
 public:
  struct Done {
    std::size_t text;
    Compiled result;
    std::exception_ptr error;
  };

  Batch(const Nvrtc& nvrtc, const std::vector<const std::string*>& texts,
        std::vector<std::size_t> todo)
      : nvrtc_(nvrtc), texts_(texts), todo_(todo.begin(), todo.end()) {
    const std::size_t cpus = std::max(1u, std::thread::hardware_concurrency());
    const std::size_t threads = std::min(cpus, todo.size());
    try {
      for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
    } catch (const std::system_error&) {
      if (threads_.empty()) work();  // no thread to be had: one after the other, here
    }
  }
  ~Batch() {
    {
      const std::lock_guard lock(mutex_);
      todo_.clear();
    }
    for (std::thread& thread : threads_) thread.join();
  }
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  Done next() {
    std::unique_lock lock(mutex_);
    ready_.wait(lock, [this] { return !done_.empty(); });
    Done out = std::move(done_.front());
    done_.pop_front();
    return out;
  }

 private:
  void work() {
    for (;;) {
      Done done{};
      {
        const std::lock_guard lock(mutex_);
        if (todo_.empty()) return;
        done.text = todo_.front();
        todo_.pop_front();
      }
      try {
        done.result = nvrtc_.compile(*texts_[done.text]);
      } catch (...) {
        done.error = std::current_exception();
      }
      const std::lock_guard lock(mutex_);
      done_.push_back(std::move(done));
      ready_.notify_one();
    }
  }

  const Nvrtc& nvrtc_;
  const std::vector<const std::string*>& texts_;
  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<std::size_t> todo_;
  std::deque<Done> done_;
  std::vector<std::thread> threads_;
};

}  // namespace

BuildResult build_code(const Nvrtc& nvrtc, const std::vector<const std::string*>& texts,
                       const BuildHooks& hooks) {
  const Clock::time_point start = Clock::now();
  BuildResult out;
  std::vector<std::string> names;
  std::vector<std::size_t> todo;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    names.push_back(content_name({*texts[i], nvrtc.identity()}));
    const std::optional<std::string> code = cached(names[i]);
    if (code && hooks.load(i, *code).empty()) {
      ++out.from_cache;
    } else {
      todo.push_back(i);
    }
  }
  const int total = static_cast<int>(todo.size());
  if (total > 0) {
    // The longest first: the others fill the gaps behind them.
    std::stable_sort(todo.begin(), todo.end(), [&](std::size_t a, std::size_t b) {
      return texts[a]->size() > texts[b]->size();
    });
    Batch batch(nvrtc, texts, todo);
    for (int done = 1; done <= total; ++done) {
      const Batch::Done one = batch.next();
      if (one.error) std::rethrow_exception(one.error);
      const std::string& name = names[one.text];
      if (one.result.code.empty()) raise_failure(*texts[one.text], name, one.result.log);
      if (const std::string why = hooks.load(one.text, one.result.code); !why.empty()) {
        throw RunError(str("the driver does not take code of NVRTC ", nvrtc.version(), ": ", why));
      }
      codegen::cache::store(kKind, key_of(name), name + one.result.code);
      if (hooks.progress) hooks.progress(done, total, seconds_since(start));
    }
  }
  out.seconds = seconds_since(start);
  return out;
}

}  // namespace plait::cuda
