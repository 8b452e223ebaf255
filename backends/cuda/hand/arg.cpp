// argmax and argmin: the first extremal element of each line, NaN before all numbers. A line is
// walked by a thread where lines lie side by side, and by a block where they lie in one piece; long
// ones are cut, and the extremums of their chunks compared.
#include <algorithm>

#include "backends/cuda/hand/families.h"
#include "backends/cuda/hand/parts.h"
#include "backends/cuda/hand/sources.h"
#include "base/text.h"
#include "ops/scan.h"

namespace plait::cuda {
namespace {

constexpr std::int64_t kShort = 64;           // elements of a line that a thread walks anyway
constexpr std::int64_t kBlockLength = 16384;  // elements of a block's chunk, at least
constexpr std::int64_t kThreadLength = 256;   // elements of a thread's chunk, at least
constexpr std::int64_t kEnough = 65536;       // threads that keep the device busy
constexpr std::int64_t kMost = 512;           // chunks of a line

std::string name_of_call(const HandCall& call) {
  return str("hand_", call.op, "_", call.inputs[0].dtype);
}

}  // namespace

std::string arg_text(const HandCall& call) {
  return source_text(
      call, name_of_call(call),
      str(types_text(call.inputs[0].dtype, Computed::kCompared),
          "constexpr bool kLargest = ", call.op == "argmax" ? "true" : "false", ";\n"),
      codegen::hand_arg());
}

HandPlan plan_arg(const HandCall& call, const DimBindings& sizes) {
  const auto axis = ir::decode<ops::Choice>(call.attrs, call.op).axis;
  const ops::Lines lines = lines_of(call.inputs[0], axis, sizes);
  const std::int64_t count = lines.outers * lines.inners;
  HandPlan plan;
  if (count == 0) return plan;
  const bool blocks = lines.inners == 1 && lines.size > kShort;
  const std::int64_t shortest = blocks ? kBlockLength : kThreadLength;
  const std::int64_t wanted =
      std::clamp<std::int64_t>(kEnough / (blocks ? kThreads : 1) / count, 1, kMost);
  const std::int64_t length = std::max<std::int64_t>(
      1, std::max(std::min(shortest, lines.size), ceil_div(lines.size, wanted)));
  const std::int64_t chunks = std::max<std::int64_t>(1, ceil_div(lines.size, length));
  const std::string name = name_of_call(call);
  const HandWord x = input(call, 0);
  const HandWord outers = number(lines.outers), size = number(lines.size);
  const HandWord inners = number(lines.inners), cut = number(chunks);
  const HandWord to = chunks == 1 ? output(call) : scratch(add_scratch(plan, count * chunks * 8));
  const std::vector<HandWord> words{x, to, outers, size, inners, cut, number(length)};
  if (blocks) {
    const int threads = length < 1024 ? 64 : kThreads;
    plan.launches.push_back({name + "_blocks", count * chunks, threads, 0, words});
  } else {
    add_items(plan, name + "_threads", count * chunks, words);
  }
  if (chunks > 1) {
    add_items(plan, name + "_join", count, {x, to, output(call), outers, size, inners, cut});
  }
  return plan;
}

}  // namespace plait::cuda
