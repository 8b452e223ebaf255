// The words of the log that several of its sections share: dtypes, layouts, placements, Python
// tuples, time stamps. Reading moves a cursor over one line; printing gives what reading takes.
#pragma once

#include <string>
#include <string_view>

#include "io/lines.h"
#include "io/oneflow/record.h"

namespace plait::io::oneflow {

/// A place in one logical line; mistakes name the physical line of `lines`.
struct Cursor {
  std::string_view text;
  const Lines& lines;
  std::string_view subject;  // what is being read, for messages
  std::size_t pos = 0;

  std::string_view rest() const { return text.substr(pos); }
  bool at_end() const { return pos == text.size(); }
  bool take(std::string_view word);
  void expect(std::string_view word);
  /// The text up to `stop`, which is taken too.
  std::string_view until(std::string_view stop);
  std::int64_t integer(std::string_view what, std::int64_t least = 0);
  double real(std::string_view what);
  [[noreturn]] void expected(std::string_view what) const;
};

/// UserError when a name is empty or longer than any name of a log, so that messages stay short.
void check_name(const Lines& lines, std::string_view name, std::string_view what);
/// At most the first bytes of a text, in quotes, for messages.
std::string glimpse(std::string_view text);

/// Whole-string numbers; nothing when the text is no number or does not fit.
std::optional<std::int64_t> integer_of(std::string_view text);
std::optional<double> real_of(std::string_view text);

std::optional<DType> dtype_of_proto(std::string_view name);  // `kFloat`
std::string_view proto_name(DType dtype);
std::optional<DType> dtype_of_python(std::string_view name);  // `float32`
std::string_view python_name(DType dtype);

/// `B`, `P`, `S(0)`
std::optional<ir::Layout> layout_of(std::string_view text);
std::string layout_text(const ir::Layout& layout);

// Each reads what stands at the cursor; UserError when it is something else.
/// `(S(0), B)` -> layouts; the opening parenthesis is taken already.
Layouts read_short_layouts(Cursor& in);
/// `(oneflow.sbp.split(dim=0),)`; likewise.
Layouts read_long_layouts(Cursor& in);
/// `(8, 1024)`, `(8,)`, `()`; likewise. UserError on sizes that no tensor can have.
Sizes read_sizes(Cursor& in);
/// `oneflow.placement(type="cuda", ranks=[0, 1])`, ranks nested for a mesh of two axes.
Placement read_placement(Cursor& in);
/// UserError unless there is a layout per mesh axis and splits are along axes that exist.
void check_layouts(const Cursor& in, const Blob& blob, const Placement& placement);

std::string short_layouts_text(const Layouts& layouts);
std::string long_layouts_text(const Layouts& layouts);
/// `(8, 1024)`; one size as `(8)`, or `(8,)` as Python writes it.
std::string sizes_text(const Sizes& sizes, bool python);
std::string placement_text(const Placement& placement);

/// `I20220824 02:43:24.093247 1392289 file.cpp:937] message`
struct LogLine {
  char level = 'I';
  Stamp stamp;
  std::string_view file, message;
};
std::optional<LogLine> log_line_of(std::string_view line);
std::string stamp_text(const Stamp& stamp);

}  // namespace plait::io::oneflow
