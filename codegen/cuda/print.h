// Loop kernels as CUDA C++. Every kernel is a device function of a block number, and behind it
// kernels that launch it: once, many calls in one launch where they may be joined, and the second
// stage of reductions that several blocks share. A kernel's parameter is a struct of 64-bit words:
// the buffers' addresses, those of its scratch areas, the address of its error bits, then its
// sizes.
//   __device__ void NAME_body(const pl_word* w, int64_t block, int tid_);
//   extern "C" __global__ void NAME(const pl_words<K> w);             blockIdx.x, threadIdx.x
//   extern "C" __global__ void NAME_many(const pl_words<3> w);        w: table, firsts, calls
//   NAME_finish_body, NAME_finish, NAME_finish_many                   the second stage
// In NAME_many, `table` holds K words per call, `firsts` (int64) the first block of each call.
#pragma once

#include <string>
#include <vector>

#include "base/device_model.h"
#include "loop/contraction.h"
#include "loop/kernel.h"

namespace plait::codegen::cuda {

/// Threads of a block, of all kernels here but those that a warp suffices for.
inline constexpr int kThreads = 256;
/// Shared memory of a second stage, at most.
inline constexpr int kFinishBytes = kThreads * 8;
/// Bits of a call's error word, as in print_c.h.
inline constexpr int kBadIndex = 1, kBadDivision = 2;

/// Of an operand that the copy engine brings: the word of its address, bytes from there, elements
/// next to each other, lines of them, bytes from one line to the next. The kernel's parameter
/// begins with what the driver makes of them, 128 bytes for each.
inline constexpr int kMapWords = 5;

struct Printed {
  std::string name;                // made from its text
  std::string kernel;              // id
  std::string text;                // all functions, without the prelude
  std::vector<Dim> parameters;     // sizes: the words behind the error bits' address
  std::vector<Dim> scratch_sizes;  // scratch areas, in elements of 8 bytes, for the whole launch
  Dim blocks = 1;
  Dim finish_blocks = 0;  // 0: no second stage
  int threads = kThreads;
  int block_bytes = 0;      // of dynamic shared memory; 0: its warps need not meet
  int maps = 0;             // so many times kMapWords of the last words say how an operand lies
  int element_threads = 0;  // of a product without tiles: threads that share an element
  bool table = false;       // ProductOptions::calls; `blocks` are those that each call fills
  std::string schedule{};   // or the shape of a product, for the decision log
  bool many = false;  // NAME_many is there, and NAME_finish_many where there is a second stage
};

/// What stands before every text.
std::string unit_header();

/// Not of an epilogue (kernel.epilogue): product_element.h is for those.
Printed print_kernel(const loop::Kernel& kernel, bool fixed, const DeviceModel& device = h200());

}  // namespace plait::codegen::cuda
