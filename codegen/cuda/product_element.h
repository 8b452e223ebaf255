// What becomes of a contraction's elements, as device functions of their places: the epilogue's
// statements at one element, at several neighbours, or at pieces of several rows whose loads all
// come before the first store.
#pragma once

#include <string>
#include <vector>

#include "loop/kernel.h"

namespace plait::codegen::cuda {

struct ElementTile {
  int lanes = 1;                 // neighbours along n, at most element_lanes()
  int pieces = 0;                // rows, each with its lanes; 0: one place
  std::string type = "float";    // of an element in the function's parameter
  std::string value = "tile";    // an element as a float; with lanes, that of lane l_, of piece c_
  std::string name = "element";  // of the function
};

/// The text of an epilogue as a device function of one place:
///   __device__ __forceinline__ void NAME(const pl_word* w, int64_t batch, int64_t m, int64_t n,
///                                        float tile, int& bad_);
/// `tile` is an array where there are lanes. With pieces, the rows m, m + down .. below `rows`:
///   void NAME(w, batch, m, n, int64_t rows, int down, const TYPE (*tile)[LANES], int& bad_);
///   void NAME_ahead(w, batch, m, n, int count);  asks for what up to 32 elements will load
/// Its buffer 0 is the word `first_buffer`; sizes stand in the text (they must be numbers) unless
/// they are in `parameters`: word `first_size` + i.
struct ElementText {
  std::string text;
  std::vector<Dim> parameters;
};
ElementText print_element(const loop::Kernel& epilogue, int first_buffer, int first_size,
                          bool fixed, const ElementTile& tile = {});

/// Elements along n that an epilogue loads and stores 16 bytes at a time; 1: one by one.
int element_lanes(const loop::Kernel& epilogue);

/// Rows of `lanes` elements whose loads a thread can hold, at most `most`; 0: a load's place is
/// itself loaded.
int element_pieces(const loop::Kernel& epilogue, int lanes, int most);

/// Bytes that an epilogue loads and stores for an element of the contraction. `held` counts loads
/// that every row shares, too.
struct ElementBytes {
  int held = 0, loaded = 0, stored = 0;
};
ElementBytes element_bytes(const loop::Kernel& epilogue);

}  // namespace plait::codegen::cuda
