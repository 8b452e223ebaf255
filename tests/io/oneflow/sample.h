// The samples of this format.
#pragma once

#include <string>

#include "io/file.h"
#include "io/oneflow/format.h"

namespace plait::io::oneflow {

inline std::string sample_text(const std::string& name) {
  return read_file("tests/samples/oneflow/" + name);
}

inline Record record_of(std::string_view text, const std::string& name = "log") {
  Lines lines(text, name);
  return read(lines);
}

inline Record sample(const std::string& name) { return record_of(sample_text(name), name); }

/// `text` with the first `from` replaced.
inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  return at == std::string::npos ? "nothing to replace: " + from
                                 : text.replace(at, from.size(), to);
}

}  // namespace plait::io::oneflow
