// Standard output and standard error: results on the one, errors and notes on the other.
#pragma once

#include <string>
#include <string_view>

namespace plait::cli {

/// Whoever read our output has gone: the program ends without a word.
struct OutputClosed {};

/// What a terminal shows of a text: control characters, with which a name in a graph could move the
/// cursor or set the title, and marks of direction become `\u001b`. Line ends and tabs stay, and the carriage return and
/// erasure with which a line that is redrawn begins.
std::string shown(std::string_view text);

/// Writes to standard output at once, as shown() where that is a terminal. OutputClosed when its
/// reader has gone, RunError when it cannot be written for another reason (a full disk, closed).
void print(std::string_view text);
/// Writes a line to standard error, behind `plait: `; never fails.
void note(std::string_view text);
/// Writes to standard error, as shown(); never fails.
void print_error(std::string_view text);

bool output_is_terminal();
bool error_is_terminal();

/// Opens what was closed of standard input, output and error on nothing, so that no file that is
/// opened later takes their place; a closed pipe and a file beyond the limit of its size (ulimit
/// -f) become errors instead of signals.
void prepare_output();

}  // namespace plait::cli
