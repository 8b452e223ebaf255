// wkv and wkv_backward: texts by dtype, and how they are launched.
#include <algorithm>
#include <climits>

#include "backends/cuda/hand/families.h"
#include "backends/cuda/hand/parts.h"
#include "backends/cuda/hand/sources.h"
#include "base/text.h"

namespace plait::cuda {
namespace {

/// Warps of a block, at most: what registers and shared memory allow.
int most_warps(DType dtype) { return dtype == DType::f64 ? 8 : 16; }

/// Steps of a chunk: what registers allow.
int steps_of(DType dtype) { return dtype == DType::f64 ? 8 : 16; }

/// Segments in shared memory at a time, as in the text, and the operands they have.
constexpr int kStages = 3, kBackStages = 2;
constexpr int kOperands = 2, kBackOperands = 3;

/// Gradients of the last state are given.
bool has_final(const HandCall& call) {
  for (int i = 8; i < 11; ++i) {
    if (input(call, i).kind == HandWord::kInput) return true;
  }
  return false;
}

/// Rows of halves with all else in f32.
bool has_wide_lanes(const HandCall& call) { return call.inputs[2].dtype != call.inputs[0].dtype; }

/// S: of all that is no row.
std::string lane_types(bool wide) {
  return wide ? "typedef float S;\n"
                "__device__ __forceinline__ W widen_s(S x) { return x; }\n"
                "__device__ __forceinline__ S narrow_s(W x) { return x; }\n"
              : "typedef T S;\n"
                "__device__ __forceinline__ W widen_s(S x) { return widen(x); }\n"
                "__device__ __forceinline__ S narrow_s(W x) { return narrow(x); }\n";
}

std::string name_of_call(const HandCall& call, bool backward) {
  return str("hand_", call.op, "_", call.inputs[0].dtype, has_wide_lanes(call) ? "_f32" : "",
             backward && has_final(call) ? "_final" : "");
}

std::string text_of(const HandCall& call, bool backward) {
  const DType dtype = call.inputs[0].dtype;
  std::string constants =
      str("constexpr int kWarps = ", most_warps(dtype), ", kSteps = ", steps_of(dtype),
          ", kOperands = ", backward ? kBackOperands : kOperands, ";\n");
  if (backward) {
    constants += str("constexpr bool kFinal = ", has_final(call) ? "true" : "false", ";\n");
  }
  return source_text(
      call, name_of_call(call, backward),
      types_text(dtype, Computed::kCompute) + lane_types(has_wide_lanes(call)) + constants,
      codegen::hand_wkv());
}

struct Cut {
  std::int64_t batch, time, channels, groups;
  int steps, warps, block_bytes;
  Cut(const HandCall& call, const DimBindings& bindings, bool backward) {
    const Sizes k = sizes_of(call.inputs[0].shape, bindings);  // [B,T,C]
    batch = k[0];
    time = k[1];
    channels = k[2];
    groups = ceil_div(channels, 32);
    steps = steps_of(call.inputs[0].dtype);
    check(time <= INT_MAX - 1024 && channels <= INT_MAX / steps, "wkv of ", time, " steps, ",
          channels, " channels");
    const DType dtype = call.inputs[0].dtype;
    const std::int64_t most = most_warps(dtype);
    warps = static_cast<int>(std::clamp<std::int64_t>(ceil_div(time, steps), 1, most));
    const int areas = backward ? kBackStages * kBackOperands : kStages * kOperands;
    block_bytes = areas * static_cast<int>(warps * steps * 32) * static_cast<int>(size_of(dtype));
  }
  std::int64_t segments() const { return ceil_div(time, warps * steps); }
  int threads() const { return warps * 32; }
};

}  // namespace

std::string wkv_text(const HandCall& call) { return text_of(call, false); }
std::string wkv_backward_text(const HandCall& call) { return text_of(call, true); }

HandPlan plan_wkv(const HandCall& call, const DimBindings& bindings) {
  const Cut cut(call, bindings, false);
  HandPlan plan;
  HandLaunch launch{
      name_of_call(call, false), cut.batch * cut.groups, cut.threads(), cut.block_bytes, {}};
  for (int i = 0; i < 7; ++i) launch.words.push_back(input(call, i));
  for (int i = 0; i < 4; ++i) launch.words.push_back(output(call, i));
  for (std::int64_t n : {cut.time, cut.channels, cut.groups}) launch.words.push_back(number(n));
  if (launch.blocks > 0) plan.launches.push_back(std::move(launch));
  return plan;
}

HandPlan plan_wkv_backward(const HandCall& call, const DimBindings& bindings) {
  const Cut cut(call, bindings, true);
  const std::string name = name_of_call(call, true);
  const auto bytes = static_cast<std::int64_t>(size_of(compute_dtype(call.inputs[0].dtype)));
  const std::int64_t lanes = cut.batch * cut.channels;
  HandPlan plan;
  const std::int64_t kept = add_scratch(plan, cut.segments() * cut.warps * 3 * lanes * bytes);
  const std::int64_t sums = add_scratch(plan, 2 * lanes * bytes);
  HandLaunch launch{name, cut.batch * cut.groups, cut.threads(), cut.block_bytes, {}};
  for (int i = 0; i < 11; ++i) launch.words.push_back(input(call, i));
  for (int i : {0, 1, 4, 5, 6}) launch.words.push_back(output(call, i));
  launch.words.push_back(scratch(kept));
  launch.words.push_back(scratch(sums));
  for (std::int64_t n : {cut.time, cut.channels, cut.groups, cut.batch}) {
    launch.words.push_back(number(n));
  }
  if (launch.blocks > 0) plan.launches.push_back(std::move(launch));
  add_items(
      plan, name + "_sum", 2 * cut.channels,
      {scratch(sums), output(call, 2), output(call, 3), number(cut.batch), number(cut.channels)});
  return plan;
}

}  // namespace plait::cuda
