// cumsum, cumprod and linear_scan: each thread walks a chunk of a line. Where lines are few, what
// the chunks come to is scanned first. In double or in wrapping 64-bit integers, each element
// rounded once; a line of one chunk gives the reference's bits.
#include "ops/scan.h"

#include <algorithm>

#include "backends/cuda/hand/families.h"
#include "backends/cuda/hand/parts.h"
#include "backends/cuda/hand/sources.h"
#include "base/text.h"

namespace plait::cuda {
namespace {

constexpr std::int64_t kShort = 256;     // elements of a line that stays whole
constexpr std::int64_t kEnough = 65536;  // threads that keep the device busy
constexpr std::int64_t kShortest = 64;   // elements of a chunk, at least

bool is_linear(const HandCall& call) { return call.op == "linear_scan"; }

/// linear_scan's attributes are the first two.
ops::Cumulative attributes(const HandCall& call) {
  if (!is_linear(call)) return ir::decode<ops::Cumulative>(call.attrs, call.op);
  const auto r = ir::decode<ops::Recurrence>(call.attrs, call.op);
  return {r.axis, r.reverse, false};
}

std::string name_of_call(const HandCall& call) {
  return str("hand_", call.op, "_", call.inputs[0].dtype,
             attributes(call).exclusive ? "_exclusive" : "");
}

}  // namespace

std::string scan_text(const HandCall& call) {
  return source_text(
      call, name_of_call(call),
      str(types_text(call.inputs[0].dtype, Computed::kWide),
          "constexpr bool kExclusive = ", attributes(call).exclusive ? "true" : "false", ";\n"),
      codegen::hand_scan());
}

HandPlan plan_scan(const HandCall& call, const DimBindings& sizes) {
  const ops::Cumulative a = attributes(call);
  const ops::Lines lines = lines_of(call.inputs[0], a.axis, sizes);
  const std::int64_t count = lines.outers * lines.inners;
  HandPlan plan;
  if (count * lines.size == 0) return plan;
  std::int64_t length = lines.size;
  if (lines.size > kShort && count < kEnough / 2) {
    length = std::max(kShortest, ceil_div(lines.size * count, kEnough));
    length = std::min(length, lines.size);
  }
  const std::int64_t chunks = ceil_div(lines.size, length), threads = count * chunks;
  const std::string name = name_of_call(call);
  std::vector<HandWord> words{input(call, 0), input(call, 1), {}, output(call)};
  for (std::int64_t n : {lines.outers, lines.size, lines.inners, chunks, length}) {
    words.push_back(number(n));
  }
  words.push_back(number(std::int64_t{a.reverse}));
  if (chunks > 1) {
    words[2] = scratch(add_scratch(plan, threads * (is_linear(call) ? 16 : 8)));
    add_items(plan, name + "_chunks", threads, words);
    plan.launches.push_back({name + "_carry",
                             count,
                             256,
                             0,
                             {words[2], number(count), number(lines.inners), number(chunks)}});
  }
  add_items(plan, name, threads, words);
  return plan;
}

}  // namespace plait::cuda
