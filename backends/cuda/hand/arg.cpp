// argmax and argmin: the first extremal element of each line, NaN before all numbers. A line is
// walked by a thread where lines lie side by side, and by a block where they lie in one piece; long
// ones are cut, and the extremums of their chunks compared.
#include <algorithm>

#include "backends/cuda/hand/families.h"
#include "backends/cuda/hand/parts.h"
#include "base/text.h"
#include "ops/scan.h"

namespace plait::cuda {
namespace {

constexpr const char* kKernels = R"(
struct Best {
  W value;
  int64_t where;  // in its line; -1: nothing yet
};
__device__ __forceinline__ bool beats(W rival, W best) {
  const bool beyond = kLargest ? rival > best : rival < best;
  return beyond || ((rival != rival) && (best == best));
}
__device__ __forceinline__ Best better(const Best& a, const Best& b) {
  if (a.where < 0 || b.where < 0) return a.where < 0 ? b : a;
  if (beats(a.value, b.value)) return a;
  if (beats(b.value, a.value)) return b;
  return a.where < b.where ? a : b;
}

/// Elements begin, begin + step... before end of the line at x.
__device__ __forceinline__ Best best_of(const T* x, int64_t inners, int64_t begin, int64_t end,
                                        int64_t step) {
  if (begin >= end) return {(W)0, -1};
  Best best = {widen(x[begin * inners]), begin};
#pragma unroll 8
  for (int64_t i = begin + step; i < end; i += step) {
    const W rival = widen(x[i * inners]);
    if (beats(rival, best.value)) best = {rival, i};
  }
  return best;
}

// A thread per chunk of a line. Words: x; out [outers, chunks, inners]; outers; size; inners;
// chunks; length.
extern "C" __global__ void NAME_threads(const pl_words<7> w) {
  const int64_t size = (int64_t)w.v[3], inners = (int64_t)w.v[4], length = (int64_t)w.v[6];
  const Parted inner = part(item(), inners), n = part(inner.quotient, (int64_t)w.v[5]);
  if (n.quotient >= (int64_t)w.v[2]) return;
  const int64_t begin = n.rest * length, end = begin + length < size ? begin + length : size;
  const T* x = at<const T>(w.v[0]) + n.quotient * size * inners + inner.rest;
  at<int64_t>(w.v[1])[item()] = best_of(x, inners, begin, end, 1).where;
}

// A block per chunk of a line; inners is 1. Words as above.
extern "C" __global__ void __launch_bounds__(256) NAME_blocks(const pl_words<7> w) {
  __shared__ W values[8];
  __shared__ int64_t wheres[8];
  const int64_t size = (int64_t)w.v[3], length = (int64_t)w.v[6];
  const Parted n = part((int64_t)blockIdx.x, (int64_t)w.v[5]);
  const int64_t begin = n.rest * length, end = begin + length < size ? begin + length : size;
  const T* x = at<const T>(w.v[0]) + n.quotient * size;
  Best best = best_of(x, 1, begin + threadIdx.x, end, blockDim.x);
  for (int d = 16; d > 0; d /= 2) {
    best = better(best, {__shfl_xor_sync(0xffffffffu, best.value, d),
                         __shfl_xor_sync(0xffffffffu, best.where, d)});
  }
  if (threadIdx.x % 32 == 0) {
    values[threadIdx.x / 32] = best.value;
    wheres[threadIdx.x / 32] = best.where;
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int i = 1; i < blockDim.x / 32; ++i) best = better(best, {values[i], wheres[i]});
  at<int64_t>(w.v[1])[blockIdx.x] = best.where;
}

// The best of a line's chunks. Words: x; theirs [outers, chunks, inners]; out; outers; size;
// inners; chunks.
extern "C" __global__ void NAME_join(const pl_words<7> w) {
  const int64_t size = (int64_t)w.v[4], inners = (int64_t)w.v[5], chunks = (int64_t)w.v[6];
  const Parted n = part(item(), inners);
  if (n.quotient >= (int64_t)w.v[3]) return;
  const T* x = at<const T>(w.v[0]) + n.quotient * size * inners + n.rest;
  const int64_t* theirs = at<const int64_t>(w.v[1]) + n.quotient * chunks * inners + n.rest;
  Best best = {(W)0, -1};
#pragma unroll 4
  for (int64_t i = 0; i < chunks; ++i) {
    const int64_t where = theirs[i * inners];
    best = better(best, {widen(x[where * inners]), where});
  }
  at<int64_t>(w.v[2])[item()] = best.where;
}
)";

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
  return named_text(
      name_of_call(call),
      str(types_text(call.inputs[0].dtype, Computed::kCompared),
          "constexpr bool kLargest = ", call.op == "argmax" ? "true" : "false", ";\n", kKernels));
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
