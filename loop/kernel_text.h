// The text form of kernels and contractions: printing and parsing are exact inverses, down to which
// subexpressions are shared. docs/text_form.md has the grammar.
#pragma once

#include <string>
#include <string_view>

#include "loop/contraction.h"
#include "loop/kernel.h"

namespace plait::loop {

/// The symbols that it names first; print(parse_kernel(print(k))) == print(k).
std::string print(const Kernel& kernel);
std::string print(const Contraction& contraction);

/// UserError `FILE:LINE:COLUMN: what ...` on the first mistake. `file` is only for messages.
Kernel parse_kernel(std::string_view text, std::string_view file = "<text>");
Contraction parse_contraction(std::string_view text, std::string_view file = "<text>");

}  // namespace plait::loop
