// One build: what the cache has is loaded, the rest is compiled by a few compilers at once, in the
// cache's folder or, where that cannot be written, in the next place that can.
#include "codegen/compile.h"

#include <signal.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <map>
#include <mutex>
#include <sstream>
#include <thread>

#include "base/cpus.h"
#include "base/error.h"
#include "codegen/cache.h"
#include "codegen/compiler.h"
#include "codegen/places.h"

namespace plait::codegen {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kFlags =
    "-O3 -march=native -std=c11 -ffp-contract=off -fno-math-errno -fno-trapping-math "
    "-fopenmp-simd -fPIC -shared -w";

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

int write_file(const std::string& path, const std::string& bytes) {
  std::FILE* file = std::fopen(path.c_str(), "wbe");
  if (file == nullptr) return errno;
  int error = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size() ? 0 : errno;
  if (std::fclose(file) != 0 && error == 0) error = errno;
  return error;
}

/// Why the failure is the disk's; empty when it is not.
std::string disk_trouble(const Outcome& outcome, const std::string& folder) {
  for (const char* text : {"No space left on device", "Disk quota exceeded", "File too large",
                           "Read-only file system"}) {
    if (outcome.output.find(text) != std::string::npos) return text;
  }
  if (outcome.signal == SIGXFSZ) return "File too large";
  struct statvfs disk {};
  const bool full = ::statvfs(folder.c_str(), &disk) == 0 && disk.f_bavail == 0;
  return full ? "No space left on device" : "";
}

std::string first_lines(const std::string& text) {
  std::istringstream in(text);
  std::string out;
  std::string line;
  for (int i = 0; i < 12 && std::getline(in, line); ++i) out += "\n  " + line.substr(0, 300);
  return out;
}

/// The line of the first error, of a source that is at `kept` now.
std::string first_error(const std::string& output, const std::string& source,
                        const std::string& kept) {
  const std::size_t error = output.find("error: ");
  const std::size_t newline = error == std::string::npos ? error : output.rfind('\n', error);
  const std::size_t begin = newline == std::string::npos ? 0 : newline + 1;
  std::string line = output.substr(begin, output.find('\n', begin) - begin).substr(0, 300);
  if (line.starts_with(source)) line.replace(0, source.size(), kept);
  return line;
}

/// Raises what a compiler that failed on our source means. The source stays at `kept`.
[[noreturn]] void raise_failure(const Outcome& outcome, const std::string& source,
                                const std::string& kept) {
  if (outcome.error != 0) {
    throw RunError(str("the C compiler cannot be started: ", std::strerror(outcome.error)));
  }
  const bool moved = std::rename(source.c_str(), kept.c_str()) == 0;
  const std::string where = moved ? "; the source is " + kept : "";
  if (outcome.signal != 0) {
    throw RunError(str("the C compiler was ended by signal ", outcome.signal, " (",
                       ::strsignal(outcome.signal), ")", where, ". Out of memory?",
                       first_lines(outcome.output)));
  }
  const std::string said =
      str("exit status ", outcome.status, where, ":", first_lines(outcome.output));
  const std::string name = std::filesystem::path(source).filename().string();
  if (outcome.output.find(name) == std::string::npos) {  // it never came to read our text
    throw RunError("the C compiler failed with " + said);
  }
  throw CompileError("generated C does not compile: " + said,
                     first_error(outcome.output, source, moved ? kept : source));
}

/// Empty when it is not there or cannot be loaded (it is not for this system): it is made again.
/// `refusal` is set where it is somebody else's.
Library from_cache(const std::string& folder, const std::string& name, std::string& refusal) {
  if (folder.empty()) return {};
  const cache::File entry = cache::open_entry(folder, name);
  if (!entry.refusal.empty()) refusal = entry.refusal;
  if (!entry) return {};
  try {
    return Library::load(entry.file, entry.bytes);
  } catch (const RunError&) {
    return {};
  }
}

struct Source {
  const std::string* text;
  std::string name;  // 32 digits
  Library library;
  std::exception_ptr error;
};

/// The sources of one build that the cache does not have, and the threads that wait for compilers.
class Batch {
 public:
  Batch(std::vector<Source*> sources, std::vector<std::string> command, std::string folder,
        Places& places)
      : sources_(std::move(sources)),
        command_(std::move(command)),
        folder_(std::move(folder)),
        places_(places) {}

