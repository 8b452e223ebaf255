// Scans along an axis: running sums and products, linear recurrences, and where the extremum is.
#pragma once

#include "ops/builder.h"
#include "ops/infer.h"

namespace plait::ops {

struct Cumulative {
  std::int64_t axis = -1;
  bool reverse = false;    // from the last element to the first
  bool exclusive = false;  // without the element itself
  bool operator==(const Cumulative&) const = default;
  static constexpr auto fields() {
    return std::tuple{ir::Field{"axis", &Cumulative::axis},
                      ir::Field{"reverse", &Cumulative::reverse},
                      ir::Field{"exclusive", &Cumulative::exclusive}};
  }
};
struct Recurrence {
  std::int64_t axis = -1;
  bool reverse = false;  // from the last element to the first
  bool operator==(const Recurrence&) const = default;
  static constexpr auto fields() {
    return std::tuple{ir::Field{"axis", &Recurrence::axis},
                      ir::Field{"reverse", &Recurrence::reverse}};
  }
};
struct Choice {
  std::int64_t axis = -1;
  bool keep = false;  // the axis stays with size 1
  bool operator==(const Choice&) const = default;
  static constexpr auto fields() {
    return std::tuple{ir::Field{"axis", &Choice::axis}, ir::Field{"keep", &Choice::keep}};
  }
};

std::vector<ir::Type> infer_cumulative(const NodeView& v);
std::vector<ir::Type> infer_recurrence(const NodeView& v);
std::vector<ir::Type> infer_where_extremum(const NodeView& v);
void eval_cumsum(EvalCtx& c);
void eval_cumprod(EvalCtx& c);
void eval_linear_scan(EvalCtx& c);
void eval_argmax(EvalCtx& c);
void eval_argmin(EvalCtx& c);
Grads grad_cumsum(GradCtx& g);
Grads grad_cumprod(GradCtx& g);
Grads grad_linear_scan(GradCtx& g);
Grads grad_linear_scan_anew(GradCtx& g);

inline Dim one_per_element(const NodeView& v) { return v.in(0).elements(); }

// Entries are laid out by hand.
// clang-format off
inline constexpr Op cumsum{
    .name = "cumsum", .inputs = {"x"}, .dtypes = kNumbers, .attrs = &ir::kSchema<Cumulative>,
    .infer = infer_cumulative, .eval = eval_cumsum, .grads = {{"", grad_cumsum}},
    .colour = Colour::kBlack, .operations = one_per_element,
    .samples = "f32[7]; f32[3,5] | axis=0; f32[2,3,2] | axis=1, reverse=true; "
               "f32[3,4] | exclusive=true; f32[3,4] | reverse=true, exclusive=true; f32[2,1]; "
               "f32[0,3] | axis=0; f32[2,0]; i64[2,4]{-5..5}; i8[3] | exclusive=true",
    .doc = "running sum; exclusive: of the elements before"};

inline constexpr Op cumprod{
    .name = "cumprod", .inputs = {"x"}, .dtypes = kNumbers, .traits = kWideGrad,
    .attrs = &ir::kSchema<Cumulative>,
    .infer = infer_cumulative, .eval = eval_cumprod, .grads = {{"x", grad_cumprod}},
    .colour = Colour::kBlack, .operations = one_per_element,
    .samples = "f32[5]; f32[3,4] | axis=0; f32[2,3,2] | axis=1, reverse=true; "
               "f32[3,4] | exclusive=true; f32[3,4] | reverse=true, exclusive=true; f32[2,1]; "
               "f32[3]{0..0}; f32[3]{0..0} | exclusive=true; f32[0,3] | axis=0; i64[2,4]{-3..3}",
    .doc = "running product; exclusive: of the elements before"};

inline constexpr Op linear_scan{
    .name = "linear_scan", .inputs = {"a", "b"}, .dtypes = kFloats, .traits = kWideGrad,
    .attrs = &ir::kSchema<Recurrence>,
    .infer = infer_recurrence, .eval = eval_linear_scan,
    .grads = {{"a,y", grad_linear_scan}, {"a,b", grad_linear_scan_anew}},
    .colour = Colour::kBlack,
    .operations = [](const NodeView& v) { return v.in(0).elements() * Dim(2); },
    .samples = "f32[5], f32[5]; f32[3,4], f32[3,4] | axis=0; "
               "f32[2,3,2], f32[2,3,2] | axis=1, reverse=true; f32[2,1], f32[2,1]; "
               "f32[2,0], f32[2,0]",
    .doc = "y[i] = a[i]*y[i-1] + b[i] along an axis, from 0"};

inline constexpr Op argmax{
    .name = "argmax", .inputs = {"x"}, .dtypes = kNumbers, .attrs = &ir::kSchema<Choice>,
    .infer = infer_where_extremum, .eval = eval_argmax,
    .colour = Colour::kClear, .operations = one_per_element,
    .samples = "f32[7]; f32[3,5] | axis=0; f32[2,3,4] | axis=1, keep=true; f32[2,1]; "
               "f32[0,3]; i64[3,4]{-2..2}; u8[5]",
    .doc = "index of the first maximal element; NaN counts as maximal"};

inline constexpr Op argmin{
    .name = "argmin", .inputs = {"x"}, .dtypes = kNumbers, .attrs = &ir::kSchema<Choice>,
    .infer = infer_where_extremum, .eval = eval_argmin,
    .colour = Colour::kClear, .operations = one_per_element, .samples = argmax.samples,
    .doc = "index of the first minimal element; NaN counts as minimal"};
// clang-format on

inline constexpr const Op* kScan[] = {&cumsum, &cumprod, &linear_scan, &argmax, &argmin};

}  // namespace plait::ops
