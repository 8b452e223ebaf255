// How a contraction's kernel is cut: its tile, its core, stages, slices and splits. As text in a
// program's decisions ("128x128x64.mma.s3.k4", "64x32x64.wg.s4.g4", "128x256x64.wg.s4.w",
// "128x128x64.pair.s4", "simple").
#pragma once

#include <optional>
#include <string>

#include "codegen/cuda/product_form.h"

namespace plait::codegen::cuda {

enum class Core { kSimple, kFma, kMma, kWgmma, kPair };

struct Shape {
  Core core = Core::kSimple;
  int bm = 0, bn = 0, bk = 0;  // of the tile, elements
  int warps_m = 0, warps_n = 0;
  int stages = 2;
  int splits = 1;      // of k over blocks
  int slices = 1;      // of k over groups of a block's warps
  int lanes = 1;       // threads of an element, without tiles
  bool walks = false;  // a block has several tiles, and the next one comes while it stores
  /// Threads that share the work of bringing a tile.
  int loading() const { return warps_m * warps_n * 32; }
  int threads() const {
    return core == Core::kSimple ? 256 : core == Core::kPair ? 384 : loading() * slices;
  }
};

std::string to_text(const Shape& shape);
/// Nothing when the text is no shape.
std::optional<Shape> shape_from_text(const std::string& text);

/// Why a shape cannot have this contraction, or yes.
Decision fits(const Form& form, const Shape& shape, bool tf32, bool pairs);
/// Dynamic shared memory of a block.
int block_bytes(const Form& form, const Shape& shape);

/// Blocks that a multiprocessor holds at once: by shared memory, threads and registers.
int held_blocks(const Form& form, const Shape& shape);

/// Microseconds that it takes, about.
double cost(const Form& form, const Shape& shape, const DimBindings& largest);

/// Those that fit, best guess first.
std::vector<Shape> shapes_for(const Form& form, const DimBindings& largest, bool tf32, bool pairs);

/// The shape of a variant's text; "simple": no tiles; empty: the best guess. Bug when it is none,
/// or does not fit.
Shape shape_for(const Form& form, const std::string& variant, bool tf32, bool pairs);

}  // namespace plait::codegen::cuda
