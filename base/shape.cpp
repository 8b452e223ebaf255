// Shapes: counting, printing, fixing symbols.
#include "base/shape.h"

#include "base/error.h"

namespace plait {
namespace {

std::string size_text(const Dim& d) {
  return d.is_const() ? std::to_string(d.value()) : d.text();
}
std::string size_text(std::int64_t size) { return std::to_string(size); }

template <class List>
std::string list_text(const List& list) {
  std::string out = "[";
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (i > 0) out += ',';
    out += size_text(list[i]);
  }
  return out += ']';
}

}  // namespace

Dim element_count(const Shape& shape) {
  Dim n = 1;
  for (const Dim& d : shape) n = n * d;
  return n;
}

std::int64_t element_count(const Sizes& sizes) {
  std::int64_t n = 1;
  for (std::int64_t d : sizes) {
    if (__builtin_mul_overflow(n, d, &n)) {
      fail("shape ", shape_text(sizes), " has more elements than 64 bits can count");
    }
  }
  return n;
}

std::string shape_text(const Shape& shape) { return list_text(shape); }
std::string shape_text(const Sizes& sizes) { return list_text(sizes); }

Sizes sizes_of(const Shape& shape) { return sizes_of(shape, {}); }

Sizes sizes_of(const Shape& shape, const DimBindings& bindings) {
  Sizes sizes;
  sizes.reserve(shape.size());
  for (const Dim& d : shape) sizes.push_back(evaluate(d, bindings));
  return sizes;
}

Shape shape_of(const Sizes& sizes) { return Shape(sizes.begin(), sizes.end()); }

Shape substitute(const Shape& shape, const DimBindings& bindings) {
  Shape out;
  out.reserve(shape.size());
  for (const Dim& d : shape) out.push_back(d.substitute(bindings));
  return out;
}

Sizes strides_of(const Sizes& sizes) {
  Sizes strides(sizes.size());
  std::int64_t step = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    strides[i] = step;
    step *= sizes[i];
  }
  return strides;
}

}  // namespace plait
