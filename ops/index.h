// Reading and adding at indices that are themselves data. Reads are nests with a loaded index;
// additions are written out, in the order of the updates. An index outside its range is a RunError.
#pragma once

#include "ops/builder.h"
#include "ops/infer.h"

namespace plait::ops {

struct GatherAxis {
  std::int64_t axis = 0;
  bool operator==(const GatherAxis&) const = default;
  static constexpr auto fields() { return std::tuple{ir::Field{"axis", &GatherAxis::axis}}; }
};
struct OneHot {
  Dim depth;
  DType dtype = DType::f32;
  bool operator==(const OneHot&) const = default;
  static constexpr auto fields() {
    return std::tuple{ir::Field{"depth", &OneHot::depth}, ir::Field{"dtype", &OneHot::dtype}};
  }
};
struct Depth {
  Dim depth;
  bool operator==(const Depth&) const = default;
  static constexpr auto fields() { return std::tuple{ir::Field{"depth", &Depth::depth}}; }
};

std::vector<ir::Type> infer_gather(const NodeView& v);
std::vector<ir::Type> infer_embedding(const NodeView& v);
std::vector<ir::Type> infer_take_along(const NodeView& v);
std::vector<ir::Type> infer_scatter_add(const NodeView& v);
std::vector<ir::Type> infer_scatter_add_along(const NodeView& v);
std::vector<ir::Type> infer_one_hot(const NodeView& v);
std::vector<ir::Type> infer_gather_columns(const NodeView& v);
std::vector<ir::Type> infer_scatter_columns(const NodeView& v);
loop::Nest nest_gather(const NodeView& v);
loop::Nest nest_embedding(const NodeView& v);
loop::Nest nest_take_along(const NodeView& v);
loop::Nest nest_one_hot(const NodeView& v);
loop::Nest nest_gather_columns(const NodeView& v);
void eval_scatter_add(EvalCtx& c);
void eval_scatter_add_along(EvalCtx& c);
void eval_scatter_columns(EvalCtx& c);
Grads grad_gather(GradCtx& g);
Grads grad_embedding(GradCtx& g);
Grads grad_take_along(GradCtx& g);
Grads grad_scatter_add(GradCtx& g);
Grads grad_scatter_add_along(GradCtx& g);
Grads grad_gather_columns(GradCtx& g);
Grads grad_scatter_columns(GradCtx& g);

inline Dim one_per_update(const NodeView& v) { return v.in(2).elements(); }

// Entries are laid out by hand.
// clang-format off
inline constexpr Op gather{
    .name = "gather", .inputs = {"x", "indices"}, .attrs = &ir::kSchema<GatherAxis>,
    .infer = infer_gather, .nest = nest_gather, .grads = {{"indices", grad_gather}},
    .colour = Colour::kClear,
    .samples = "f32[5,3], i64[4]; f32[2,5,3], i32[3,2] | axis=1; f32[3,5], i64[7] | axis=-1; "
               "f32[5], i64[]; f32[3,2], i64[0]; bool[5], i64[3]; i32[5,2], i32[2]",
    .doc = "y = x[.., indices, ..]: the axis is replaced by the axes of indices"};

inline constexpr Op embedding{
    .name = "embedding", .inputs = {"weight", "ids"}, .dtypes = kFloats,
    .infer = infer_embedding, .nest = nest_embedding, .grads = {{"ids", grad_embedding}},
    .colour = Colour::kClear,
    .samples = "f32[5,3], i64[4]; f32[7,2], i32[2,3]{0..7}; f32[5,1], i64[]; f32[5,3], i64[0,2]",
    .doc = "row ids of weight [vocabulary, width]"};

inline constexpr Op take_along{
    .name = "take_along", .inputs = {"x", "indices"}, .attrs = &ir::kSchema<Axis>,
    .infer = infer_take_along, .nest = nest_take_along, .grads = {{"indices", grad_take_along}},
    .colour = Colour::kClear,
    .samples = "f32[3,5], i64[3,1]; f32[5,3], i32[7,3] | axis=0; f32[2,5,3], i64[2,2,3] | axis=1; "
               "f32[5], i64[4]; f32[0,5], i64[0,2]; i64[2,5], i64[2,5]",
    .doc = "x at indices along one axis; the other axes go in step"};

inline constexpr Op scatter_add{
    .name = "scatter_add", .inputs = {"x", "indices", "updates"}, .dtypes = kNumbers,
    .attrs = &ir::kSchema<GatherAxis>,
    .infer = infer_scatter_add, .eval = eval_scatter_add, .grads = {{"indices", grad_scatter_add}},
    .colour = Colour::kBlack, .operations = one_per_update,
    .samples = "f32[5,3], i64[4], f32[4,3]; f32[2,5,3], i32[3,2], f32[2,3,2,3] | axis=1; "
               "f32[3,5], i64[7], f32[3,7] | axis=-1; f32[5], i64[], f32[]; "
               "f32[3,2], i64[0], f32[0,2]; i64[5,2], i64[6], i64[6,2]; i8[5], i64[9], i8[9]",
    .doc = "x with updates added at indices of an axis: what gather reads, written"};

inline constexpr Op scatter_add_along{
    .name = "scatter_add_along", .inputs = {"x", "indices", "updates"}, .dtypes = kNumbers,
    .attrs = &ir::kSchema<Axis>,
    .infer = infer_scatter_add_along, .eval = eval_scatter_add_along,
    .grads = {{"indices", grad_scatter_add_along}},
    .colour = Colour::kBlack, .operations = one_per_update,
    .samples = "f32[3,5], i64[3,1], f32[3,1]; f32[5,3], i32[7,3], f32[7,3] | axis=0; "
               "f32[2,5,3], i64[2,2,3], f32[2,2,3] | axis=1; f32[5], i64[4], f32[4]; "
               "f32[0,5], i64[0,2], f32[0,2]; i64[2,5], i64[2,5], i64[2,5]",
    .doc = "x with updates added at indices along one axis: what take_along reads, written"};

inline constexpr Op one_hot{
    .name = "one_hot", .inputs = {"ids"}, .dtypes = kIndexInts, .attrs = &ir::kSchema<OneHot>,
    .infer = infer_one_hot, .nest = nest_one_hot,
    .colour = Colour::kClear,
    .samples = "i64[7] | depth=5; i32[2,3] | depth=6; i64[] | depth=5; i64[0] | depth=2; "
               "i64[4] | depth=5, dtype=i64; i64[4] | depth=5, dtype=bool; "
               "i64[4] | depth=5, dtype=f16",
    .doc = "1 at column ids of a new last axis of size depth, 0 elsewhere"};

inline constexpr Op gather_columns{
    .name = "gather_columns", .inputs = {"x", "ids"}, .dtypes = kNumbers,
    .infer = infer_gather_columns, .nest = nest_gather_columns,
    .grads = {{"ids", grad_gather_columns}},
    .colour = Colour::kClear,
    .samples = "f32[2,3,5], i64[2,4]; f32[1,1,5], i32[1,7]; f32[2,2,5], i64[2,0]; "
               "i32[2,2,5], i64[2,2]",
    .doc = "y[b,t,j] = x[b,t,ids[b,j]]"};

inline constexpr Op scatter_columns{
    .name = "scatter_columns", .inputs = {"c", "ids"}, .dtypes = kNumbers,
    .attrs = &ir::kSchema<Depth>,
    .infer = infer_scatter_columns, .eval = eval_scatter_columns,
    .grads = {{"ids", grad_scatter_columns}},
    .colour = Colour::kBlack, .operations = [](const NodeView& v) { return v.in(0).elements(); },
    .samples = "f32[2,3,4], i64[2,4] | depth=5; f32[1,1,7], i32[1,7] | depth=6; "
               "f32[2,2,0], i64[2,0] | depth=5; i64[2,2,3], i64[2,3] | depth=5",
    .doc = "y[b,t,v] = sum of c[b,t,j] over the j with ids[b,j] = v"};
// clang-format on

inline constexpr const Op* kIndex[] = {&gather,         &embedding,         &take_along,
                                       &scatter_add,    &scatter_add_along, &one_hot,
                                       &gather_columns, &scatter_columns};

}  // namespace plait::ops
