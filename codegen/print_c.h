// Loop kernels and contractions as plain C functions. The text names no sizes (unless `fixed`), so
// that kernels of one structure are one function, called with other numbers.
#pragma once

#include <string>
#include <vector>

#include "loop/contraction.h"
#include "loop/kernel.h"

namespace plait::codegen {

struct Printed {
  std::string name;               // of the function, made from its text
  std::string kernel;             // id
  std::string text;               // the whole function, or functions
  std::vector<Dim> parameters;    // numbers of a call, over the program's symbols
  std::vector<Dim> column_sizes;  // elements of each column reduction's partial results
  int scratch_rows = 0;           // rows of scratch, each of `scratch_row_size` elements
  Dim scratch_row_size = 0;
  Dim rows = 1;         // what [begin, end) of a call counts
  Dim finish_rows = 0;  // of the second function, for column reductions
};

// The functions' types. `p` holds the buffers, then one pointer per column reduction.
//   void NAME(char* const* p, const int64_t* n, int64_t begin, int64_t end, int64_t task,
//             char* scratch, int* bad);
//   void NAME_finish(char* const* p, const int64_t* n, int64_t begin, int64_t end, int64_t tasks);
//   void NAME(char* const* p, const int64_t* n, int64_t batch, int64_t m0, int64_t m1, int64_t n0,
//             int64_t n1, const float* tile, int64_t ld, int* bad);                      epilogue
using LoopFunction = void (*)(char* const*, const std::int64_t*, std::int64_t, std::int64_t,
                              std::int64_t, char*, int*);
using FinishFunction = void (*)(char* const*, const std::int64_t*, std::int64_t, std::int64_t,
                                std::int64_t);
using TileFunction = void (*)(char* const*, const std::int64_t*, std::int64_t, std::int64_t,
                              std::int64_t, std::int64_t, std::int64_t, const float*, std::int64_t,
                              int*);
/// Bits of *bad: a loaded index out of range, an integer division by zero.
inline constexpr int kBadIndex = 1, kBadDivision = 2;

/// What stands before every text: the prelude and reductions that pass NaN on.
std::string unit_header();

Printed print_kernel(const loop::Kernel& kernel, bool fixed);

/// A contraction as loops, with its epilogue inside; called like a loop kernel, whose buffers come
/// behind the contraction's a, b and (without an epilogue) c.
Printed print_contraction(const loop::Contraction& contraction, const loop::Kernel* epilogue,
                          bool fixed);

}  // namespace plait::codegen
