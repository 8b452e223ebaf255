// Names.
#include "io/oneflow/names.h"

#include <algorithm>
#include <limits>

#include "io/oneflow/words.h"

namespace plait::io::oneflow {
namespace {

constexpr std::string_view kRoot = "model.";

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

Names::Names(const Record& record) : file(record.file.text) {
  bool any = false, all = true;
  const auto see = [&](std::string_view name) {
    any = true;
    all = all && name.starts_with(kRoot) && name.size() > kRoot.size();
  };
  for (const TracedOp& op : record.ops) {
    if (op.kind == OpKind::kVariable) see(op.name);
  }
  if (record.tree) {
    for (const TreeLine& line : record.tree->lines) {
      const auto* note = std::get_if<TensorNote>(&line.what);
      if (note && note->kind == TensorNote::kParameter) see(note->name);
    }
  }
  if (any && all) root = kRoot;
}

std::string Names::state(std::string_view variable) const {
  if (!root.empty() && variable.starts_with(root)) variable.remove_prefix(root.size());
  return std::string(variable);
}

std::string Names::port(std::string_view op) const {
  std::size_t at = op.find("_input.");
  std::size_t size = 7;
  if (at == std::string_view::npos) {
    at = op.find("_output.");
    size = 8;
  }
  if (at == std::string_view::npos || !op.starts_with("_")) return std::string(op);
  const std::string_view rest = op.substr(at + size);
  const std::size_t end = rest.find_first_not_of("0123456789.");
  if (end == std::string_view::npos || rest[end] != '_' || end + 1 == rest.size()) {
    return std::string(op);
  }
  return std::string(rest.substr(end + 1));
}

std::string_view type_in_name(std::string_view op) {
  const std::size_t last = op.rfind('-');
  if (last == std::string_view::npos || !is_number(op.substr(last + 1))) return {};
  const std::string_view rest = op.substr(0, last);
  const std::size_t before = rest.rfind('-');
  return before == std::string_view::npos ? rest : rest.substr(before + 1);
}

std::string Names::path(std::string_view op) const {
  const std::string_view type = type_in_name(op);
  if (type.empty()) return "";
  std::string_view path = op.substr(0, static_cast<std::size_t>(type.data() - op.data()));
  if (path.ends_with("-")) path.remove_suffix(1);
  if (!root.empty() && path == root.substr(0, root.size() - 1)) return "";
  return state(path);
}

ir::Source Names::source(std::string_view loc, LineNumber line) const {
  constexpr std::string_view kAt = " at '", kLine = "': line ";
  const auto limited = [](std::int64_t n) {
    return static_cast<int>(std::clamp<std::int64_t>(n, 0, std::numeric_limits<int>::max()));
  };
  const std::size_t at = loc.rfind(kAt);
  const std::size_t end = at == std::string_view::npos ? at : loc.find(kLine, at);
  if (end == std::string_view::npos) return {file, limited(line.number)};
  std::string_view number = loc.substr(end + kLine.size());
  number = number.substr(0, number.find_first_not_of("0123456789"));
  const auto value = integer_of(number);
  if (!value) return {file, limited(line.number)};
  return {std::string(loc.substr(at + kAt.size(), end - at - kAt.size())), limited(*value)};
}

}  // namespace plait::io::oneflow
