// Loop kernels as CUDA C++. Every kernel is a device function of a block number, and behind it
// kernels that launch it: once, many calls in one launch where they may be joined, and the second
// stage of reductions that several blocks share. A kernel's parameter is a struct of 64-bit words:
// the buffers' addresses, those of its scratch areas, the address of its error bits, then its
// sizes.
//   __device__ void NAME_body(const pl_word* w, int64_t block);
//   extern "C" __global__ void NAME(const pl_words<K> w);             block = blockIdx.x
//   extern "C" __global__ void NAME_many(const pl_words<3> w);        w: table, firsts, calls
//   NAME_finish_body, NAME_finish, NAME_finish_many                   the second stage
// In NAME_many, `table` holds K words per call, `firsts` (int64) the first block of each call.
#pragma once

#include <string>
#include <vector>

#include "loop/contraction.h"
#include "loop/kernel.h"

namespace plait::codegen::cuda {

/// Threads of a block, of every kernel here.
inline constexpr int kThreads = 256;
/// Bits of a call's error word, as in print_c.h.
inline constexpr int kBadIndex = 1, kBadDivision = 2;

struct Printed {
  std::string name;                // made from its text
  std::string text;                // all functions, without the prelude
  std::vector<Dim> parameters;     // sizes: the words behind the error bits' address
  std::vector<Dim> scratch_sizes;  // scratch areas, in elements of 8 bytes, for the whole launch
  Dim blocks = 1;
  Dim finish_blocks = 0;  // 0: no second stage
  int threads = kThreads;
  int block_bytes = 0;  // of dynamic shared memory
  bool many = false;    // NAME_many is there, and NAME_finish_many where there is a second stage
};

/// What stands before every text.
std::string unit_header();

/// Not of an epilogue (kernel.epilogue): print_element is for those.
Printed print_kernel(const loop::Kernel& kernel, bool fixed);

/// The text of an epilogue as a device function of one element:
///   __device__ __forceinline__ void NAME(const pl_word* w, int64_t batch, int64_t m, int64_t n,
///                                        float tile, int& bad_);
/// or of several that follow n, `tile` their array. Its buffer 0 is the word `first_buffer`; sizes
/// stand in the text (they must be numbers) unless they are in `sizes`, which gathers further
/// parameters: word `first_size` + i.
struct ElementText {
  std::string name, text;
  std::vector<Dim> parameters;
};
struct ElementTile {
  int lanes = 1;               // elements, at most element_lanes()
  std::string type = "float";  // of an element in the function's parameter
  std::string value = "tile";  // an element as a float; with lanes, that of lane l_
};
ElementText print_element(const loop::Kernel& epilogue, int first_buffer, int first_size,
                          bool fixed, const ElementTile& tile = {});

/// Elements along n that an epilogue loads and stores 16 bytes at a time; 1: one by one.
int element_lanes(const loop::Kernel& epilogue);

}  // namespace plait::codegen::cuda
