// C text to loaded code: the system's C compiler, run in parallel, behind a cache on disk. It knows
// nothing of kernels: a source is a whole translation unit.
#pragma once

#include "codegen/library.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"

namespace plait::codegen {

struct CompileOptions {
  /// Compilers at once; 0: as many as this process may use cpus.
  int jobs = 0;
  /// Appended to our own flags, separated by blanks; part of the cache key.
  std::string extra_flags;
  /// Called on the calling thread after each source that had to be compiled (those in the cache do
  /// not count in `total`).
  std::function<void(int done, int total, double seconds)> progress;
  /// Told, at most once a build, that the cache cannot be used and why (a full disk, a read-only
  /// folder, one that somebody else may write); the build goes on. Left empty, it goes to stderr,
  /// each reason once.
  std::function<void(const std::string& text)> note;
};

struct Built {
  std::vector<Library> libraries;  ///< one per source, in order; equal sources share one
  int from_cache = 0;              ///< sources that did not have to be compiled
  double seconds = 0;
};

/// A source that does not compile: ours is a Bug, one that a user wrote is the user's mistake.
struct CompileError : Bug {
  CompileError(const std::string& what, std::string first)
      : Bug(what), first_error(std::move(first)) {}
  std::string first_error;  // the compiler's line, with the place where the source is kept
};

/// Compiles C sources in parallel and loads them. Each comes from the cache when its content
/// (source, compiler's identity, flags, CPU) was compiled before. A source that does not compile is
/// a CompileError that shows the compiler's first lines and where the source is kept; no compiler,
/// a full disk or a killed compiler is a RunError.
Built build(const std::vector<std::string>& sources, const CompileOptions& options = {});

/// What decides the machine code besides source and flags, without paths: the compiler's name and
/// version, the arguments $CC gives it, and the CPU that -march=native means. Found once a process
/// (per value of $CC and $PATH).
std::string compiler_identity();
/// Whether it takes clang's flags rather than gcc's.
bool compiler_is_clang();

}  // namespace plait::codegen
