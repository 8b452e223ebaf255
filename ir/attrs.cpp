// Attribute values: text, and reading one as the C++ type that a field has.
#include "ir/attrs.h"

#include <algorithm>

namespace plait::ir {
namespace {

std::string literal_text(const Array& a) {
  std::string out = type_text(a) + "{";
  for (std::int64_t i = 0; i < a.count(); ++i) {
    if (i) out += ",";
    out += is_float(a.dtype()) ? real_text(a.real(i)) : std::to_string(a.integer(i));
  }
  return out + "}";
}

template <class T, class Print>
std::string list_text(const std::vector<T>& list, Print print) {
  std::string out = "[";
  for (std::size_t i = 0; i < list.size(); ++i) out += (i ? "," : "") + print(list[i]);
  return out + "]";
}

bool is_empty_list(const AttrValue& v) {
  const auto* dims = std::get_if<std::vector<Dim>>(&v);
  return dims && dims->empty();
}

template <class T>
bool read_exactly(const AttrValue& v, T& out) {
  if (const T* x = std::get_if<T>(&v)) {
    out = *x;
    return true;
  }
  return false;
}

}  // namespace

std::string attr_text(const AttrValue& value) {
  struct Printer {
    std::string operator()(bool b) const { return b ? "true" : "false"; }
    std::string operator()(const Dim& d) const { return d.text(); }
    std::string operator()(double d) const { return real_text(d); }
    std::string operator()(const std::string& s) const { return quoted(s); }
    std::string operator()(DType t) const { return std::string(name_of(t)); }
    std::string operator()(const std::vector<Dim>& l) const { return shape_text(l); }
    std::string operator()(const std::vector<double>& l) const { return list_text(l, real_text); }
    std::string operator()(const std::vector<std::string>& l) const {
      return list_text(l, [](const std::string& s) { return quoted(s); });
    }
    std::string operator()(const Literal& l) const { return l.array ? literal_text(*l.array) : ""; }
  };
  return std::visit(Printer{}, value);
}

const AttrValue* Attrs::find(std::string_view name) const {
  for (const auto& [key, value] : items_) {
    if (key == name) return &value;
  }
  return nullptr;
}

void Attrs::set(std::string name, AttrValue value) {
  auto it = std::lower_bound(items_.begin(), items_.end(), name,
                             [](const auto& item, const std::string& n) { return item.first < n; });
  if (it != items_.end() && it->first == name) {
    it->second = std::move(value);
  } else {
    items_.insert(it, {std::move(name), std::move(value)});
  }
}

bool read_attr(const AttrValue& v, bool& out) { return read_exactly(v, out); }
bool read_attr(const AttrValue& v, Dim& out) { return read_exactly(v, out); }
bool read_attr(const AttrValue& v, std::string& out) { return read_exactly(v, out); }
bool read_attr(const AttrValue& v, DType& out) { return read_exactly(v, out); }
bool read_attr(const AttrValue& v, Shape& out) { return read_exactly(v, out); }
bool read_attr(const AttrValue& v, Literal& out) { return read_exactly(v, out); }

bool read_attr(const AttrValue& v, std::optional<DType>& out) {
  DType t;
  if (!read_exactly(v, t)) return false;
  out = t;
  return true;
}

bool read_attr(const AttrValue& v, std::int64_t& out) {
  const Dim* d = std::get_if<Dim>(&v);
  if (!d || !d->is_const()) return false;
  out = d->value();
  return true;
}

bool read_attr(const AttrValue& v, double& out) {
  if (read_exactly(v, out)) return true;
  std::int64_t whole;
  if (!read_attr(v, whole)) return false;
  out = static_cast<double>(whole);
  return true;
}

bool read_attr(const AttrValue& v, Sizes& out) {
  const Shape* dims = std::get_if<Shape>(&v);
  if (!dims) return false;
  for (const Dim& d : *dims) {
    if (!d.is_const()) return false;
  }
  out = sizes_of(*dims);
  return true;
}

bool read_attr(const AttrValue& v, std::vector<double>& out) {
  if (read_exactly(v, out)) return true;
  Sizes whole;
  if (!read_attr(v, whole)) return false;
  out.assign(whole.begin(), whole.end());
  return true;
}

bool read_attr(const AttrValue& v, std::vector<std::string>& out) {
  if (is_empty_list(v)) {
    out.clear();
    return true;
  }
  return read_exactly(v, out);
}

}  // namespace plait::ir
