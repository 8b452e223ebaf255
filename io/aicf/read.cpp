// Text to record: the grammar, line by line, nothing assumed. What AICF cannot have printed is an
// error, so that writing a record gives back the bytes it was read from.
#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "io/aicf/cells.h"
#include "io/aicf/cursor.h"
#include "io/aicf/format.h"
#include "io/aicf/op.h"
#include "io/aicf/words.h"
#include "io/import.h"
#include "io/lines.h"

namespace plait::io::aicf {
namespace {

class Reader {
 public:
  Reader(std::string_view text, const std::string& file) : lines_(text, file) {
    record_.file = file;
  }

  Record read() {
    header();
    for (std::int64_t i = 0; i < value_count_; ++i) value();
    want_line("", str("an empty line behind the ", value_count_, " values that line 2 says"));
    want_line("[nodes]", "\"[nodes]\"");
    for (std::int64_t i = 0; i < node_count_; ++i) node();
    record_.final_newline = lines_.ended();
    if (lines_.next()) {
      lines_.fail("found ", line_text(), ", expected the end of the document: line 2 ", "says ",
                  node_count_, " nodes, and they are read");
    }
    check_order(record_);
    return std::move(record_);
  }

 private:
  void next(std::string_view what) {
    if (!lines_.next()) {
      fail(lines_.name(), ":", lines_.number() + 1, ": the document ends here, expected ", what,
           ". Was it cut?");
    }
    if (lines_.line().ends_with('\r')) {
      lines_.fail("the line ends with a carriage return, expected a newline alone. Was the ",
                  "document saved on Windows?");
    }
  }

  void want_line(std::string_view line, const std::string& what) {
    next(what);
    if (lines_.line() != line) {
      lines_.fail("found ", line_text(), ", expected ", what);
    }
  }

  std::string line_text() const {
    return lines_.line().empty() ? "an empty line" : found_text(lines_.line());
  }

  void header() {
    next("\"=== IRGraph: NAME ===\"");
    constexpr std::string_view kEnd = " ===";
    Cursor title{lines_};
    if (!title.take(kTitle) || !title.rest.ends_with(kEnd)) {
      lines_.fail("found ", line_text(), ", expected \"=== IRGraph: NAME ===\"");
    }
    record_.name = title.rest.substr(0, title.rest.size() - kEnd.size());
    if (record_.name.size() > kMaxWord) title.expected("a name of 200 bytes at most");
    next("\"values: N, nodes: N\"");
    Cursor counts{lines_};
    counts.want("values: ");
    value_count_ = count(counts, "the number of values");
    counts.want(", nodes: ");
    node_count_ = count(counts, "the number of nodes");
    if (!counts.rest.empty()) counts.expected("the end of the line");
    want_line("", "an empty line");
    want_line("[values]", "\"[values]\"");
  }

  std::int64_t count(Cursor& c, std::string_view what) {
    const Cursor start = c;
    const std::int64_t n = c.number(what);
    if (n > kMaxItems) start.expected(str(what, ", at most ", with_commas(kMaxItems)));
    return n;
  }

  void value() {
    const std::string what =
        str("value ", record_.values.size() + 1, " of the ", value_count_, " that line 2 says");
    next(what);
    Cursor c{lines_};
    if (!c.take("  v")) {
      lines_.fail("found ", line_text(), ", expected ", what,
                  ", as \"  vID  NAME shape=(...) dtype=... device=...\"");
    }
    Value v;
    v.id = c.padded("the number of a value");
    check_id(v.id);
    c.want("  ");
    v.name = c.word("a name", kNameWidth);
    c.want(" shape=");
    v.shape = shape(c);
    c.want(" dtype=");
    v.dtype = dtype(c);
    c.want(" device=");
    v.device = c.rest;
    if (const std::string why = why_bad_word(v.device); !why.empty()) c.expected("a device", why);
    bytes_ += static_cast<double>(element_count(v.shape)) * static_cast<double>(size_of(v.dtype));
    if (bytes_ > kMost) lines_.fail("the values up to here take more than 2^60 bytes");
    record_.values.push_back(std::move(v));
  }

  void check_id(std::int64_t id) {
    if (record_.values.empty() || id > record_.values.back().id) return;
    const Cell found = find(id);
    if (found >= 0) {
      lines_.fail(id_text(id), " is there twice, first on line ",
                  record_.line_of_value(static_cast<std::size_t>(found)));
    }
    lines_.fail(id_text(id), " stands behind ", id_text(record_.values.back().id),
                ", expected ids that ascend. Are lines exchanged?");
  }

  /// -1 when there is none.
  Cell find(std::int64_t id) const {
    const auto it = std::lower_bound(record_.values.begin(), record_.values.end(), id,
                                     [](const Value& v, std::int64_t n) { return v.id < n; });
    if (it == record_.values.end() || it->id != id) return -1;
    return static_cast<Cell>(it - record_.values.begin());
  }

