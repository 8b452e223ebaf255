// Text to record: the grammar line by line, then the order that makes it a step.
#include <limits>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "base/text.h"
#include "io/chainer/format.h"
#include "io/chainer/links.h"
#include "io/lines.h"

namespace plait::io::chainer {
namespace {

constexpr std::int64_t kMaxBytes = std::int64_t{1} << 40;  // of one variable
constexpr std::int64_t kMaxTotal = std::int64_t{1} << 50;  // of all
constexpr std::size_t kMaxName = 500;
constexpr std::int64_t kMaxRank = std::int64_t{1} << 31;

/// A piece of the document as a message can show it.
std::string shown(std::string_view text) {
  std::string out;
  for (char c : text.substr(0, 40)) out += c >= ' ' && c < 127 ? c : '.';
  return "`" + out + (text.size() > 40 ? "...`" : "`");
}

/// Digits as they are printed: no sign, no zeros in front. Nothing when they are not that, or too
/// many.
std::optional<std::int64_t> number_in(std::string_view text) {
  if (text.empty() || text.size() > 18 || (text.size() > 1 && text[0] == '0')) return {};
  std::int64_t n = 0;
  for (char c : text) {
    if (c < '0' || c > '9') return {};
    n = n * 10 + (c - '0');
  }
  return n;
}

bool is_word(std::string_view text) {
  if (text.empty() || text.size() > kMaxName) return false;
  for (char c : text) {
    if (c <= ' ' || c == 127) return false;
  }
  return true;
}

/// Cuts `text` at its first blank.
std::pair<std::string_view, std::string_view> cut(std::string_view text) {
  const std::size_t blank = text.find(' ');
  if (blank == std::string_view::npos) return {text, {}};
  return {text.substr(0, blank), text.substr(blank + 1)};
}

class Reader {
 public:
  Reader(std::string_view text, const std::string& file) : lines_(text, file) {
    record_.file = file;
  }

  Record read() {
    const auto [variables, operations] = counts("the counts `VARIABLES OPERATIONS`");
    if (variables + operations > kMaxItems) {
      lines_.fail("counts ", with_commas(variables), " variables and ", with_commas(operations),
                  " operations, more than the ", with_commas(kMaxItems), " that are read");
    }
    for (std::int64_t i = 0; i < variables; ++i) variable(i, variables);
    for (std::int64_t i = 0; i < operations; ++i) operation(i, operations);
    if (lines_.next()) {
      lines_.fail("found ", shown(lines_.line()), " behind the last of ", operations,
                  " operations. Is the count in line 1 right?");
    }
    static_cast<void>(links_of(record_));
    return std::move(record_);
  }

 private:
  std::string_view line(const std::string& expected) {
    if (!lines_.next()) {
      lines_.fail("the text ends here, expected ", expected, " in the next line. Was it cut off?");
    }
    if (!lines_.ended()) {
      lines_.fail("the line does not end with a newline, expected ", expected,
                  ". Was the text cut off?");
    }
    if (lines_.line().ends_with('\r')) {
      lines_.fail("the line ends with a carriage return. Write it with newlines alone");
    }
    return lines_.line();
  }

  std::pair<std::int64_t, std::int64_t> counts(const std::string& expected) {
    const std::string_view text = line(expected);
    const auto [first, second] = cut(text);
    const auto a = number_in(first), b = number_in(second);
    if (!a || !b) lines_.fail("found ", shown(text), ", expected ", expected);
    if (*a > kMaxItems || *b > kMaxItems) {
      lines_.fail("found ", shown(text), ", more than the ", with_commas(kMaxItems),
                  " items that are read");
    }
    return {*a, *b};
  }

  void variable(std::int64_t number, std::int64_t all) {
    const std::string expected = str("variable ", number + 1, " of ", all, ", `id bytes name`");
    const std::string_view text = line(expected);
    const auto [id, rest] = cut(text);
    const auto [bytes, name] = cut(rest);
    Variable v;
    const auto id_number = number_in(id), byte_count = number_in(bytes);
    if (!id_number || !is_word(name)) lines_.fail("found ", shown(text), ", expected ", expected);
    if (bytes.starts_with('-')) {
      lines_.fail("variable ", id, " has ", shown(bytes), " bytes, a negative size");
    }
    if (!byte_count) lines_.fail("found ", shown(text), ", expected ", expected);
    if (*byte_count > kMaxBytes || (total_bytes_ += *byte_count) > kMaxTotal) {
      lines_.fail("variable ", id, " has ", with_commas(*byte_count), " bytes, more than ",
                  *byte_count > kMaxBytes ? "2^40 for one variable" : "2^50 together");
    }
    v.id = *id_number;
    v.bytes = *byte_count;
    v.name = name;
    v.line = line_number();
    const auto [it, added] = index_.emplace(v.id, static_cast<int>(record_.variables.size()));
    if (!added) {
      lines_.fail("variable ", v.id, " is declared again; it is in line ",
                  record_.variables[static_cast<std::size_t>(it->second)].line);
    }
    if (v.name != "_" && !names_.insert(v.name).second) {
      lines_.fail("the name ", shown(v.name), " belongs to another variable too");
    }
    record_.variables.push_back(std::move(v));
  }

