// Whose a file is. What is cached is loaded and run: a file or folder that anybody but the user and
// root can change is not used. An open descriptor is looked at, and what is read or loaded comes
// from that descriptor, so that nobody can put another file in between.
#pragma once

#include <unistd.h>

#include <string>
#include <utility>

namespace plait::codegen {

/// An open file or folder; closed at the end.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() { reset(); }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    reset(std::exchange(other.number_, -1));
    return *this;
  }
  explicit operator bool() const { return number_ >= 0; }
  int number() const { return number_; }
  void reset(int number = -1) {
    if (number_ >= 0) ::close(number_);
    number_ = number;
  }

 private:
  int number_ = -1;
};

/// Who else may change an open file or folder, and how to mend that: "belongs to user 1000 (ann)".
/// Empty: the user and root alone may.
std::string others_may_write(const Descriptor& file);

/// The same of a folder in which we make a folder of our own: others may have theirs beside it
/// where it is sticky, as /tmp is.
std::string others_may_replace(const Descriptor& folder);

/// One line on stderr, once a process for each reason.
void say_once(const std::string& what, const std::string& reason);

}  // namespace plait::codegen
