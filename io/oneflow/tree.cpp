// Reading the notes of the tree and the tree itself.
#include "io/oneflow/tree.h"

#include <array>

#include "base/text.h"
#include "io/import.h"
#include "io/oneflow/words.h"

namespace plait::io::oneflow {
namespace {

constexpr int kMaxDepth = 1000;
constexpr int kMaxNoteLines = 64;

struct NoteWord {
  std::string_view word;
  TensorNote::Kind kind;
};
constexpr std::array<NoteWord, 4> kNoteWords{{{"(INPUT:", TensorNote::kInput},
                                              {"(OUTPUT:", TensorNote::kOutput},
                                              {"(PARAMETER:", TensorNote::kParameter},
                                              {"(BUFFER:", TensorNote::kBuffer}}};

/// Opening minus closing parentheses; those in quotes do not occur here.
int balance(std::string_view text) {
  int depth = 0;
  for (char c : text) depth += c == '(' ? 1 : c == ')' ? -1 : 0;
  return depth;
}

/// The note as one line: what the printer wrapped is joined by single blanks.
std::string joined_note(Lines& lines) {
  const std::int64_t first = lines.number();
  std::string text(trim(lines.line()));
  int open = balance(text);
  for (int count = 1; open > 0; ++count) {
    if (!lines.next() || count == kMaxNoteLines) {
      lines.fail("the note of a tensor that begins at line ", first, " is not closed. ",
                 "Is the log cut off?");
    }
    const std::string_view more = trim(lines.line());
    open += balance(more);
    text += " ";
    text += more;
  }
  return text;
}

/// `name=value` up to a comma or the end of the note, parentheses balanced.
std::string_view read_remark(Cursor& in) {
  int depth = 0;
  std::size_t end = in.pos;
  for (; end < in.text.size(); ++end) {
    const char c = in.text[end];
    if (depth == 0 && (c == ',' || c == ')')) break;
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
  }
  const std::string_view remark = in.text.substr(in.pos, end - in.pos);
  if (remark.empty()) in.expected("a remark");
  in.pos = end;
  return remark;
}

DType read_python_dtype(Cursor& in) {
  in.expect("oneflow.");
  const std::string_view word =
      in.rest().substr(0, in.rest().find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_"));
  const auto dtype = dtype_of_python(word);
  if (!dtype) in.expected("a data type");
  in.pos += word.size();
  return *dtype;
}

void read_note_fields(Cursor& in, TensorNote& note) {
  bool placed = false, laid = false, sized = false, typed = false;
  do {
    if (in.take("placement=")) {
      note.placement = read_placement(in);
      placed = true;
    } else if (in.take("sbp=(")) {
      note.blob.layouts = read_long_layouts(in);
      laid = true;
    } else if (in.take("size=(")) {
      note.blob.shape = read_sizes(in);
      sized = true;
    } else if (in.take("dtype=")) {
      note.blob.dtype = read_python_dtype(in);
      typed = true;
    } else {
      note.remarks.emplace_back(read_remark(in));
    }
  } while (in.take(", "));
  in.expect("))");
  if (!placed || !laid || !sized || !typed) {
    in.lines.fail(in.subject, ": the note must have placement, sbp, size and dtype");
  }
  check_layouts(in, note.blob, note.placement);
}

/// `name:(sbp=(S(0)), size=(8), dtype=(oneflow.float32))`, or without its own parentheses.
Operand read_operand(Cursor& in) {
  Operand out;
  const std::size_t wrapped = in.rest().find(":(sbp=("), bare = in.rest().find(":sbp=(");
  out.bare = bare < wrapped;
  out.tensor = std::string(in.until(out.bare ? ":sbp=(" : ":(sbp=("));
  check_name(in.lines, out.tensor, "an operand");
  if (out.tensor.find_first_of(" ,()") != std::string::npos) {
    in.lines.fail(in.subject, ": ", quoted(out.tensor), " is no name of a tensor");
  }
  out.blob.layouts = read_short_layouts(in);
  in.expect(", size=(");
  out.blob.shape = read_sizes(in);
  in.expect(", dtype=(");
  out.blob.dtype = read_python_dtype(in);
  in.expect(out.bare ? ")" : "))");
  return out;
}

std::vector<Operand> read_operands(Cursor& in) {
  std::vector<Operand> out;
  int lists = 0;
  bool listed = false;
  if (in.take(")")) return out;
  do {
    if (!listed && in.take("[")) {
      listed = true;
      ++lists;
      if (in.take("]")) {
        listed = false;
        continue;
      }
    }
    out.push_back(read_operand(in));
    if (listed) out.back().list = lists;
    if (listed && in.take("]")) listed = false;
  } while (in.take(", "));
  if (listed) in.expect("]");
  in.expect(")");
  return out;
}

/// One line of the tree below its first; true when it closes the tree.
struct TreeReader {
  Lines& lines;
  Tree tree;
  int depth = 0;  // open modules

  void add(std::variant<ConfigNote, ModuleNote, TensorNote, Operator> what) {
    if (tree.lines.size() >= static_cast<std::size_t>(kMaxItems)) {
      lines.fail("the tree has more than ", with_commas(kMaxItems), " lines");
    }
    tree.lines.push_back({depth, std::move(what)});
  }

  bool read_line() {
    const std::string_view text = trim(lines.line());
    if (text == ")") return depth-- == 0;
    if (text.starts_with("(OPERATOR:")) {
      add(read_operator(lines));
    } else if (text.starts_with("(MODULE:")) {
      if (!text.ends_with(": (")) lines.fail("a module of the tree must end with `: (`");
      add(read_module_note(lines));
      if (++depth > kMaxDepth) lines.fail("modules are nested deeper than ", kMaxDepth);
    } else if (is_tensor_note(text)) {
      add(read_tensor_note(lines));
    } else if (text.starts_with("(CONFIG:")) {
      if (!text.ends_with(")")) lines.fail("the configuration of the tree must end with ')'");
      add(ConfigNote{std::string(text.substr(8, text.size() - 9))});
    } else if (text.starts_with("(")) {
      lines.fail("a line of the tree must begin with (CONFIG:, (INPUT:, (OUTPUT:, (PARAMETER:, ",
                 "(BUFFER:, (MODULE: or (OPERATOR:, found ", quoted(text.substr(0, 24)));
    }
    return false;
  }
};

}  // namespace

bool is_tensor_note(std::string_view line) {
  for (const NoteWord& w : kNoteWords) {
    if (line.starts_with(w.word)) return true;
  }
  return false;
}

TensorNote read_tensor_note(Lines& lines) {
  TensorNote note;
  note.line.number = lines.number();
  const std::string text = joined_note(lines);
  Cursor in{text, lines, "a tensor"};
  for (const NoteWord& w : kNoteWords) {
    if (!in.take(w.word)) continue;
    note.kind = w.kind;
    break;
  }
  note.name = std::string(in.until(":tensor(..., "));
  check_name(lines, note.name, "a tensor");
  in.subject = note.name;
  read_note_fields(in, note);
  if (!in.at_end() && in.rest() != ": ()") in.expected("the end of the line");
  return note;
}

ModuleNote read_module_note(const Lines& lines) {
  std::string_view text = trim(lines.line());
  if (text.ends_with(": (")) text.remove_suffix(3);
  Cursor in{text, lines, "a module"};
  in.expect("(MODULE:");
  ModuleNote note;
  note.name = std::string(in.until(":"));
  if (!text.ends_with(")")) in.expected("a type that ends with ')'");
  note.type = std::string(text.substr(in.pos, text.size() - in.pos - 1));
  check_name(lines, note.name, "a module");
  if (note.type.empty()) lines.fail("module ", note.name, " has no type");
  return note;
}

Operator read_operator(const Lines& lines) {
  Operator out;
  out.line.number = lines.number();
  if (!lines.ended()) lines.fail("the log ends inside the line of an operator. Is it cut off?");
  Cursor in{trim(lines.line()), lines, "an operator"};
  in.expect("(OPERATOR: ");
  out.name = std::string(in.until("("));
  check_name(lines, out.name, "an operator");
  if (out.name.find_first_of(" ,)") != std::string::npos) {
    lines.fail(quoted(out.name), " is no name of an operator");
  }
  const std::string subject = "operator " + out.name;
  in.subject = subject;
  out.inputs = read_operands(in);
  in.expect(" -> (");
  out.outputs = read_operands(in);
  in.expect(", ");
  if (in.take("attributes=("))
    out.attributes = std::string(in.until("), placement=("));
  else
    in.expect("placement=(");
  out.placement = read_placement(in);
  in.expect("))");
  if (!in.at_end()) in.expected("the end of the line");
  for (const Operand& o : out.outputs) check_layouts(in, o.blob, out.placement);
  return out;
}

bool is_tree_start(std::string_view line) {
  return line.starts_with("(GRAPH:") && line.ends_with("): (");
}

Tree read_tree(Lines& lines) {
  TreeReader reader{lines, {}};
  Cursor in{lines.line(), lines, "the tree"};
  in.expect("(GRAPH:");
  reader.tree.line.number = lines.number();
  reader.tree.name = std::string(in.until(":"));
  reader.tree.type = std::string(in.until("): ("));
  check_name(lines, reader.tree.name, "the graph");
  const std::int64_t first = lines.number();
  while (lines.next()) {
    if (reader.read_line()) return std::move(reader.tree);
  }
  lines.fail("the log ends inside the tree that begins at line ", first, ". Is it cut off?");
}

}  // namespace plait::io::oneflow
