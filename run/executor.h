// A program in memory, ready to run: states, arena and workspace allocated once, code loaded. A run
// allocates nothing.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>

#include "base/array.h"
#include "plan/program.h"

namespace plait {

/// Anonymous memory, page-aligned; pages are present once they were touched.
class Region {
 public:
  Region() = default;
  /// RunError that says how much was asked for when the system has no more.
  explicit Region(std::int64_t bytes, const std::string& what);
  ~Region();
  Region(Region&& other) noexcept;
  Region& operator=(Region&& other) noexcept;
  char* data() const { return data_; }
  std::int64_t bytes() const { return bytes_; }
  /// Bytes of it that are in memory now, by pages.
  std::int64_t resident_bytes() const;

 private:
  char* data_ = nullptr;
  std::int64_t bytes_ = 0;
};

class Executor {
 public:
  Executor(plan::Program program, const Target& target);

  /// Sizes of the program's symbols, from the shapes of its feeds. UserError when one is missing,
  /// out of its range, or two feeds disagree.
  void set_sizes(const DimBindings& sizes);
  DimBindings sizes_from(const std::map<std::string, Array>& feeds) const;
  const DimBindings& sizes() const { return sizes_; }

  void set_feed(const std::string& name, const Array& value);
  void set_state(const std::string& name, const Array& value);
  Array state(const std::string& name) const;
  Array fetch(const std::string& name) const;
  /// What a held value's buffer holds at this moment; steps write over each other's.
  Array value(int held) const { return take(held); }

  /// One step of the program. RunError names the kernel and what went wrong.
  void run();
  /// The same, kernel by kernel: before(i) and after(i) stand round each.
  template <class Before, class After>
  void run_steps(Before before, After after) {
    for (std::size_t i = 0; i < program_.steps.size(); ++i) {
      before(i);
      const char* error = code_->run(i);
      after(i);
      if (error) raise(i, error);
    }
  }

  const plan::Program& program() const { return program_; }
  const Code& code() const { return *code_; }
  double load_seconds() const { return load_seconds_; }
  const Region& arena() const { return arena_; }

 private:
  [[noreturn]] void raise(std::size_t step, const char* error) const;
  char* address(int buffer) const;
  int held_state(const std::string& name) const;
  void put(int held, const Array& value);
  /// Whether code holds a packed copy of it.
  bool is_packed(int held) const;
  Array take(int held) const;

  plan::Program program_;
  Region states_, arena_, scratch_;
  std::unique_ptr<Code> code_;
  DimBindings sizes_;
  double load_seconds_ = 0;
};

}  // namespace plait
