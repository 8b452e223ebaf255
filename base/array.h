// A tensor on the host: dtype, sizes, row-major bytes. What feeds, fetches, states and literals are
// made of; not a value of the graph.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/convert.h"
#include "base/dtype.h"
#include "base/shape.h"

namespace plait {

class Array {
 public:
  Array() = default;
  /// Zero-filled; RunError when the memory cannot be had.
  Array(DType dtype, Sizes sizes);

  /// From values in row-major order, converted to dtype.
  static Array of(DType dtype, Sizes sizes, const std::vector<double>& values);
  static Array scalar(DType dtype, double value) { return of(dtype, {}, {value}); }

  DType dtype() const { return dtype_; }
  const Sizes& sizes() const { return sizes_; }
  std::int64_t count() const { return count_; }
  std::size_t byte_count() const { return bytes_.size(); }
  std::byte* data() { return bytes_.data(); }
  const std::byte* data() const { return bytes_.data(); }

  /// Typed elements; Bug when T does not store this dtype.
  template <class T>
  std::span<T> as() {
    check(sizeof(T) == size_of(dtype_), "an array of ", dtype_, " is read as another type");
    return {reinterpret_cast<T*>(bytes_.data()), static_cast<std::size_t>(count_)};
  }
  template <class T>
  std::span<const T> as() const {
    check(sizeof(T) == size_of(dtype_), "an array of ", dtype_, " is read as another type");
    return {reinterpret_cast<const T*>(bytes_.data()), static_cast<std::size_t>(count_)};
  }

  /// Element i (row-major) converted; exact for every dtype but i64 read as double.
  double real(std::int64_t i) const;
  std::int64_t integer(std::int64_t i) const;
  void set(std::int64_t i, double value);
  void set_integer(std::int64_t i, std::int64_t value);

  Array cast(DType to) const;
  Array reshaped(Sizes sizes) const;
  bool same_bits(const Array& other) const;

 private:
  DType dtype_ = DType::f32;
  Sizes sizes_;
  std::int64_t count_ = 0;
  std::vector<std::byte> bytes_;
};

/// `f32[64,8]`
std::string type_text(const Array& array);

}  // namespace plait