  Sizes shape(Cursor& c) {
    const Cursor start = c;
    Sizes sizes;
    c.want("(");
    while (!c.take(")")) {
      if (!sizes.empty()) c.want(", ");
      sizes.push_back(c.number("a size"));
      if (sizes.size() == 1 && c.take(",)")) break;
      if (sizes.size() == 1 && c.at(")")) c.expected("\",)\" behind the only size");
      if (sizes.size() > kMaxRank) start.expected(str("at most ", kMaxRank, " sizes"));
    }
    const std::string why = why_bad_sizes(sizes);
    if (!why.empty()) lines_.fail(why);
    return sizes;
  }

  DType dtype(Cursor& c) {
    const std::string_view text = c.rest.substr(0, c.rest.find(' '));
    const std::optional<DType> found = torch_dtype(text);
    if (!found) {
      std::vector<std::string> known;
      for (std::size_t i = 0; i < kDTypeCount; ++i) known.push_back(torch_name(DType(i)));
      c.expected("a dtype of torch", text.size() > kMaxWord ? "" : trim(suggestion(text, known)));
    }
    c.rest.remove_prefix(text.size());
    return *found;
  }

  void node() {
    const std::size_t index = record_.nodes.size();
    const std::string what = str("node ", index + 1, " of the ", node_count_, " that line 2 says");
    next(what);
    Cursor c{lines_};
    if (!c.take("  #")) {
      lines_.fail("found ", line_text(), ", expected ", what,
                  ", as \"  #INDEX OP (v...) -> (v...)\"");
    }
    if (c.padded("the index of a node") != static_cast<std::int64_t>(index)) {
      lines_.fail("found ", found_text(lines_.line().substr(2, 8)), ", expected ",
                  index_text(index), ". Are lines missing or exchanged?");
    }
    c.want(" ");
    Node n;
    n.op = c.word("an op", kOpWidth);
    c.want(" (");
    n.inputs = cells(c);
    c.want(" -> (");
    n.outputs = cells(c);
    n.attrs = attrs(c);
    record_.nodes.push_back(std::move(n));
    const std::string why = why_bad_node(record_, index);
    if (!why.empty()) lines_.fail(why);
    check_work(record_.nodes.back());
  }

  /// What is counted in 64 bits stays there.
  void check_work(const Node& node) {
    if (find_rule(node.op)->inputs[0].axes != "mk") return;
    const Sizes &x = record_.value(node.inputs[0]).shape, &w = record_.value(node.inputs[1]).shape;
    work_ +=
        4.0 * static_cast<double>(x[0]) * static_cast<double>(w[0]) * static_cast<double>(w[1]);
    if (work_ > kMost) lines_.fail("the nodes up to here are more than 2^60 operations");
  }

  /// `v001, v002)`
  std::vector<Cell> cells(Cursor& c) {
    std::vector<Cell> found;
    while (!c.take(")")) {
      if (!found.empty()) c.want(", ");
      const Cursor start = c;
      c.want("v");
      const std::int64_t id = c.padded("the number of a value");
      found.push_back(find(id));
      if (found.back() < 0)
        start.expected("a value of the list above", str("There is no ", id_text(id)));
    }
    return found;
  }

  /// `  {bias=True, layout=y = x @ W^T + b}`: a comma separates only before `key=`.
  std::vector<Attr> attrs(Cursor& c) {
    std::vector<Attr> found;
    if (c.rest.empty()) return found;
    c.want("  {");
    if (!c.rest.ends_with('}')) c.expected("attributes up to a \"}\" at the end of the line");
    do {
      const std::string_view inside = c.rest.substr(0, c.rest.size() - 1);
      const std::size_t key = key_length(inside);
      if (key == 0) c.expected("an attribute as key=value");
      if (found.size() == kMaxAttrs) c.expected(str("at most ", kMaxAttrs, " attributes"));
      const std::string name(inside.substr(0, key));
      for (const Attr& a : found) {
        if (a.key == name) c.expected(str("each key once, and ", name, " is there before"));
      }
      const std::string_view behind = inside.substr(key + 1);
      const std::size_t length = value_length(behind);
      found.push_back({name, std::string(behind.substr(0, length))});
      const bool last = length == behind.size();
      c.rest.remove_prefix(key + 1 + length + (last ? 0 : 2));
    } while (c.rest != "}");
    return found;
  }

  static constexpr double kMost = static_cast<double>(std::int64_t{1} << 60);

  Lines lines_;
  Record record_;
  double bytes_ = 0, work_ = 0;
  std::int64_t value_count_ = 0, node_count_ = 0;
};

}  // namespace

bool detects(std::string_view head) { return head.starts_with(kTitle); }

Record read(std::string_view text, const std::string& file) { return Reader(text, file).read(); }

}  // namespace plait::io::aicf
