// Copying rows of pixels, and running tiles over them.
#include "backends/cpu/contract/sliding.h"

#include <algorithm>
#include <cstring>

#include "backends/cpu/contract/blocking.h"
#include "backends/cpu/contract/definition.h"
#include "backends/cpu/contract/stencil.h"

namespace plait::cpu {
namespace {

constexpr std::int64_t kTaps = 3;

/// Which pixels of a row that the window sees are inside the image: [lo, hi) of `all`.
struct Seen {
  std::int64_t lo, hi, all;
};
Seen seen_of(const Stencil& s) {
  const std::int64_t all = (s.wide.extent - 1) * s.stride + kTaps;
  const std::int64_t lo = std::clamp<std::int64_t>(s.col0 - s.left, 0, all);
  return {lo, std::clamp<std::int64_t>(s.col1 - s.left, lo, all), all};
}

/// From one row of the copy to the next, and so what tiles compute for a row of results. A zero
/// behind a row is also the one before the next.
std::int64_t computed_pixels(const Stencil& s) {
  const Seen seen = seen_of(s);
  const bool shares = s.stride == 1 && seen.lo > 0 && seen.hi < seen.all;
  return s.wide.extent + (kTaps - 1) / s.stride - (shares ? 1 : 0);
}

class Sliding : public Work {
 public:
  Sliding(const Problem& problem, const Variant& chosen, const Kernels& kernels)
      : b_(problem, chosen, kernels), definition_(problem, kernels) {
    const Problem p = with_k_ordered(problem);
    const Decision found = find_stencil(p, p.m, p.k, s_);
    check(found.yes, "not a stencil: ", found.why);
    wide_ = s_.wide.extent;
    pitch_ = computed_pixels(s_);
    rows_ = std::min(chosen.mc, s_.high.extent);
    channels_ = s_.channel.extent;
    pixel_ = spread(channels_, b_.element_bytes);
    bands_ = ceil_div(s_.high.extent, rows_);
    tiles_ = s_.image_count() * bands_ * b_.col_tiles;
    plane_ = ((rows_ + (kTaps - 1) / s_.stride) * pitch_ + 1) * pixel_;
    for (std::int64_t k = 0; k < b_.depth; k += kPairDepth) {
      const std::int64_t tap = k / channels_;
      const std::int64_t row = s_.tap_row(tap / kTaps), col = s_.tap_col(tap % kTaps);
      k_at_.push_back(place(row, col) + k % channels_);
    }
    id = b_.id + ".sliding";
    variant = chosen;
    packed_bytes = b_.packed_matrices * b_.packed_part_bytes();
    pack_tasks = b_.pack_tasks;
    tile_at_ = round_up(s_.stride * s_.stride * plane_ * b_.element_bytes, 64);
    scratch_bytes =
        tile_at_ + computed(rows_) * b_.tile_ld * static_cast<std::int64_t>(sizeof(float));
    const std::int64_t work = 2 * rows_ * wide_ * std::min(b_.nc, b_.cols) * b_.depth;
    tiles_per_task_ = std::max<std::int64_t>(
        {1, ceil_div(tiles_, kMostTasks), ceil_div(least_work(chosen.isa, b_.dtype), work + 1)});
    tasks = ceil_div(tiles_, tiles_per_task_);
  }

  void pack(std::int64_t task, const Operands& o) const override {
    pack_ahead(b_, task, o.b, o.packed);
  }

  void run(std::int64_t index, const Operands& o) const override {
    const std::int64_t first = index * tiles_per_task_;
    const std::int64_t last = std::min(first + tiles_per_task_, tiles_);
    auto* const pixels = static_cast<std::uint16_t*>(o.scratch);
    b_.kernels->begin();
    std::int64_t copied = -1;
    for (std::int64_t i = first; i < last; ++i) {
      const std::int64_t band = i / b_.col_tiles, col0 = i % b_.col_tiles * b_.nc;
      const std::int64_t image = band / bands_, row0 = band % bands_ * rows_;
      const std::int64_t rows = std::min(rows_, s_.high.extent - row0);
      if (copied != band) copy(static_cast<const std::uint16_t*>(o.a), image, row0, rows, pixels);
      copied = band;
      run_tile(o, pixels, image * s_.high.extent + row0, rows, col0);
    }
    b_.kernels->end();
  }

 private:
  /// Rows of tiles that hold so many rows of pixels: those between two rows are nobody's.
  std::int64_t computed(std::int64_t rows) const { return (rows - 1) * pitch_ + wide_; }

  /// Where the copy has the pixel that is `row` rows and `col` columns from its corner.
  std::int64_t place(std::int64_t row, std::int64_t col) const {
    const std::int64_t s = s_.stride;
    return (row % s * s + col % s) * plane_ + (row / s * pitch_ + col / s) * pixel_;
  }

