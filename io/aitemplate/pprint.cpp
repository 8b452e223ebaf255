// Python's pprint with indent 2 and width 80, followed rule by rule, so that what was read is
// written back to the byte. An object inside a container prints itself as if it stood at the left
// margin, and its text goes in as it is.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.h"
#include "io/aitemplate/value.h"

namespace plait::io::aitemplate {
namespace {

constexpr int kIndent = 2;
constexpr int kWidth = 80;

/// Characters, not bytes.
int length(std::string_view text) {
  return static_cast<int>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

std::string repr_text(std::string_view text) {
  const bool single =
      text.find('\'') == std::string_view::npos || text.find('"') != std::string_view::npos;
  const char quote = single ? '\'' : '"';
  std::string out(1, quote);
  for (char c : text) {
    if (c == quote || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n' || c == '\r' || c == '\t') {
      out += c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t";
    } else if ((c >= 0 && c < ' ') || c == 127) {
      constexpr std::string_view kHex = "0123456789abcdef";
      out += "\\x";
      out += kHex[static_cast<std::size_t>(c >> 4)];
      out += kHex[static_cast<std::size_t>(c & 15)];
    } else {
      out += c;
    }
  }
  return out + quote;
}

/// Pieces that end behind a space, as the regular expression \S*\s* cuts them.
std::vector<std::string> words_of(std::string_view line) {
  const auto space = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < line.size();) {
    std::size_t end = i;
    while (end < line.size() && !space(line[end])) ++end;
    while (end < line.size() && space(line[end])) ++end;
    parts.emplace_back(line.substr(i, end - i));
    i = end;
  }
  return parts;
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t newline = std::min(text.find('\n', i), text.size() - 1);
    lines.emplace_back(text.substr(i, newline + 1 - i));
    i = newline + 1;
  }
  return lines;
}

class Printer {
 public:
  std::string out;

  void format(const PyValue& v, int indent, int allowance, int level) {
    const std::string rep = py_repr(v);
    if (v.object || length(rep) <= kWidth - indent - allowance) {
      out += rep;
    } else {
      broken(v, rep, indent, allowance, level + 1);
    }
  }

  /// A value that does not fit on what is left of its line.
  void broken(const PyValue& v, const std::string& rep, int indent, int allowance, int level) {
    switch (v.kind) {
      case PyValue::kDict:
        return dict(v, indent, allowance, level);
      case PyValue::kOrderedDict:
        return ordered_dict(v, rep, indent, allowance, level);
      case PyValue::kList:
      case PyValue::kTuple:
        return sequence(v, indent, allowance, level);
      case PyValue::kText:
        return text(v.text, indent, allowance, level);
      default:
        out += rep;
    }
  }

 private:
  void next_item(int indent) { out += ",\n" + std::string(static_cast<std::size_t>(indent), ' '); }

  void dict(const PyValue& v, int indent, int allowance, int level) {
    out += "{ ";
    indent += kIndent;
    for (std::size_t i = 0; i < v.entries.size(); ++i) {
      const bool last = i + 1 == v.entries.size();
      const std::string key = py_repr(v.entries[i].key);
      out += key + ": ";
      format(v.entries[i].value, indent + length(key) + 2, last ? allowance + 1 : 1, level);
      if (!last) next_item(indent);
    }
    out += "}";
  }

  void ordered_dict(const PyValue& v, const std::string& rep, int indent, int allowance,
                    int level) {
    constexpr std::string_view kName = "OrderedDict(";
    if (v.entries.empty()) {
      out += rep;
      return;
    }
    std::vector<PyValue> pairs;
    for (const Entry& e : v.entries) {
      PyValue pair = PyValue::list({e.key, e.value});
      pair.kind = PyValue::kTuple;
      pairs.push_back(std::move(pair));
    }
    out += kName;
    format(PyValue::list(std::move(pairs)), indent + static_cast<int>(kName.size()), allowance + 1,
           level);
    out += ")";
  }

  void sequence(const PyValue& v, int indent, int allowance, int level) {
    const bool list = v.is(PyValue::kList);
    const std::string close = list ? "]" : v.items.size() == 1 ? ",)" : ")";
    out += list ? "[ " : "( ";
    indent += kIndent;
    allowance += static_cast<int>(close.size());
    for (std::size_t i = 0; i < v.items.size(); ++i) {
      if (i) next_item(indent);
      format(v.items[i], indent, i + 1 == v.items.size() ? allowance : 1, level);
    }
    out += close;
  }

