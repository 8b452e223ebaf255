// Bytes that come one by one, as text: what is passed on is always whole UTF-8.
#pragma once

#include <string>
#include <string_view>

namespace plait::train {

class Utf8Stream {
 public:
  /// The characters that are whole now. What may become one is held back; a byte that cannot be
  /// part of one is U+FFFD.
  std::string add(std::string_view bytes);
  /// What is still held back, as U+FFFD; the stream begins anew.
  std::string finish();

 private:
  std::string held_;  // the beginning of a character, at most 3 bytes
};

}  // namespace plait::train
