// The type of a value: dtype, shape and, when distributed, a place. Memory layout is not here: it
// belongs to the buffer that the plan gives a value.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>

#include "base/dtype.h"
#include "base/shape.h"
#include "ir/place.h"

namespace plait::ir {

struct Type {
  DType dtype = DType::f32;
  Shape shape;
  Place place{};

  int rank() const { return static_cast<int>(shape.size()); }
  Dim elements() const { return element_count(shape); }
  Dim bytes() const { return elements() * Dim(static_cast<std::int64_t>(size_of(dtype))); }
  bool operator==(const Type&) const = default;
};

/// `f32[batch,8]`, with ` on cuda[0,1](S(0))` behind it when distributed.
std::string type_text(const Type& type);
inline std::ostream& operator<<(std::ostream& out, const Type& t) { return out << type_text(t); }

}  // namespace plait::ir