  int known(std::string_view id, const std::string& expected) {
    const auto number = number_in(id);
    if (!number) lines_.fail("found ", shown(lines_.line()), ", expected ", expected);
    const auto it = index_.find(*number);
    if (it == index_.end()) {
      lines_.fail("no variable has the id ", *number, "; ", record_.variables.size(),
                  " are declared at the top");
    }
    return it->second;
  }

  Input input(std::int64_t number, std::int64_t all, bool backward) {
    const std::string expected = str("input ", number + 1, " of ", all, ", `id ",
                                     backward ? "gradient`, `id input` or `id output`" : "_`");
    const auto [id, tag] = cut(line(expected));
    Input in{known(id, expected), Tag::kArray};
    for (Tag t : {Tag::kArray, Tag::kGradient, Tag::kInput, Tag::kOutput}) {
      if (tag != tag_text(t) || (t == Tag::kArray) == backward) continue;
      in.tag = t;
      return in;
    }
    lines_.fail("found ", shown(lines_.line()), ", expected ", expected);
  }

  void operation(std::int64_t number, std::int64_t all) {
    const std::string expected =
        str("operation ", number + 1, " of ", all, ", `forward` or `backward`");
    const std::string_view kind = line(expected);
    if (kind != "forward" && kind != "backward") {
      lines_.fail("found ", shown(kind), ", expected ", expected);
    }
    Operation op;
    op.backward = kind == "backward";
    op.line = line_number();
    const auto [inputs, outputs] = counts("the counts `INPUTS OUTPUTS` of an operation");
    if (outputs == 0 && !op.backward) lines_.fail("a forward operation makes nothing");
    for (std::int64_t i = 0; i < inputs; ++i) op.inputs.push_back(input(i, inputs, op.backward));
    for (std::int64_t i = 0; i < outputs; ++i) {
      const std::string output = str("output ", i + 1, " of ", outputs, ", `id`");
      op.outputs.push_back(known(line(output), output));
    }
    const std::string_view function = line("the name of a function");
    if (!is_word(function)) {
      lines_.fail("found ", shown(function), ", expected the name of a function");
    }
    op.function = function;
    attributes(op);
    record_.operations.push_back(std::move(op));
  }

  void attributes(Operation& op) {
    op.text = line(str("the attributes of ", shown(op.function), ", a JSON object"));
    try {
      op.attributes = parse_members(op.text);
    } catch (const UserError& e) {
      lines_.fail("the attributes of ", shown(op.function), " are wrong: ", shown(op.text), " ",
                  e.what());
    }
    op.retained_inputs = indices(op, "_input_indexes_to_retain", op.inputs.size());
    op.retained_outputs = indices(op, "_output_indexes_to_retain", op.outputs.size());
    const Value* rank = find(op.attributes, "rank");
    if (!rank) return;
    const auto* depth = std::get_if<std::int64_t>(&rank->data);
    if (!depth || *depth < 0 || *depth > kMaxRank) {
      lines_.fail("rank is ", shown(json_text(*rank)), ", expected a depth from 0 on");
    }
    op.rank = *depth;
  }

  /// Positions of a forward's operands; those of a backward repeat what its forward says.
  std::optional<std::vector<std::int64_t>> indices(const Operation& op, std::string_view name,
                                                   std::size_t limit) {
    const Value* value = find(op.attributes, name);
    if (!value || std::holds_alternative<std::monostate>(value->data)) return {};
    const auto wrong = [&]() {
      lines_.fail(name, " is ", shown(json_text(*value)),
                  ", expected null or a list of positions below ", limit);
    };
    const auto* items = std::get_if<std::vector<Value>>(&value->data);
    if (!items) wrong();
    std::vector<std::int64_t> out;
    for (const Value& item : *items) {
      const auto* i = std::get_if<std::int64_t>(&item.data);
      if (!i || *i < 0) wrong();
      if (!op.backward && *i >= static_cast<std::int64_t>(limit)) wrong();
      out.push_back(*i);
    }
    return out;
  }

  int line_number() const { return static_cast<int>(lines_.number()); }

  Lines lines_;
  Record record_;
  std::int64_t total_bytes_ = 0;
  std::unordered_map<std::int64_t, int> index_;  // by id
  std::unordered_set<std::string> names_;
};

}  // namespace

std::string_view tag_text(Tag tag) {
  constexpr std::string_view texts[] = {"_", "gradient", "input", "output"};
  return texts[static_cast<std::size_t>(tag)];
}

bool detects(std::string_view head) {
  const std::size_t end = head.find('\n');
  const auto [variables, operations] = cut(head.substr(0, end));
  if (!number_in(variables) || !number_in(operations)) return false;
  if (end == std::string_view::npos) return true;
  const std::string_view rest = head.substr(end + 1);
  const std::size_t second_end = rest.find('\n');
  if (second_end == std::string_view::npos) return true;  // cut off: reading says so
  const std::string_view second = rest.substr(0, second_end);
  if (second == "forward" || second == "backward") return true;
  const auto [id, more] = cut(second);
  const auto [bytes, name] = cut(more);
  return number_in(id) && !bytes.empty() && is_word(name);
}

Record read(std::string_view text, const std::string& file) { return Reader(text, file).read(); }

}  // namespace plait::io::chainer
