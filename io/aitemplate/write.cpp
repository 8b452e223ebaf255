// Record to text: every object as Python's pprint shows it.
#include <algorithm>

#include "io/aitemplate/fields.h"
#include "io/aitemplate/format.h"

namespace plait::io::aitemplate {
namespace {

PyValue py_of(const std::string& text) { return PyValue::of(text); }
PyValue py_of(bool b) { return PyValue::of(b); }
PyValue py_of(std::int64_t n) { return PyValue::of(n); }
PyValue py_of(const PyValue& v) { return v; }
PyValue py_of(const std::vector<ExecPath>& paths);
template <class R>
PyValue py_of(const R& record) requires requires {
  record.rest;
};
template <class T>
PyValue py_of(const std::vector<T>& list) {
  std::vector<PyValue> items;
  for (const T& item : list) items.push_back(py_of(item));
  return PyValue::list(std::move(items));
}
template <class T>
PyValue py_of(const std::optional<T>& field) {
  return field ? py_of(*field) : PyValue{};
}

PyValue py_of(const std::vector<ExecPath>& paths) {
  PyValue v;
  v.kind = PyValue::kOrderedDict;
  for (const ExecPath& p : paths) v.entries.push_back({PyValue::of(p.predicate), p.kernel});
  return v;
}

template <class T>
bool has_value(const T&) {
  return true;
}
template <class T>
bool has_value(const std::optional<T>& field) {
  return field.has_value();
}

template <class R>
PyValue py_of(const R& record) requires requires {
  record.rest;
}
{
  std::vector<Entry> entries = record.rest;
  each_field(record, [&](const char* key, const auto& field, Presence presence) {
    if (presence == Presence::kOptional && !has_value(field)) return;
    entries.push_back({PyValue::of(key), py_of(field)});
  });
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Entry& a, const Entry& b) { return a.key.text < b.key.text; });
  return PyValue::dict(std::move(entries));
}

template <class R>
std::string printed(const std::vector<R>& list) {
  std::string out;
  for (const R& item : list) out += (out.empty() ? "" : "\n\n") + pformat(py_of(item));
  return out;
}

}  // namespace

std::string write(const Record& record) {
  return "Tensors: " + printed(record.tensors) + "\n\nOperators: " + printed(record.operators) +
         "\n\n";
}

}  // namespace plait::io::aitemplate
