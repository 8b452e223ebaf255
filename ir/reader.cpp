// Types, places and attribute values. Nothing is allocated for a literal before its values stand in
// the text.
#include "ir/reader.h"

#include <cmath>
#include <limits>

#include "base/names.h"
#include "ir/text.h"

namespace plait::ir {
namespace {

int read_int(Lexer& in, std::string_view what) {
  const std::size_t start = in.skip();
  const std::int64_t value = in.integer(what);
  if (value < 0 || value > std::numeric_limits<int>::max()) {
    throw SyntaxError{start, str(what, " cannot be ", value)};
  }
  return static_cast<int>(value);
}

Layout read_layout(Lexer& in) {
  if (in.take_word("B")) return {Layout::kBroadcast};
  if (in.take_word("P")) return {Layout::kPartial};
  if (!in.take_word("S")) in.expected("'S(dimension)', 'B' or 'P'");
  in.expect('(', "after 'S'");
  const int axis = read_int(in, "a split dimension");
  in.expect(')', "after the split dimension");
  return {Layout::kSplit, axis};
}

Place read_place(Lexer& in) {
  Place place;
  const std::size_t start = in.skip();
  place.device = in.name("a device");
  if (place.device.empty()) throw SyntaxError{start, "a device cannot have an empty name"};
  in.expect('[', "and the ranks of the mesh after the device");
  in.list(']', [&] { place.ranks.push_back(read_int(in, "a rank")); });
  if (in.take('{')) {
    in.list('}', [&] { place.mesh.push_back(in.integer("the size of a mesh axis")); });
  } else {
    place.mesh = {static_cast<std::int64_t>(place.ranks.size())};
  }
  in.expect('(', "and a layout per mesh axis");
  in.list(')', [&] { place.axes.push_back(read_layout(in)); });
  return place;
}

Sizes read_sizes(Lexer& in) {
  Sizes sizes;
  in.expect('[', "after the dtype");
  in.list(']', [&] {
    const std::size_t start = in.skip();
    sizes.push_back(in.integer("a number: a literal's sizes are not symbolic"));
    if (sizes.back() < 0) throw SyntaxError{start, str("a size cannot be ", sizes.back())};
  });
  return sizes;
}

/// One element in the text; `offset` is for the message when it does not fit the dtype.
struct Element {
  std::size_t offset;
  double real;
  std::int64_t integer;
};

Element read_element(Lexer& in, bool floating) {
  Element e{in.skip(), 0, 0};
  const std::optional<double> real = floating ? in.real() : std::nullopt;
  if (!real) e.integer = in.integer(floating ? "a number" : "a whole number");
  e.real = real ? *real : static_cast<double>(e.integer);
  return e;
}

Literal read_literal(Lexer& in, DType dtype) {
  const std::size_t start = in.skip();
  Sizes sizes = read_sizes(in);
  const std::int64_t count = in.located(start, [&] { return element_count(sizes); });
  in.expect('{', "and the values of the literal");
  std::vector<Element> elements;
  in.list('}', [&] { elements.push_back(read_element(in, is_float(dtype))); });
  if (static_cast<std::int64_t>(elements.size()) != count) {
    throw SyntaxError{start, str("a literal ", dtype, shape_text(sizes), " has ", count,
                                 " values, found ", elements.size())};
  }
  Array array(dtype, std::move(sizes));
  for (std::size_t n = 0; n < elements.size(); ++n) {
    const Element& e = elements[n];
    const auto i = static_cast<std::int64_t>(n);
    if (is_float(dtype)) {
      array.set(i, e.real);
      if (std::isinf(array.real(i)) && !std::isinf(e.real)) {
        throw SyntaxError{e.offset, str(real_text(e.real), " does not fit ", dtype)};
      }
    } else {
      array.set_integer(i, e.integer);
      if (array.integer(i) != e.integer) {
        throw SyntaxError{e.offset, str(e.integer, " does not fit ", dtype)};
      }
    }
  }
  return {std::make_shared<const Array>(std::move(array))};
}

AttrValue read_strings(Lexer& in) {
  std::vector<std::string> strings;
  in.list(']', [&] {
    if (in.peek() != '"') in.expected("a string, as the first of the list");
    strings.push_back(in.quoted_string());
  });
  return strings;
}

/// Sizes, or doubles as soon as one element is a double.
AttrValue read_numbers(Lexer& in, const DimResolver& resolve) {
  struct Number {
    std::size_t offset;
    std::optional<double> real;
    Dim dim;
  };
  std::vector<Number> numbers;
  bool any_real = false;
  in.list(']', [&] {
    Number n{in.skip(), in.real(), {}};
    if (!n.real) n.dim = in.dim(resolve);
    any_real |= n.real.has_value();
    numbers.push_back(std::move(n));
  });
  Shape dims;
  std::vector<double> reals;
  for (const Number& n : numbers) {
    if (!any_real) {
      dims.push_back(n.dim);
    } else if (n.real) {
      reals.push_back(*n.real);
    } else if (n.dim.is_const()) {
      reals.push_back(static_cast<double>(n.dim.value()));
    } else {
      throw SyntaxError{n.offset, str("the list holds real numbers, ", n.dim, " is symbolic")};
    }
  }
  if (any_real) return reals;
  return dims;
}

}  // namespace

Type read_type(Lexer& in, const DimResolver& resolve) {
  Type type;
  type.dtype = in.dtype("a type such as f32[2,3]");
  in.expect('[', "after the dtype");
  in.list(']', [&] { type.shape.push_back(in.dim(resolve)); });
  if (in.take_word("on")) type.place = read_place(in);
  return type;
}

AttrValue read_value(Lexer& in, const DimResolver& resolve) {
  if (in.peek() == '"') return in.quoted_string();
  if (in.take('[')) return in.peek() == '"' ? read_strings(in) : read_numbers(in, resolve);
  if (in.take_word("true")) return true;
  if (in.take_word("false")) return false;
  if (const std::optional<DType> dtype = dtype_named(in.bare())) {
    in.pos += name_of(*dtype).size();
    if (in.peek() != '[') return *dtype;
    return read_literal(in, *dtype);
  }
  if (const std::optional<double> real = in.real()) return *real;
  return in.dim(resolve);
}

void read_attr_into(Attrs& attrs, std::string name, std::size_t start, Lexer& in,
                    const DimResolver& resolve) {
  AttrValue value = read_value(in, resolve);
  if (attrs.find(name)) {
    throw SyntaxError{start, str("the attribute ", name_text(name), " is given twice")};
  }
  attrs.set(std::move(name), std::move(value));
}

Type parse_type(std::string_view text, const DimResolver& resolve) {
  Lexer in{text};
  try {
    Type type = read_type(in, resolve);
    if (!in.at_end()) in.expected("the end of the type");
    return type;
  } catch (const SyntaxError& e) {
    fail("type '", text.substr(0, 80), "' at column ", e.offset + 1, ": ", e.message);
  }
}

}  // namespace plait::ir
