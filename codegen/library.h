// A loaded shared object. Where it came from (cache, work folder, memory) is over once it is open.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "codegen/trusted.h"

namespace plait::codegen {

/// A loaded shared object; closed when the last copy goes.
class Library {
 public:
  /// Empty: symbol() is a Bug.
  Library() = default;

  /// Loads an open file, whatever its name means by now; `bytes` is what it holds. Where it cannot
  /// be mapped (a folder mounted noexec), a copy in memory. RunError with the loader's reason when
  /// neither can be had.
  static Library load(const Descriptor& file, std::string_view bytes);

  /// The address of a function or variable; a Bug when the library has no such name.
  void* symbol(const std::string& name) const;

  explicit operator bool() const { return loaded_ != nullptr; }

 private:
  struct Loaded;
  std::shared_ptr<Loaded> loaded_;
};

}  // namespace plait::codegen
