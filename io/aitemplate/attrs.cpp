// Attribute values to Python values and back.
#include "io/aitemplate/attrs.h"

#include <algorithm>

#include "base/error.h"
#include "io/aitemplate/check.h"
#include "io/import.h"

namespace plait::io::aitemplate {
namespace {

constexpr std::string_view kDTypeBegin = "<DType.";

template <class T, class F>
PyValue py_list(const std::vector<T>& list, F f) {
  std::vector<PyValue> items;
  for (const T& x : list) items.push_back(f(x));
  return PyValue::list(std::move(items));
}

/// An array written out: its dtype, sizes and elements.
PyValue py_of_literal(const ir::Literal& literal) {
  if (!literal.array) return {};
  const Array& a = *literal.array;
  std::vector<PyValue> values;
  for (std::int64_t i = 0; i < a.count(); ++i) {
    values.push_back(is_float(a.dtype()) ? PyValue::of(a.real(i)) : PyValue::of(a.integer(i)));
  }
  return PyValue::dict(
      {{PyValue::of("dtype"), PyValue::of(std::string(dtype_text(a.dtype())))},
       {PyValue::of("shape"), py_list(a.sizes(), [](std::int64_t n) { return PyValue::of(n); })},
       {PyValue::of("values"), PyValue::list(std::move(values))}},
      false);
}

ir::Literal literal_of(const PyValue& v) {
  const PyValue *dtype = v.find("dtype"), *shape = v.find("shape"), *values = v.find("values");
  const std::optional<DType> type =
      dtype && dtype->is(PyValue::kText) ? dtype_of(dtype->text) : std::optional<DType>();
  if (!type || !shape || !values) fail("a constant needs 'dtype', 'shape' and 'values'");
  Sizes sizes;
  for (const PyValue& n : shape->items) sizes.push_back(n.is(PyValue::kInt) ? n.whole : -1);
  const std::string why = why_bad_sizes(sizes);
  if (!why.empty()) fail("the shape of a constant: ", why);
  if (element_count(sizes) != static_cast<std::int64_t>(values->items.size())) {
    fail("a constant of shape ", shape_text(sizes), " has ", values->items.size(), " values");
  }
  Array array(*type, sizes);
  for (std::size_t i = 0; i < values->items.size(); ++i) {
    const PyValue& x = values->items[i];
    const auto at = static_cast<std::int64_t>(i);
    if (x.is(PyValue::kFloat)) {
      array.set(at, x.real);
    } else if (is_float(*type)) {
      array.set(at, static_cast<double>(x.whole));
    } else {
      array.set_integer(at, x.whole);
    }
  }
  return {std::make_shared<Array>(std::move(array))};
}

Dim dim_of(const PyValue& v, const DimResolver& resolve) {
  if (v.is(PyValue::kInt)) return v.whole;
  if (!v.is(PyValue::kForeign)) fail("a size is a number or a formula, found ", describe(v));
  std::size_t pos = 0;
  const Dim dim = parse_dim(v.text, pos, resolve);
  if (pos != v.text.size()) fail("a size is a number or a formula, found ", describe(v));
  return dim;
}

ir::AttrValue list_of(const PyValue& v, const DimResolver& resolve) {
  const auto any = [&](PyValue::Kind kind) {
    return std::any_of(v.items.begin(), v.items.end(),
                       [&](const PyValue& x) { return x.is(kind); });
  };
  if (any(PyValue::kText)) {
    std::vector<std::string> texts;
    for (const PyValue& x : v.items) texts.push_back(x.text);
    return texts;
  }
  if (any(PyValue::kFloat)) {
    std::vector<double> reals;
    for (const PyValue& x : v.items) {
      reals.push_back(x.is(PyValue::kFloat) ? x.real : static_cast<double>(x.whole));
    }
    return reals;
  }
  Shape dims;
  for (const PyValue& x : v.items) dims.push_back(dim_of(x, resolve));
  return dims;
}

ir::AttrValue attr_of(const PyValue& v, const DimResolver& resolve) {
  switch (v.kind) {
    case PyValue::kBool:
      return v.whole != 0;
    case PyValue::kInt:
      return Dim(v.whole);
    case PyValue::kFloat:
      return v.real;
    case PyValue::kText:
      return v.text;
    case PyValue::kList:
    case PyValue::kTuple:
      return list_of(v, resolve);
    case PyValue::kDict:
      return literal_of(v);
    case PyValue::kForeign:
      if (v.text.starts_with(kDTypeBegin) && v.text.back() == '>') {
        const std::string_view name = std::string_view(v.text).substr(
            kDTypeBegin.size(), v.text.size() - kDTypeBegin.size() - 1);
        if (const auto dtype = dtype_named(name)) return *dtype;
      }
      return dim_of(v, resolve);
    default:
      fail("an attribute cannot be ", describe(v));
  }
}

}  // namespace

PyValue py_of_dim(const Dim& dim) {
  return dim.is_const() ? PyValue::of(dim.value()) : PyValue::foreign(dim.text());
}

PyValue py_of_attrs(const ir::Attrs& attrs) {
  struct Maker {
    PyValue operator()(bool b) const { return PyValue::of(b); }
    PyValue operator()(const Dim& d) const { return py_of_dim(d); }
    PyValue operator()(double x) const { return PyValue::of(x); }
    PyValue operator()(const std::string& s) const { return PyValue::of(s); }
    PyValue operator()(DType t) const {
      return PyValue::foreign(str(kDTypeBegin, name_of(t), ">"));
    }
    PyValue operator()(const Shape& l) const { return py_list(l, py_of_dim); }
    PyValue operator()(const std::vector<double>& l) const {
      return py_list(l, [](double x) { return PyValue::of(x); });
    }
    PyValue operator()(const std::vector<std::string>& l) const {
      return py_list(l, [](const std::string& s) { return PyValue::of(s); });
    }
    PyValue operator()(const ir::Literal& l) const { return py_of_literal(l); }
  };
  std::vector<Entry> entries;
  for (const auto& [name, value] : attrs) {
    entries.push_back({PyValue::of(name), std::visit(Maker{}, value)});
  }
  return PyValue::dict(std::move(entries), false);
}

ir::Attrs attrs_of_py(const PyValue& dict, const DimResolver& resolve) {
  ir::Attrs out;
  for (const Entry& e : dict.entries) {
    try {
      out.set(e.key.text, attr_of(e.value, resolve));
    } catch (const UserError& error) {
      fail("attribute '", e.key.text, "': ", error.what());
    }
  }
  return out;
}

ir::Attrs known_attrs(const std::vector<Entry>& rest) {
  const DimResolver none = [](std::string_view name) -> Dim { fail("no symbol ", name); };
  ir::Attrs out;
  for (const Entry& e : rest) {
    const std::string& key = e.key.text;
    if (key == "depth" || key == "nop" || key == "has_profiler" || key == "original_name") continue;
    try {
      if (!e.value.is(PyValue::kDict)) out.set(e.key.text, attr_of(e.value, none));
    } catch (const UserError&) {  // the record keeps it
    }
  }
  return out;
}

}  // namespace plait::io::aitemplate
