// Attributes of Plait's ops as JSON. Numbers, words and lists are themselves; a dtype and an array
// are objects.
#include "base/error.h"
#include "base/text.h"
#include "io/chainer/call.h"
#include "io/chainer/words.h"

namespace plait::io::chainer {
namespace {

Value array_value(const Array& array) {
  Members m{{"dtype", {std::string(name_of(array.dtype()))}}, {"shape", {}}, {"values", {}}};
  std::vector<Value> shape, values;
  for (std::int64_t n : array.sizes()) shape.emplace_back().data = n;
  for (std::int64_t i = 0; i < array.count(); ++i) {
    if (is_float(array.dtype())) {
      const double x = array.real(i);
      values.push_back(x - x == 0 ? Value{x} : Value{real_text(x)});  // JSON has no infinity
    } else {
      values.emplace_back().data = array.integer(i);
    }
  }
  m[1].value = {std::move(shape)};
  m[2].value = {std::move(values)};
  return {std::move(m)};
}

DType dtype_in(const Value* value) {
  const auto* name = value ? std::get_if<std::string>(&value->data) : nullptr;
  const auto dtype = name ? dtype_named(*name) : std::nullopt;
  if (!dtype) fail("is of no dtype");
  return *dtype;
}

ir::AttrValue array_attr(const Members& m) {
  const Value* shape = find(m, "shape");
  const Value* values = find(m, "values");
  if (!shape || !values) return dtype_in(find(m, "dtype"));
  const auto* sizes = std::get_if<std::vector<Value>>(&shape->data);
  const auto* items = std::get_if<std::vector<Value>>(&values->data);
  if (!sizes || !items) fail("an array without sizes or values");
  Sizes numbers;
  std::int64_t count = 1;
  for (const Value& v : *sizes) {
    const auto n = whole(v);
    if (!n || *n < 0) fail("an array with a size ", json_text(v).substr(0, 40));
    numbers.push_back(*n);
    count = times(count, *n);
  }
  if (count != static_cast<std::int64_t>(items->size())) fail("an array of ", count, " values");
  Array array(dtype_in(find(m, "dtype")), numbers);
  for (std::int64_t i = 0; i < count; ++i) {
    const Value& v = (*items)[static_cast<std::size_t>(i)];
    if (const auto* n = std::get_if<std::int64_t>(&v.data)) {
      array.set_integer(i, *n);
    } else if (const auto* x = std::get_if<double>(&v.data)) {
      array.set(i, *x);
    } else if (const auto* text = std::get_if<std::string>(&v.data)) {
      array.set(i, parse_real(*text, "an array's value"));
    } else {
      fail("an array with a value ", json_text(v).substr(0, 40));
    }
  }
  return ir::Literal{std::make_shared<const Array>(std::move(array))};
}

ir::AttrValue list_attr(const std::vector<Value>& items) {
  Shape sizes;
  std::vector<double> reals;
  std::vector<std::string> texts;
  for (const Value& v : items) {
    if (const auto n = whole(v)) sizes.emplace_back(*n);
    if (const auto* x = std::get_if<double>(&v.data)) reals.push_back(*x);
    if (const auto* s = std::get_if<std::string>(&v.data)) texts.push_back(*s);
  }
  if (sizes.size() == items.size()) return sizes;
  if (reals.size() == items.size()) return reals;
  if (texts.size() == items.size()) return texts;
  fail("a list of several kinds");
}

}  // namespace

Value attr_value(const ir::AttrValue& value) {
  struct Writer {
    Value operator()(bool b) const { return {b}; }
    Value operator()(const Dim& d) const { return {d.value()}; }
    Value operator()(double x) const {
      return x - x == 0 ? Value{x} : Value{Members{{"real", {real_text(x)}}}};
    }
    Value operator()(const std::string& s) const { return {s}; }
    Value operator()(DType t) const { return {Members{{"dtype", {std::string(name_of(t))}}}}; }
    Value operator()(const std::vector<Dim>& dims) const {
      std::vector<Value> out;
      for (const Dim& d : dims) out.emplace_back().data = d.value();
      return {std::move(out)};
    }
    Value operator()(const std::vector<double>& xs) const {
      std::vector<Value> out;
      for (double x : xs) out.emplace_back().data = x;
      return {std::move(out)};
    }
    Value operator()(const std::vector<std::string>& texts) const {
      std::vector<Value> out;
      for (const std::string& s : texts) out.emplace_back().data = s;
      return {std::move(out)};
    }
    Value operator()(const ir::Literal& literal) const { return array_value(*literal.array); }
  };
  return std::visit(Writer{}, value);
}

ir::AttrValue value_attr(const Value& value) {
  if (const auto* b = std::get_if<bool>(&value.data)) return *b;
  if (const auto n = whole(value)) return Dim(*n);
  if (const auto* x = std::get_if<double>(&value.data)) return *x;
  if (const auto* s = std::get_if<std::string>(&value.data)) return *s;
  if (const auto* items = std::get_if<std::vector<Value>>(&value.data)) return list_attr(*items);
  if (const auto* m = std::get_if<Members>(&value.data)) {
    const Value* real = find(*m, "real");
    const auto* text = real ? std::get_if<std::string>(&real->data) : nullptr;
    return text ? ir::AttrValue(parse_real(*text, "an attribute")) : array_attr(*m);
  }
  fail("an attribute ", json_text(value).substr(0, 40));
}

}  // namespace plait::io::chainer
