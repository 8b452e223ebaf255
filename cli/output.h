// Standard output and standard error: results on the one, errors and notes on the other.
#pragma once

#include <string_view>

namespace plait::cli {

/// Whoever read our output has gone: the program ends without a word.
struct OutputClosed {};

/// Writes to standard output at once. OutputClosed when its reader has gone, RunError when it
/// cannot be written for another reason (a full disk).
void print(std::string_view text);
/// Writes a line to standard error, behind `plait: `; never fails.
void note(std::string_view text);
/// Writes to standard error as it is; never fails.
void print_error(std::string_view text);

bool output_is_terminal();
bool error_is_terminal();

/// Opens what was closed of standard input, output and error on nothing, so that no file that is
/// opened later takes their place; a closed pipe becomes an error instead of a signal.
void prepare_output();

}  // namespace plait::cli
