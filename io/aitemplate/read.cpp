// Text to record: the two lists of printed objects, each key with its type.
#include <algorithm>
#include <map>
#include <type_traits>

#include "base/error.h"
#include "base/text.h"
#include "io/aitemplate/check.h"
#include "io/aitemplate/fields.h"
#include "io/aitemplate/format.h"

namespace plait::io::aitemplate {
namespace {

/// What an object is called in messages.
std::string_view kind_of(const IntVar&) { return "a dimension"; }
std::string_view kind_of(const TensorRecord&) { return "a tensor"; }
std::string_view kind_of(const Accessor&) { return "an accessor"; }
std::string_view kind_of(const OperatorRecord&) { return "an operator"; }

class Typed {
 public:
  explicit Typed(const PyReader& reader) : reader_(reader) {}

  /// Takes the typed keys out of `v`; the others go to `rest`.
  template <class R>
  void object(PyValue v, R& out) {
    if (!v.is(PyValue::kDict)) {
      reader_.fail_at(v.at, str(kind_of(out), " is a dict, found ", describe(v)));
    }
    check_keys(v);
    out.at = v.at;
    each_field(out, [&](std::string_view key, auto& field, Presence presence) {
      take(v, key, field, presence, kind_of(out));
    });
    for (Entry& e : v.entries) {
      if (e.key.at.line >= 0) out.rest.push_back(std::move(e));
    }
  }

 private:
  void check_keys(const PyValue& v) {
    std::map<std::string_view, const PyValue*> seen;
    for (const Entry& e : v.entries) {
      if (!e.key.is(PyValue::kText)) {
        reader_.fail_at(e.key.at, "keys are texts, found " + describe(e.key));
      }
      if (!seen.emplace(e.key.text, &e.key).second) {
        reader_.fail_at(e.key.at, str("key '", e.key.text, "' stands twice"));
      }
    }
  }

  template <class T>
  void take(PyValue& v, std::string_view key, T& field, Presence presence, std::string_view owner) {
    for (Entry& e : v.entries) {
      if (e.key.text != key) continue;
      if (presence != Presence::kRequired && e.value.is(PyValue::kNone)) {
        if (presence == Presence::kNullable) e.key.at.line = -1;
        return;
      }
      if constexpr (std::is_same_v<T, std::optional<std::vector<ExecPath>>>) {
        if (!e.value.is(PyValue::kOrderedDict)) return;  // kept as printed
      }
      e.key.at.line = -1;  // used up
      convert(std::move(e.value), key, field);
      return;
    }
    if (presence == Presence::kRequired) {
      reader_.fail_at(v.at, str(owner, " has no '", key, "'; is the document cut?"));
    }
  }

  [[noreturn]] void wrong(const PyValue& v, std::string_view key, std::string_view wanted) {
    reader_.fail_at(v.at, str("'", key, "' is ", wanted, ", found ", describe(v)));
  }

  void convert(PyValue v, std::string_view key, std::string& out) {
    if (!v.is(PyValue::kText)) wrong(v, key, "a text");
    out = std::move(v.text);
  }
  void convert(PyValue v, std::string_view key, bool& out) {
    if (!v.is(PyValue::kBool)) wrong(v, key, "True or False");
    out = v.whole != 0;
  }
  void convert(PyValue v, std::string_view key, std::int64_t& out) {
    if (!v.is(PyValue::kInt)) wrong(v, key, "a whole number");
    out = v.whole;
  }
  void convert(PyValue v, std::string_view, PyValue& out) { out = std::move(v); }
  void convert(PyValue v, std::string_view, IntVar& out) { object(std::move(v), out); }
  void convert(PyValue v, std::string_view, Accessor& out) { object(std::move(v), out); }
  void convert(PyValue v, std::string_view, OperatorRecord& out) { object(std::move(v), out); }
  void convert(PyValue v, std::string_view key, std::vector<ExecPath>& out) {
    for (Entry& e : v.entries) {
      if (!e.key.is(PyValue::kText)) wrong(e.key, key, "a map from texts");
      out.push_back({std::move(e.key.text), std::move(e.value)});
    }
  }
  template <class T>
  void convert(PyValue v, std::string_view key, std::vector<T>& out) {
    if (!v.is(PyValue::kList)) wrong(v, key, "a list");
    for (PyValue& item : v.items) convert(std::move(item), key, out.emplace_back());
  }
  template <class T>
  void convert(PyValue v, std::string_view key, std::optional<T>& out) {
    convert(std::move(v), key, out.emplace());
  }

