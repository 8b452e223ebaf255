// Values without operands: constants and counting.
#pragma once

#include "ops/infer.h"
#include "ops/op.h"

namespace plait::ops {

struct Constant {
  ir::Literal value;
  bool operator==(const Constant&) const = default;
  static constexpr auto fields() { return std::tuple{ir::Field{"value", &Constant::value}}; }
};

// Entries are laid out by hand.
// clang-format off
inline constexpr Op constant{
    .name = "constant", .attrs = &ir::kSchema<Constant>,
    .infer = [](const NodeView& v) -> std::vector<ir::Type> {
      const auto a = v.as<Constant>();
      if (!a.value.array) v.fail("has no value. Write value=f32[2]{1.0,2.0}");
      return {{a.value.array->dtype(), shape_of(a.value.array->sizes())}};
    },
    .eval = [](EvalCtx& c) { c.out() = *c.as<Constant>().value.array; },
    .colour = Colour::kClear,
    .samples = "| value=f32[3]{1.0,-2.5,0.0}; | value=i64[2,2]{1,2,3,4}; | value=f32[]{0.5}",
    .doc = "a tensor written out in the graph"};

struct Iota {
  Shape shape;
  std::int64_t axis = -1;
  DType dtype = DType::i64;
  bool operator==(const Iota&) const = default;
  static constexpr auto fields() {
    return std::tuple{ir::Field{"shape", &Iota::shape}, ir::Field{"axis", &Iota::axis},
                      ir::Field{"dtype", &Iota::dtype}};
  }
};

inline constexpr Op iota{
    .name = "iota", .dtypes = kNumbers, .attrs = &ir::kSchema<Iota>,
    .infer = [](const NodeView& v) -> std::vector<ir::Type> {
      const auto a = v.as<Iota>();
      axis_of(v, a.axis, static_cast<int>(a.shape.size()));
      return {{a.dtype, a.shape}};
    },
    .nest = [](const NodeView& v) {
      const auto a = v.as<Iota>();
      loop::Nest nest;
      const std::vector<Dim> index = index_all(nest, v.out().shape);
      const auto axis = axis_of(v, a.axis, v.out().rank());
      nest.body = loop::Expr::index(index[static_cast<std::size_t>(axis)]);
      return nest;
    },
    .colour = Colour::kClear,
    .samples = "| shape=[5]; | shape=[3,4], axis=0, dtype=f32; | shape=[2,3], axis=1, dtype=i32",
    .doc = "0, 1, 2... along an axis"};

struct DimValue {
  Dim value = 0;
  DType dtype = DType::i64;
  bool operator==(const DimValue&) const = default;
  static constexpr auto fields() {
    return std::tuple{ir::Field{"value", &DimValue::value}, ir::Field{"dtype", &DimValue::dtype}};
  }
};

inline constexpr Op dim{
    .name = "dim", .dtypes = kNumbers, .attrs = &ir::kSchema<DimValue>,
    .infer = [](const NodeView& v) -> std::vector<ir::Type> {
      return {{v.as<DimValue>().dtype, {}}};
    },
    .nest = [](const NodeView& v) {
      loop::Nest nest;
      nest.body = loop::Expr::index(v.as<DimValue>().value);
      return nest;
    },
    .colour = Colour::kClear,
    .samples = "| value=7; | value=12, dtype=f32; | value=3, dtype=i32",
    .doc = "a size, symbols and all, as a number to compute with"};
// clang-format on

inline constexpr const Op* kConstants[] = {&constant, &iota, &dim};

}  // namespace plait::ops
