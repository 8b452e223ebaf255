// Hand kernels: the ops that are no loop nest (scans, scatters, random draws, argmax), written in
// CUDA C++. One table, looked up by op. The text is compiled when a program is loaded; a plan fixes
// launches for sizes that are numbers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "backends/target.h"

namespace plait::cuda {

/// A word of a launch: where it comes from when addresses are known.
struct HandWord {
  enum Kind { kInput, kOutput, kScratch, kBad, kNumber } kind = kNumber;
  std::int64_t value = 0;  // which input or output; the offset in scratch; the number
};

struct HandLaunch {
  std::string function;
  std::int64_t blocks = 0;  // 0: nothing to do
  int threads = 256;
  int block_bytes = 0;
  std::vector<HandWord> words;
};

struct HandPlan {
  std::vector<HandLaunch> launches;  // in this order
  std::int64_t scratch_bytes = 0;    // 256-byte aligned areas inside
};

struct HandEntry {
  std::string_view op, id;                    // the kernel id a step carries
  std::string (*text)(const HandCall& call);  // kernels for the call's dtypes and attributes
  HandPlan (*plan)(const HandCall& call, const DimBindings& sizes);
  Decision (*takes)(const NodeView& node) = nullptr;  // of a composite; null: every node
};

/// Null when the op has no hand kernel.
const HandEntry* find_hand(std::string_view op);

}  // namespace plait::cuda