  /// A text over several lines: quoted pieces that Python joins again.
  void text(const std::string& whole, int indent, int allowance, int level) {
    if (whole.empty()) {
      out += "''";
      return;
    }
    if (level == 1) ++indent, ++allowance;
    const std::vector<std::string> lines = lines_of(whole);
    std::vector<std::string> chunks;
    std::string rep;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const bool last_line = i + 1 == lines.size();
      rep = repr_text(lines[i]);
      if (length(rep) <= kWidth - indent - (last_line ? allowance : 0)) {
        chunks.push_back(rep);
      } else {
        wrap(lines[i], indent, last_line ? allowance : 0, chunks);
      }
    }
    if (chunks.size() == 1) {
      out += rep;
      return;
    }
    if (level == 1) out += "(";
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      if (i) out += "\n" + std::string(static_cast<std::size_t>(indent), ' ');
      out += chunks[i];
    }
    if (level == 1) out += ")";
  }

  void wrap(const std::string& line, int indent, int allowance, std::vector<std::string>& chunks) {
    const std::vector<std::string> parts = words_of(line);
    std::string current;
    for (std::size_t j = 0; j < parts.size(); ++j) {
      const int room = kWidth - indent - (j + 1 == parts.size() ? allowance : 0);
      if (length(repr_text(current + parts[j])) > room) {
        if (!current.empty()) chunks.push_back(repr_text(current));
        current = parts[j];
      } else {
        current += parts[j];
      }
    }
    if (!current.empty()) chunks.push_back(repr_text(current));
  }
};

/// The value with every object inside it already printed: each is printed once.
PyValue with_printed_objects(const PyValue& v) {
  PyValue out = v;
  const auto printed = [](const PyValue& part) {
    return part.object ? PyValue::foreign(pformat(part)) : with_printed_objects(part);
  };
  for (PyValue& item : out.items) item = printed(item);
  for (Entry& e : out.entries) e = {printed(e.key), printed(e.value)};
  return out;
}

std::string joined(const std::vector<PyValue>& items) {
  std::string out;
  for (const PyValue& item : items) out += (out.empty() ? "" : ", ") + py_repr(item);
  return out;
}

}  // namespace

std::string py_real(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[64];
  const double size = std::fabs(value);
  const bool plain = size == 0 || (size >= 1e-4 && size < 1e16);
  const auto format = plain ? std::chars_format::fixed : std::chars_format::scientific;
  const auto r = std::to_chars(buffer, buffer + sizeof buffer, value, format);
  std::string out(buffer, r.ptr);
  if (plain && out.find('.') == std::string::npos) out += ".0";
  return out;
}

std::string py_repr(const PyValue& v) {
  switch (v.kind) {
    case PyValue::kNone:
      return "None";
    case PyValue::kBool:
      return v.whole ? "True" : "False";
    case PyValue::kInt:
      return std::to_string(v.whole);
    case PyValue::kFloat:
    case PyValue::kForeign:
      return v.text;
    case PyValue::kText:
      return repr_text(v.text);
    case PyValue::kList:
      return "[" + joined(v.items) + "]";
    case PyValue::kTuple:
      return "(" + joined(v.items) + (v.items.size() == 1 ? ",)" : ")");
    case PyValue::kOrderedDict: {
      std::string out;
      for (const Entry& e : v.entries) {
        out += str(out.empty() ? "" : ", ", "(", py_repr(e.key), ", ", py_repr(e.value), ")");
      }
      return v.entries.empty() ? "OrderedDict()" : "OrderedDict([" + out + "])";
    }
    case PyValue::kDict: {
      if (v.object) return pformat(v);
      std::string out;
      for (const Entry& e : v.entries) {
        out += str(out.empty() ? "" : ", ", py_repr(e.key), ": ", py_repr(e.value));
      }
      return "{" + out + "}";
    }
  }
  return "";
}

std::string pformat(const PyValue& value) {
  Printer printer;
  PyValue plain = with_printed_objects(value);
  plain.object = false;  // at the margin an object is a dict like any other
  printer.format(plain, 0, 0, 0);
  return std::move(printer.out);
}

}  // namespace plait::io::aitemplate