  const PyReader& reader_;
};

template <class R>
void read_objects(PyReader& reader, std::vector<R>& out, std::string_view what) {
  for (reader.skip_space(); reader.peek() == '{'; reader.skip_space()) {
    if (static_cast<std::int64_t>(out.size()) == kMaxItems) {
      reader.fail(str("more than ", with_commas(kMaxItems), " ", what));
    }
    Typed(reader).object(reader.value(), out.emplace_back());
  }
}

/// Python prints no carriage return: with one, the document is not as it was printed.
void refuse_carriage_returns(std::string_view text, const std::string& file) {
  const std::size_t end = text.find('\r');
  if (end == std::string_view::npos) return;
  const std::string_view before = text.substr(0, end);
  const std::size_t start = before.rfind('\n') + 1;  // npos + 1 is 0
  fail(file, ":", std::count(before.begin(), before.end(), '\n') + 1, ":", end - start + 1,
       ": the line ends with a carriage return, expected a newline alone. Was the document saved ",
       "on Windows?");
}

}  // namespace

bool detects(std::string_view head) {
  head = trim(head.substr(0, 4096));
  if (!head.starts_with("Tensors:")) return false;
  head = trim(head.substr(8));
  return head.empty() || head.front() == '{' || head.starts_with("Operators:");
}

Record read(std::string_view text, const std::string& file) {
  refuse_carriage_returns(text, file);
  PyReader reader(text, file);
  Record record;
  record.file = file;
  reader.skip_space();
  if (!reader.accept("Tensors:")) {
    reader.fail("`Tensors:` was expected; AITemplate's sorted_graph_debug_str begins with it");
  }
  read_objects(reader, record.tensors, "tensors");
  if (!reader.accept("Operators:")) {
    reader.fail(reader.at_end() ? "the text ends without `Operators:`; is the document cut?"
                                : "a tensor `{` or `Operators:` was expected");
  }
  read_objects(reader, record.operators, "operators");
  if (!reader.at_end()) reader.fail("an operator `{` or the end of the text was expected");
  check_record(record);
  return record;
}

const PyValue* find_entry(const std::vector<Entry>& rest, std::string_view key) {
  for (const Entry& e : rest) {
    if (e.key.text == key) return e.value.is(PyValue::kNone) ? nullptr : &e.value;
  }
  return nullptr;
}

const PyValue* OperatorRecord::find(std::string_view key) const { return find_entry(rest, key); }

std::string func_name(const OperatorRecord& op) {
  constexpr std::string_view kBegin = "<FuncEnum.";
  if (!op.func || !op.func->is(PyValue::kForeign)) return "";
  const std::string& text = op.func->text;
  if (!text.starts_with(kBegin)) return "";
  return text.substr(kBegin.size(), text.find_first_of(":>") - kBegin.size());
}

std::vector<std::string> names_in(const PyValue& list) {
  std::vector<std::string> out;
  for (const PyValue& item : list.items) {
    const PyValue* name = item.is(PyValue::kDict) ? item.find("name") : &item;
    out.push_back(name && name->is(PyValue::kText) ? name->text : "");
  }
  return out;
}

std::string view_of(const TensorRecord& tensor) {
  return tensor.is_view_of ? names_in(PyValue::list({*tensor.is_view_of}))[0] : "";
}

}  // namespace plait::io::aitemplate
