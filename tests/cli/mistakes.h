// Mistakes that anybody makes at the command line, each with what the program must say to it.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "tests/temporary.h"

namespace plait::test {

/// `plait WORDS` in the test's folder must end with this exit code, and say this on standard error.
struct Mistake {
  std::string words;
  int code;
  std::string says;
};

enum class User { kAnybody, kNobody };  // nobody: one to whom permissions and limits apply

/// A folder with a graph (g), an array for it (x.npy), a text (book), and what is no file: fifo,
/// loop (a link to itself).
class Mistakes : public ::testing::Test {
 protected:
  Mistakes();
  void write(const std::string& name, std::initializer_list<std::string_view> parts);
  /// Trains what is said, into the folder `name`.
  void train(const std::string& name, const std::string& words);
  /// A copy of a run.
  void copy(const std::string& from, const std::string& to);

  /// Each within a time limit; `starter` is a command that starts the program, `env A=B`.
  void expect(const std::vector<Mistake>& mistakes, User user = User::kAnybody,
              const std::string& starter = "") const;

  TemporaryFolder folder;
};

/// Small runs for train(): of made-up numbers, and of the text.
inline constexpr const char* kSmallMlp =
    "preset:mlp width=4 batch=8 steps=4 samples=100 eval.every=2 threads=1";
inline constexpr const char* kSmallText =
    "preset:rwkv4-small layers=1 width=8 context=8 batch=1 steps=2 eval.every=0 sample.length=0 "
    "threads=1 data.path=book";

/// Brackets within each other, closed again.
std::string nested(std::size_t depth);

/// A safetensors file with this header.
std::string safetensors(const std::string& header);

}  // namespace plait::test
