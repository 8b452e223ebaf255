// The element types of tensors: names, sizes, kinds, and the one place that maps a DType to a C++
// type (visit_dtype), so that nothing else switches over dtypes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/half.h"

namespace plait {

enum class DType : std::uint8_t { f64, f32, f16, bf16, i64, i32, i16, i8, u8, boolean };

inline constexpr std::array<std::string_view, 10> kDTypeNames{"f64", "f32", "f16", "bf16", "i64",
                                                              "i32", "i16", "i8",  "u8",   "bool"};
inline constexpr std::size_t kDTypeCount = kDTypeNames.size();

constexpr std::string_view name_of(DType t) { return kDTypeNames[static_cast<std::size_t>(t)]; }
inline std::ostream& operator<<(std::ostream& out, DType t) { return out << name_of(t); }

constexpr std::optional<DType> dtype_named(std::string_view name) {
  for (std::size_t i = 0; i < kDTypeCount; ++i) {
    if (kDTypeNames[i] == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

constexpr std::size_t size_of(DType t) {
  constexpr std::array<std::size_t, kDTypeCount> sizes{8, 4, 2, 2, 8, 4, 2, 1, 1, 1};
  return sizes[static_cast<std::size_t>(t)];
}

constexpr bool is_float(DType t) { return t <= DType::bf16; }
constexpr bool is_half(DType t) { return t == DType::f16 || t == DType::bf16; }
constexpr bool is_int(DType t) { return t >= DType::i64 && t <= DType::u8; }

/// The type a composite computes in: f64 stays, other floats become f32, the rest stay.
constexpr DType compute_dtype(DType t) { return is_half(t) ? DType::f32 : t; }

/// A set of dtypes, for what an op accepts.
struct DTypeSet {
  std::uint16_t bits = 0;
  constexpr bool has(DType t) const { return (bits >> static_cast<unsigned>(t)) & 1; }
  constexpr DTypeSet operator|(DTypeSet o) const {
    return {static_cast<std::uint16_t>(bits | o.bits)};
  }
};
constexpr DTypeSet dtype_set(DType t) {
  return {static_cast<std::uint16_t>(1u << static_cast<unsigned>(t))};
}
inline constexpr DTypeSet kFloats =
    dtype_set(DType::f64) | dtype_set(DType::f32) | dtype_set(DType::f16) | dtype_set(DType::bf16);
inline constexpr DTypeSet kInts = dtype_set(DType::i64) | dtype_set(DType::i32) |
                                  dtype_set(DType::i16) | dtype_set(DType::i8) |
                                  dtype_set(DType::u8);
inline constexpr DTypeSet kBools = dtype_set(DType::boolean);
inline constexpr DTypeSet kNumbers = kFloats | kInts;
inline constexpr DTypeSet kAnyDType = kNumbers | kBools;
inline constexpr DTypeSet kIndexInts = dtype_set(DType::i64) | dtype_set(DType::i32);

template <class T>
struct TypeTag {
  using type = T;
};

/// Calls f(TypeTag<T>{}) with the C++ type that stores dtype t. bool is stored as one byte, 0 or 1.
template <class F>
decltype(auto) visit_dtype(DType t, F&& f) {
  switch (t) {
    case DType::f64:
      return f(TypeTag<double>{});
    case DType::f32:
      return f(TypeTag<float>{});
    case DType::f16:
      return f(TypeTag<f16>{});
    case DType::bf16:
      return f(TypeTag<bf16>{});
    case DType::i64:
      return f(TypeTag<std::int64_t>{});
    case DType::i32:
      return f(TypeTag<std::int32_t>{});
    case DType::i16:
      return f(TypeTag<std::int16_t>{});
    case DType::i8:
      return f(TypeTag<std::int8_t>{});
    case DType::u8:
      return f(TypeTag<std::uint8_t>{});
    case DType::boolean:
      return f(TypeTag<bool>{});
  }
  throw Bug("unknown dtype");
}

}  // namespace plait
