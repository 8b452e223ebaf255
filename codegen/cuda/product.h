// A contraction with its epilogue as one CUDA kernel: tiles through shared memory, tensor cores for
// halves and tf32, plain multiply-adds for the rest. The words of its parameter: a, b, c (only
// without an epilogue), the epilogue's buffers, scratch areas, the error bits, sizes. Buffers lie
// on 16 bytes.
#pragma once

#include <string>

#include "base/device_model.h"
#include "codegen/cuda/print.h"

namespace plait::codegen::cuda {

struct ProductOptions {
  bool tf32 = false;  // f32 operands may be rounded to tf32
  /// One of product_variants(); "simple": no tiles, 256 threads; empty: first.
  std::string variant{};
  bool pairs = false;  // the device has pairs of blocks and a copy engine
  /// More than 1: a kernel for several calls, best for so many. Its words are the address of a
  /// table that has a row for each, the calls, and the words of a row. Without splits and walks.
  int calls = 1;
  const DeviceModel* device = &h200();  // what it is cut for
};

/// Tile shapes that fit the problem, best guess first, as text: rows x columns x k of the tile,
/// what multiplies (pair, wg and mma: tensor cores, fma), stages, splits of k
/// ("128x128x64.wg.s3.k2"). With `calls` those that can serve several.
std::vector<std::string> product_variants(const loop::Contraction& contraction,
                                          const DimBindings& largest, const ProductOptions& options,
                                          const loop::Kernel* epilogue = nullptr);

/// Whether a variant's blocks go in pairs, from tile to tile.
bool has_pairs(const std::string& variant);

/// Microseconds that the first of them takes, about.
double product_us(const loop::Contraction& contraction, const loop::Kernel* epilogue,
                  const DimBindings& largest, const ProductOptions& options);

/// A kernel with splits has a second, NAME_finish, of kThreads threads and finish_blocks blocks.
Printed print_product(const loop::Contraction& contraction, const loop::Kernel* epilogue,
                      bool fixed, const ProductOptions& options);

}  // namespace plait::codegen::cuda
