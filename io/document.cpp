// The table of formats, and finding the right row.
#include "io/document.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "io/aicf/format.h"
#include "io/aitemplate/format.h"
#include "io/chainer/format.h"
#include "io/file.h"
#include "io/megengine/format.h"
#include "io/oneflow/format.h"
#include "ir/text.h"
#include "ir/verify.h"

namespace plait::io {
namespace {

constexpr std::size_t kHead = 64 * 1024;
constexpr std::size_t kMaxText = 256 << 20;

const Format kFormats[] = {
    {"aicf", "`=== IRGraph:`", aicf::detects,
     [](Lines& l, std::string_view text) -> Record { return aicf::read(text, l.name()); },
     [](const Record& r) { return aicf::to_graphs(std::get<aicf::Record>(r)); },
     [](const ir::Graph& g, const RunTimes&) -> Record { return aicf::from_graph(g); },
     [](const Record& r) { return aicf::write(std::get<aicf::Record>(r)); }},
    {"megengine", "`{\"profiler\": ...` (JSON)", megengine::detects,
     [](Lines& l, std::string_view text) -> Record { return megengine::read(text, l.name()); },
     [](const Record& r) { return megengine::to_graphs(std::get<megengine::Record>(r)); },
     [](const ir::Graph& g, const RunTimes& t) -> Record { return megengine::from_graph(g, t); },
     [](const Record& r) { return megengine::write(std::get<megengine::Record>(r)); }, false, true},
    {"chainer", "a line of two counts, `86 92`", chainer::detects,
     [](Lines& l, std::string_view text) -> Record { return chainer::read(text, l.name()); },
     [](const Record& r) { return chainer::to_graphs(std::get<chainer::Record>(r)); },
     [](const ir::Graph& g, const RunTimes&) -> Record { return chainer::from_graph(g); },
     [](const Record& r) { return chainer::write(std::get<chainer::Record>(r)); }},
    {"oneflow", "lines of `libai` or `(GRAPH:...` (a log)", oneflow::detects,
     [](Lines& l, std::string_view) -> Record { return oneflow::read(l); },
     [](const Record& r) { return oneflow::to_graphs(std::get<oneflow::Record>(r)); },
     [](const ir::Graph& g, const RunTimes&) -> Record { return oneflow::from_graph(g); },
     [](const Record& r) { return oneflow::write(std::get<oneflow::Record>(r)); }, true},
    {"aitemplate", "`Tensors: {`", aitemplate::detects,
     [](Lines& l, std::string_view text) -> Record { return aitemplate::read(text, l.name()); },
     [](const Record& r) { return aitemplate::to_graphs(std::get<aitemplate::Record>(r)); },
     [](const ir::Graph& g, const RunTimes&) -> Record { return aitemplate::from_graph(g); },
     [](const Record& r) { return aitemplate::write(std::get<aitemplate::Record>(r)); }},
};

/// The first word behind blanks and comments.
std::string_view first_word(std::string_view text) {
  std::size_t i = 0;
  while (i < text.size()) {
    if (text[i] == '#') {
      i = std::min(text.find('\n', i), text.size());
    } else if (std::string_view(" \t\r\n").find(text[i]) != std::string_view::npos) {
      ++i;
    } else {
      break;
    }
  }
  const std::size_t end = text.find_first_of(" \t\r\n", i);
  return text.substr(i, end == std::string_view::npos ? end : end - i);
}

bool is_text_form(std::string_view head) {
  const std::string_view word = first_word(head);
  return word == "graph" || word == "symbol";
}

/// The beginning of a file as one can show it.
std::string glimpse(std::string_view text) {
  std::string out;
  for (char c : text.substr(0, 24)) out += c >= ' ' && c < 127 ? c : '.';
  return quoted(out);
}

[[noreturn]] void unknown_format(std::string_view head, const std::string& name) {
  if (first_word(head).empty()) fail(name, ": holds no graph");
  std::vector<std::string> known{"the text form (.plait) with `graph` or `symbol`"};
  for (const Format& f : kFormats) known.push_back(str(f.name, " with ", f.begins));
  fail(name, ": not a document that Plait knows; it starts with ", glimpse(head),
       ". Known are, by how they begin: ", join(known, "; "));
}

/// Null for the text form.
const Format* detect(std::string_view head, const std::string& name) {
  if (is_text_form(head)) return nullptr;
  for (const Format& f : kFormats) {
    if (f.detects(head)) return &f;
  }
  unknown_format(head, name);
}

Document read_as(const Format* format, Lines& lines, std::string_view text) {
  Document document;
  if (!format) {
    document.format = "plait";
    document.import.package = ir::parse(text, lines.name());
    return document;
  }
  document.format = format->name;
  document.record = format->read(lines, text);
  try {
    document.import = format->to_graphs(document.record);
    ir::verify(document.import.package);
  } catch (const UserError& e) {
    const std::string what = e.what();
    fail(what.starts_with(lines.name()) ? "" : lines.name() + ": ", what);
  }
  return document;
}

/// What is left of `rest` first, then the file: the head was read to find the format.
ByteSource continued(std::string head, InputFile& file) {
  return [head = std::move(head), used = std::size_t{0}, &file](char* buffer,
                                                                std::size_t room) mutable {
    if (used == head.size()) return file.read(buffer, room);
    const std::size_t count = std::min(room, head.size() - used);
    head.copy(buffer, count, used);
    used += count;
    return count;
  };
}

}  // namespace

std::span<const Format> formats() { return kFormats; }

const Format* find_format(std::string_view name) {
  for (const Format& f : kFormats) {
    if (f.name == name) return &f;
  }
  return nullptr;
}

Document read_document(const std::string& path) {
  InputFile file(path);
  std::string text(kHead, '\0');
  text.resize(file.read_fully(text.data(), text.size()));
  const Format* format = detect(text, path);
  if (format && format->streams) {
    Lines lines(continued(std::move(text), file), path);
    return read_as(format, lines, {});
  }
  for (std::size_t used = text.size();;) {
    if (used > kMaxText) {
      fail(path, ": is larger than ", bytes_text(kMaxText), ", more than a document of the format ",
           format ? format->name : "plait", " needs");
    }
    text.resize(used + std::max(used, kHead));
    const std::size_t got = file.read_fully(text.data() + used, text.size() - used);
    used += got;
    const bool ended = used < text.size();
    if (!ended) continue;
    text.resize(used);
    break;
  }
  Lines lines(text, path);
  return read_as(format, lines, text);
}

Document read_document(std::string_view text, const std::string& name) {
  Lines lines(text, name);
  return read_as(detect(text.substr(0, kHead), name), lines, text);
}

}  // namespace plait::io
