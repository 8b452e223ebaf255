// The log, line by line: each line goes to the section that it begins or belongs to; lines of no
// section are skipped. What the sections must agree on is checked at the end.
#include <algorithm>

#include "base/text.h"
#include "io/oneflow/check.h"
#include "io/oneflow/conf.h"
#include "io/oneflow/format.h"
#include "io/oneflow/sections.h"
#include "io/oneflow/tree.h"

namespace plait::io::oneflow {
namespace {

/// `building graph Done! Cost time: 6.16s.`
std::optional<double> cost_of(std::string_view line, std::string_view what) {
  const std::size_t at = line.find(what);
  if (at == std::string_view::npos) return {};
  std::string_view rest = line.substr(at + what.size());
  rest = rest.substr(0, rest.find_first_not_of("0123456789.e-+"));
  while (rest.ends_with(".")) rest.remove_suffix(1);
  return real_of(rest);
}

struct LogReader {
  Lines& lines;
  Record record;
  bool in_config = false;  // lines of the configuration's text
  bool in_halves = false;  // lines of mixed precision's list
  bool traced = false;     // tracing has ended
  std::size_t config_bytes = 0;

  void read_all() {
    record.file.text = lines.name();
    while (lines.next()) {
      read_line();
      check_room();
    }
    check(record, lines, traced);
  }

  void read_line() {
    const std::string_view line = lines.line();
    if (const auto libai = libai_line_of(line)) {
      in_config = false;
      return read_libai(*libai);
    }
    if (const auto log = log_line_of(line)) {
      in_config = in_halves = false;
      return read_log(*log);
    }
    if (line.starts_with("(GRAPH:")) in_config = false;
    if (in_config) return add_config_line();
    if (line.starts_with("(")) return read_note();
    if (in_halves && line.ends_with(",")) {
      record.half_ops.emplace_back(line.substr(0, line.size() - 1));
      return;
    }
    in_halves = false;
    if (read_data_line(lines, record.data) || read_memory_line(lines, record.memory)) return;
    if (line.find("received SIG") != std::string_view::npos) end_with(line);
  }

  /// Lines that begin with a parenthesis: the graph's own, modules, tensors, the tree.
  void read_note() {
    const std::string_view line = lines.line();
    if (is_tree_start(line)) {
      if (record.tree)
        lines.fail("a second tree; the first begins at line ", record.tree->line.number,
                   ". One graph per log is read");
      record.tree = read_tree(lines);
    } else if (line.starts_with("(GRAPH:")) {
      read_progress();
    } else if (line.starts_with("(MODULE:")) {
      record.module_notes.push_back(read_module_note(lines));
    } else if (is_tensor_note(line)) {
      record.tensors.push_back(read_tensor_note(lines));
    } else if (line.starts_with("(OPERATOR:")) {
      lines.fail("an operator outside of a tree, `(GRAPH:name:type): (`");
    }
  }

  void read_progress() {
    const std::string_view line = lines.line();
    const std::string_view rest = line.substr(7);
    const std::string name(rest.substr(0, rest.find_first_of(":)")));
    check_name(lines, name, "the graph");
    if (record.graph.empty()) record.graph = name;
    if (record.graph != name) {
      lines.fail("graph ", name, " is built after graph ", record.graph,
                 ". One graph per log is read");
    }
    if (line.ends_with("end building graph outputs.")) traced = true;
    if (const auto s = cost_of(line, "building graph Done! Cost time: ")) record.build_seconds = s;
    if (const auto s = cost_of(line, "building plan Done! Cost time: ")) record.plan_seconds = s;
  }

  void add_config_line() {
    constexpr std::size_t kMaxConfig = 16 << 20;
    config_bytes += lines.line().size() + 1;
    if (config_bytes > kMaxConfig) {
      lines.fail("the configuration has more than ", with_commas(kMaxConfig), " bytes");
    }
    record.config.lines.emplace_back(lines.line());
  }

  /// Notes and names are kept, so there must be an end to them.
  void check_room() const {
    const std::size_t kept =
        record.half_ops.size() + record.tensors.size() + record.module_notes.size();
    if (kept > static_cast<std::size_t>(kMaxItems)) {
      lines.fail("more than ", with_commas(kMaxItems), " notes of modules, tensors and half ops");
    }
  }

  void read_libai(const LibaiLine& line) {
    constexpr std::string_view kContents = "Contents of args.config_file=";
    if (line.message.starts_with(kContents)) {
      std::string_view file = trim(line.message.substr(kContents.size()));
      if (file.ends_with(":")) file.remove_suffix(1);
      record.config.file = std::string(file);
      record.config.lines.clear();
      in_config = true;
    } else if (line.message == "Model:") {
      record.modules = read_modules(lines);
    } else if (!read_config_line(line, lines, record.config)) {
      read_train_line(line, lines, record.training);
    }
  }

  void read_log(const LogLine& line) {
    constexpr std::string_view kHalves = "WhiteSet include: ";
    if (line.level == 'F') return end_with(line.message);
    if (trim(line.message).ends_with("try to add op:")) {
      record.ops.push_back(read_conf(lines));
      if (record.ops.size() > static_cast<std::size_t>(kMaxItems)) lines.fail("too many ops");
    } else if (line.message.starts_with(kHalves) && line.message.ends_with(",")) {
      record.half_ops.emplace_back(
          line.message.substr(kHalves.size(), line.message.size() - kHalves.size() - 1));
      in_halves = true;
    } else if (const auto s = cost_of(line.message, " compile time: ")) {
      record.compile_seconds = s;
    } else if (!read_pass_line(line, lines, record.passes)) {
      read_block_line(line, lines, record.blocks);
    }
  }

  void end_with(std::string_view line) {
    constexpr std::size_t kMaxEnding = 16;
    if (record.ending.size() < kMaxEnding) record.ending.emplace_back(trim(line));
  }
};

}  // namespace

bool detects(std::string_view head) {
  for (std::size_t i = 0; i < head.size();) {
    const std::size_t end = std::min(head.find('\n', i), head.size());
    const std::string_view line = head.substr(i, end - i);
    if (line.starts_with("(GRAPH:") && line.find(':', 7) != std::string_view::npos) return true;
    const auto libai = libai_line_of(line);
    if (libai && (libai->logger == "libai" || libai->logger.starts_with("lb."))) return true;
    i = end + 1;
  }
  return false;
}

Record read(Lines& lines) {
  lines.take_carriage_returns();
  LogReader reader{lines, {}};
  reader.read_all();
  return std::move(reader.record);
}

}  // namespace plait::io::oneflow