  /// The pixels that the window sees from rows [row0, row0 + rows) of the result.
  void copy(const std::uint16_t* source, std::int64_t image, std::int64_t row0, std::int64_t rows,
            std::uint16_t* dest) const {
    const std::int64_t from = s_.origin + s_.image_offset(image, &Axis::a);
    const Seen seen = seen_of(s_);
    const bool whole = s_.stride == 1 && pixel_ == channels_ && s_.col_step == channels_;
    for (std::int64_t y = 0; y < (rows - 1) * s_.stride + kTaps; ++y) {
      const std::int64_t h = s_.top + row0 * s_.stride + y;
      const bool inside = h >= s_.row0 && h < s_.row1;
      const std::int64_t first = inside ? seen.lo : seen.all, last = inside ? seen.hi : seen.all;
      for (std::int64_t x = 0; x < first; ++x) zero(dest + place(y, x));
      for (std::int64_t x = last; x < seen.all; ++x) zero(dest + place(y, x));
      if (first == last) continue;
      const std::uint16_t* row = source + from + h * s_.row_step + (s_.left + first) * s_.col_step;
      if (whole) {
        std::memcpy(dest + place(y, first), row,
                    static_cast<std::size_t>((last - first) * pixel_) * 2);
        continue;
      }
      for (std::int64_t x = first; x < last; ++x, row += s_.col_step) {
        std::memcpy(dest + place(y, x), row, static_cast<std::size_t>(channels_) * 2);
      }
    }
  }

  void zero(std::uint16_t* pixel) const {
    std::memset(pixel, 0, static_cast<std::size_t>(channels_) * 2);
  }

  void run_tile(const Operands& o, const std::uint16_t* pixels, std::int64_t row0,
                std::int64_t rows, std::int64_t col0) const {
    auto* const tile = reinterpret_cast<float*>(static_cast<std::byte*>(o.scratch) + tile_at_);
    const std::int64_t cols = std::min(b_.nc, b_.cols - col0);
    BlockArgs args{};
    args.rows = computed(rows);
    args.cols = cols;
    args.a = pixels;
    args.row_step = pixel_;
    args.k_step = 1;
    args.c = tile;
    args.ldc = b_.tile_ld;
    args.padded = true;
    for (std::int64_t block = 0; block < b_.k_blocks; ++block) {
      args.k = b_.k_padded(block);
      args.k_at = k_at_.data() + block * b_.kc / kPairDepth;
      args.add = block > 0;
      args.b = packed_block(b_, o.packed, 0, col0, block);
      args.panel_step = args.k * b_.shape->nr;
      b_.shape->block(args);
    }
    for (std::int64_t r = 0; r < rows; ++r) {
      const TilePlace place{0, (row0 + r) * wide_, wide_, col0, cols};
      float* const results = tile + r * pitch_ * b_.tile_ld;
      definition_.mend_border(
          {0, place.row0, place.row0 + wide_, col0, col0 + cols, results, b_.tile_ld, 1}, o.a, o.b);
      finish_tile(b_, place, results, nullptr, o.c, o.sink, o.context, false);
    }
  }

  Blocking b_;
  Definition definition_;
  Stencil s_;
  std::int64_t wide_ = 0, pitch_ = 0;      // pixels of a row of the result, and of the copy
  std::int64_t channels_ = 0, pixel_ = 0;  // elements of a pixel, and from one to the next
  std::int64_t plane_ = 0;                 // elements of a plane of the copy
  std::int64_t rows_ = 0, bands_ = 0;      // of a tile, and tiles of an image
  std::int64_t tiles_ = 0, tiles_per_task_ = 1, tile_at_ = 0;
  std::vector<std::int64_t> k_at_;
};

}  // namespace

Decision sliding_sizes(const Problem& given, SlidingSizes& out) {
  if (given.dtype != DType::bf16) return Decision::forbid("its tiles take bf16");
  if (has_long_sums(given)) return Decision::forbid("its sums are too long");
  const Problem p = with_k_ordered(given);
  Stencil s;
  if (const Decision found = find_stencil(p, p.m, p.k, s); !found) return found;
  if (s.image_count() * s.high.extent * s.wide.extent == 0) {
    return Decision::forbid("it has no pixels");
  }
  if (p.k[0] != s.tap_high || p.k[1] != s.tap_wide) {
    return Decision::forbid("its channels are not innermost");
  }
  if (s.channel.extent == 0 || s.channel.extent % kPairDepth != 0) {
    return Decision::forbid(str("its ", s.channel.extent, " channels do not fill tiles"));
  }
  if (lies_along_m(p)) return Decision::forbid("the result's channels are not contiguous");
  out = {s.wide.extent, computed_pixels(s), s.high.extent, s.channel.extent, s.stride};
  return Decision::allow();
}

Decision accepts_sliding(const Problem& problem, const Variant& variant, const Kernels& kernels) {
  if (!kernels.slides) {
    return Decision::forbid(str("implicit GEMM has no tiles for ", name_of(variant.isa)));
  }
  if (variant.swapped || variant.inside) {
    return Decision::forbid("pixels are its rows, and its weights are packed ahead");
  }
  if (variant.kc % kPairDepth != 0) {
    return Decision::forbid(str("kc ", variant.kc, " is no multiple of ", kPairDepth));
  }
  SlidingSizes sizes;
  return sliding_sizes(problem, sizes);
}

std::unique_ptr<const Work> make_sliding(const Problem& problem, const Variant& variant,
                                         const Kernels& kernels) {
  return std::make_unique<Sliding>(problem, variant, kernels);
}

}  // namespace plait::cpu
