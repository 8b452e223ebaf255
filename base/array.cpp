// Host arrays: allocation, element access by conversion, comparison of bits.
#include "base/array.h"

#include <cstring>
#include <stdexcept>

namespace plait {

Array::Array(DType dtype, Sizes sizes)
    : dtype_(dtype), sizes_(std::move(sizes)), count_(element_count(sizes_)) {
  for (std::int64_t d : sizes_) {
    if (d < 0) fail("an array cannot have the shape ", shape_text(sizes_));
  }
  try {
    std::size_t bytes;
    if (__builtin_mul_overflow(static_cast<std::size_t>(count_), size_of(dtype), &bytes)) {
      throw std::length_error("array");
    }
    bytes_.resize(bytes);
  } catch (const std::exception&) {
    throw RunError(str("cannot allocate ", dtype, shape_text(sizes_), " (", count_, " elements of ",
                       size_of(dtype), " bytes)"));
  }
}

Array Array::of(DType dtype, Sizes sizes, const std::vector<double>& values) {
  Array a(dtype, std::move(sizes));
  check(a.count() == static_cast<std::int64_t>(values.size()), "array of ", a.count(),
        " elements made from ", values.size(), " values");
  for (std::int64_t i = 0; i < a.count(); ++i) a.set(i, values[static_cast<std::size_t>(i)]);
  return a;
}

double Array::real(std::int64_t i) const {
  return visit_dtype(dtype_, [&]<class T>(TypeTag<T>) {
    return convert<double>(reinterpret_cast<const T*>(bytes_.data())[i]);
  });
}

std::int64_t Array::integer(std::int64_t i) const {
  return visit_dtype(dtype_, [&]<class T>(TypeTag<T>) {
    return convert<std::int64_t>(reinterpret_cast<const T*>(bytes_.data())[i]);
  });
}

void Array::set(std::int64_t i, double value) {
  visit_dtype(dtype_, [&]<class T>(TypeTag<T>) {
    reinterpret_cast<T*>(bytes_.data())[i] = convert<T>(value);
  });
}

void Array::set_integer(std::int64_t i, std::int64_t value) {
  visit_dtype(dtype_, [&]<class T>(TypeTag<T>) {
    reinterpret_cast<T*>(bytes_.data())[i] = convert<T>(value);
  });
}

Array Array::cast(DType to) const {
  Array out(to, sizes_);
  visit_dtype(dtype_, [&]<class From>(TypeTag<From>) {
    visit_dtype(to, [&]<class To>(TypeTag<To>) {
      for (std::int64_t i = 0; i < count_; ++i) {
        reinterpret_cast<To*>(out.data())[i] =
            convert<To>(reinterpret_cast<const From*>(data())[i]);
      }
    });
  });
  return out;
}

Array Array::reshaped(Sizes sizes) const {
  check(element_count(sizes) == count_, "reshape of ", type_text(*this), " to ", shape_text(sizes));
  Array out = *this;
  out.sizes_ = std::move(sizes);
  return out;
}

bool Array::same_bits(const Array& other) const {
  return dtype_ == other.dtype_ && sizes_ == other.sizes_ &&
         (bytes_.empty() || std::memcmp(data(), other.data(), bytes_.size()) == 0);
}

std::string type_text(const Array& array) { return str(array.dtype(), shape_text(array.sizes())); }

}  // namespace plait