  void run(int jobs, const std::function<void(int)>& progress) {
    std::vector<std::thread> threads;
    // Who computes is pinned; compilers, which run where their maker may, are not.
    add_free_threads(threads, static_cast<std::size_t>(jobs), [this] { work(); });
    if (threads.empty()) work();  // one after the other, here
    int shown = 0;
    const int total = static_cast<int>(sources_.size());
    std::exception_ptr thrown;
    while (shown < total) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return done_ > shown; });
      shown = done_;
      lock.unlock();
      try {
        if (progress && thrown == nullptr) progress(shown);
      } catch (...) {  // the caller wants to stop: so it does, once the compilers have
        thrown = std::current_exception();
        stop_ = true;
      }
    }
    for (std::thread& thread : threads) thread.join();
    if (thrown != nullptr) std::rethrow_exception(thrown);
  }

 private:
  void work() {
    for (std::size_t i = next_++; i < sources_.size(); i = next_++) {
      Source& source = *sources_[i];
      try {
        if (!stop_) source.library = compile(source);
      } catch (...) {
        source.error = std::current_exception();
        stop_ = true;
      }
      const std::lock_guard lock(mutex_);
      ++done_;
      changed_.notify_one();
    }
  }

  Library compile(const Source& source) {
    while (true) {
      const Place place = places_.current();
      const std::string base = place.folder + "/" + source.name;
      if (const int error = write_file(base + ".c", *source.text)) {
        places_.leave(place, std::strerror(error));
        continue;
      }
      std::vector<std::string> command = command_;
      command.insert(command.end(), {"-o", base + ".so", base + ".c", "-lm"});
      const Outcome outcome = run_program(command, place.folder);
      const cache::File made = place.work->open(source.name + ".so");
      if (outcome.ok() && made) return keep(source, place, made);
      const std::string trouble = disk_trouble(outcome, place.folder);
      if (trouble.empty()) {
        raise_failure(outcome, base + ".c", place.parent + "/" + source.name + ".c");
      }
      places_.leave(place, trouble);
    }
  }

  /// Into the cache if that is where we are, and loaded from there; else from where it is.
  Library keep(const Source& source, const Place& place, const cache::File& made) {
    if (place.parent == folder_) {
      const std::string name = source.name + ".so";
      const int error = cache::write_entry(folder_, name, made.bytes);
      std::string ignored;
      Library kept = error == 0 ? from_cache(folder_, name, ignored) : Library();
      if (kept) return kept;
      if (error != 0) places_.remember(place, std::strerror(error));
    }
    return Library::load(made.file, made.bytes);
  }

  std::vector<Source*> sources_;
  std::vector<std::string> command_;
  std::string folder_;
  Places& places_;
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  int done_ = 0;
};

void tell(const CompileOptions& options, const std::string& what, const std::string& why) {
  if (options.note) {
    options.note(what + ": " + why);
  } else {
    say_once(what, why);
  }
}

}  // namespace

Built build(const std::vector<std::string>& sources, const CompileOptions& options) {
  const Clock::time_point start = Clock::now();
  const Compiler compiler = find_compiler();
  const std::string flags = str(kFlags, " ", options.extra_flags);
  std::string folder;
  std::string why_no_cache;
  try {
    folder = cache_folder();
    why_no_cache = cache::refusal_of(folder);
    if (!why_no_cache.empty()) folder.clear();
  } catch (const RunError& e) {
    why_no_cache = e.what();
  }
  std::string refusal;  // of an entry
  std::map<std::string, Source> by_name;
  std::vector<Source*> of;  // per source: equal ones share
  std::vector<Source*> missing;
  Built built;
  for (const std::string& text : sources) {
    const std::string name = cache::content_name({text, compiler.identity, flags});
    const auto [at, fresh] = by_name.try_emplace(name, Source{&text, name, {}, nullptr});
    Source& source = at->second;
    of.push_back(&source);
    if (fresh) source.library = from_cache(folder, name + ".so", refusal);
    if (source.library) ++built.from_cache;
    if (fresh && !source.library) missing.push_back(&source);
  }
  if (!missing.empty()) {
    const int total = static_cast<int>(missing.size());
    const int cpus = static_cast<int>(process_cpus().size());
    std::vector<std::string> command = compiler.command;
    for (const std::string& flag : words(flags)) command.push_back(flag);
    Places places(folder, why_no_cache);
    Batch batch(missing, command, folder, places);
    batch.run(std::clamp(options.jobs > 0 ? options.jobs : cpus, 1, total), [&](int done) {
      if (options.progress) options.progress(done, total, seconds_since(start));
    });
    for (const Source* source : missing) {
      if (source->error != nullptr) std::rethrow_exception(source->error);
    }
    if (const std::string why = places.why_left(); !why.empty()) {
      tell(options, "the cache of compiled kernels is not used", why);
    } else if (!refusal.empty()) {
      tell(options, "a compiled kernel is not taken from the cache", refusal);
    }
    if (!folder.empty()) cache::sweep(folder);
  }
  for (const Source* source : of) built.libraries.push_back(source->library);
  built.seconds = seconds_since(start);
  return built;
}

}  // namespace plait::codegen
