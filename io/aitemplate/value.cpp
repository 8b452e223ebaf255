// Making, finding and naming Python values.
#include "io/aitemplate/value.h"

#include <bit>

#include "base/error.h"
#include "base/text.h"

namespace plait::io::aitemplate {

const PyValue* PyValue::find(std::string_view key) const {
  for (const Entry& e : entries) {
    if (e.key.is(kText) && e.key.text == key) return &e.value;
  }
  return nullptr;
}

bool PyValue::operator==(const PyValue& o) const {
  // Numbers by their bits, so that a NaN equals itself.
  return kind == o.kind && whole == o.whole &&
         std::bit_cast<std::uint64_t>(real) == std::bit_cast<std::uint64_t>(o.real) &&
         text == o.text && items == o.items && entries == o.entries;
}

PyValue PyValue::of(bool b) {
  PyValue v;
  v.kind = kBool;
  v.whole = b;
  return v;
}

PyValue PyValue::of(std::int64_t n) {
  PyValue v;
  v.kind = kInt;
  v.whole = n;
  return v;
}

PyValue PyValue::of(double x) {
  PyValue v;
  v.kind = kFloat;
  v.real = x;
  v.text = py_real(x);
  return v;
}

PyValue PyValue::of(std::string text) {
  PyValue v;
  v.kind = kText;
  v.text = std::move(text);
  return v;
}

PyValue PyValue::foreign(std::string text) {
  PyValue v;
  v.kind = kForeign;
  v.text = std::move(text);
  return v;
}

PyValue PyValue::list(std::vector<PyValue> items) {
  PyValue v;
  v.kind = kList;
  v.items = std::move(items);
  return v;
}

PyValue PyValue::dict(std::vector<Entry> entries, bool object) {
  PyValue v;
  v.kind = kDict;
  v.entries = std::move(entries);
  v.object = object;
  return v;
}

std::string describe(const PyValue& value) {
  constexpr std::size_t kShown = 40;
  const auto shown = [&](const std::string& text) {
    return text.size() <= kShown ? text : text.substr(0, kShown) + "...";
  };
  switch (value.kind) {
    case PyValue::kNone:
      return "None";
    case PyValue::kBool:
      return value.whole ? "True" : "False";
    case PyValue::kInt:
      return str("the number ", value.whole);
    case PyValue::kFloat:
      return "the number " + shown(value.text);
    case PyValue::kText:
      return "the text " + quoted(shown(value.text));
    case PyValue::kList:
      return "a list";
    case PyValue::kTuple:
      return "a tuple";
    case PyValue::kDict:
    case PyValue::kOrderedDict:
      return "a dict";
    case PyValue::kForeign:
      return "`" + shown(value.text) + "`";
  }
  return "a value";
}

}  // namespace plait::io::aitemplate
