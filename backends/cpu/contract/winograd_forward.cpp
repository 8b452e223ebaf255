// Winograd forwards: a task transforms the pixels under some rows of tiles, multiplies them with
// some columns of the transformed taps and brings the results back row of tiles by row of tiles,
// which are whole rows of the image and so a range of m.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

#include "backends/cpu/contract/blocking.h"
#include "backends/cpu/contract/definition.h"
#include "backends/cpu/contract/winograd_tiles.h"

namespace plait::cpu {
namespace {

class Forward : public Work {
 public:
  Forward(const Problem& p, const Variant& v, const Kernels& kernels)
      : problem_(with_k_ordered(p)), definition_(problem_, kernels), kernels_(kernels) {
    variant = v;
    check(find_stencil(problem_, problem_.m, problem_.k, s_).yes, "not a convolution of 3x3");
    shape_ = find_shape(kernels, v);
    check(shape_ != nullptr, "no kernel for ", to_text(v));
    depth_ = s_.channel.extent;
    cols_ = problem_.n.empty() ? 1 : problem_.n[0].extent;
    kc_ = std::min(v.kc, depth_);
    nc_ = std::min(round_up(v.nc, v.nr), round_up(cols_, v.nr));
    all_cols_ = round_up(cols_, v.nr);
    tile_rows_ = ceil_div(s_.high.extent, kTile);
    tile_cols_ = ceil_div(s_.wide.extent, kTile);
    units_ = s_.image_count() * tile_rows_;
    units_per_task_ = std::clamp<std::int64_t>(v.mc, 1, std::max<std::int64_t>(units_, 1));
    col_blocks_ = ceil_div(cols_, nc_);
    tasks = ceil_div(units_, units_per_task_) * col_blocks_;
    panels_per_task_ = std::max<std::int64_t>(1, ceil_div(all_cols_ / v.nr, 64));
    pack_tasks = ceil_div(all_cols_ / v.nr, panels_per_task_);
    finite_ = std::vector<std::atomic<bool>>(static_cast<std::size_t>(pack_tasks));
    packed_plane_ = spread_row(all_cols_ * depth_);
    packed_bytes = kNumbers * packed_plane_ * 4;
    lay_out();
    id = str("winograd.", name_of(v.isa), ".f32.", v.mr, "x", v.nr, ".kc", kc_);
  }

  /// Taps of some panels of columns, transformed: [36][block of k][panel][k][nr].
  void pack(std::int64_t task, const Operands& o) const override {
    const std::int64_t nr = shape_->nr, first = task * panels_per_task_;
    const std::int64_t last = std::min(first + panels_per_task_, all_cols_ / nr);
    const Axis n = problem_.n.empty() ? Axis{} : problem_.n[0];
    const float* b = static_cast<const float*>(o.b) + problem_.b0;
    float* packed = static_cast<float*>(o.packed);
    bool finite = true;
    alignas(64) float taps[9][kWidest];
    std::memset(taps, 0, sizeof taps);
    PixelArgs args{};
    for (std::int64_t i = 0; i < 9; ++i) args.pixels[i] = taps[i];
    args.channels = nr;
    args.plane = packed_plane_;
    for (std::int64_t panel = first; panel < last; ++panel) {
      const std::int64_t wide = std::min(nr, cols_ - panel * nr);
      if (wide < nr) std::memset(taps, 0, sizeof taps);
      for (std::int64_t k = 0; k < depth_; ++k) {
        for (std::int64_t i = 0; i < 9; ++i) {
          const float* from = b + s_.tap_row(i / 3) * s_.tap_high.b +
                              s_.tap_col(i % 3) * s_.tap_wide.b + k * s_.channel.b +
                              panel * nr * n.b;
          for (std::int64_t j = 0; j < wide; ++j) taps[i][j] = from[j * n.b];
        }
        const std::int64_t block = k / kc_, size = std::min(kc_, depth_ - block * kc_);
        args.dest = packed + block * kc_ * all_cols_ + panel * nr * size + (k - block * kc_) * nr;
        kernels_.winograd->taps(args);
        finite &= kernels_.all_finite(args.dest + kSumOfAll * packed_plane_, 1, nr, nr);
      }
    }
    finite_[static_cast<std::size_t>(task)].store(finite, std::memory_order_relaxed);
  }

  void run(std::int64_t task, const Operands& o) const override {
    const std::int64_t unit0 = task / col_blocks_ * units_per_task_;
    const std::int64_t unit1 = std::min(unit0 + units_per_task_, units_);
    const std::int64_t col0 = task % col_blocks_ * nc_, cols = std::min(nc_, cols_ - col0);
    std::byte* scratch = static_cast<std::byte*>(o.scratch);
    float* numbers = reinterpret_cast<float*>(scratch);
    float* sums = reinterpret_cast<float*>(scratch + sums_at_);
    kernels_.begin();
    transform(o, unit0, unit1, numbers, reinterpret_cast<float*>(scratch + zeros_at_));
    multiply(o, (unit1 - unit0) * tile_cols_, col0, cols, numbers, sums);
    for (std::int64_t unit = unit0; unit < unit1; ++unit) {
      finish(o, unit, (unit - unit0) * tile_cols_, col0, cols, sums,
             reinterpret_cast<float*>(scratch + tile_at_));
    }
    kernels_.end();
  }

 private:
  static constexpr std::int64_t kWidest = 64;
  static constexpr std::int64_t kSumOfAll = 7;  // of the 36 numbers: all nine taps, added up

  void lay_out() {
    const std::int64_t tiles = units_per_task_ * tile_cols_;
    ld_ = spread_row(depth_);
    plane_ = spread_row(tiles * ld_);
    sum_ld_ = spread_row(nc_);
    sum_plane_ = spread_row(tiles * sum_ld_);
    tile_ld_ = spread_row(nc_);
    sums_at_ = kNumbers * plane_ * 4;
    tile_at_ = sums_at_ + kNumbers * sum_plane_ * 4;
    zeros_at_ = tile_at_ + in_lines(kTile * s_.wide.extent * tile_ld_) * 4;
    scratch_bytes = zeros_at_ + in_lines(depth_) * 4;
  }

  void transform(const Operands& o, std::int64_t unit0, std::int64_t unit1, float* numbers,
                 float* zeros) const {
    std::memset(zeros, 0, static_cast<std::size_t>(depth_) * 4);
    PixelArgs args{};
    args.channels = depth_;
    args.dest = numbers;
    args.plane = plane_;
    for (std::int64_t unit = unit0; unit < unit1; ++unit) {
      const float* image =
          static_cast<const float*>(o.a) + s_.origin + s_.image_offset(unit / tile_rows_, &Axis::a);
      for (std::int64_t col = 0; col < tile_cols_; ++col, args.dest += ld_) {
        point_at_pixels(s_, image, unit % tile_rows_, col, zeros, args.pixels);
        kernels_.winograd->pixels(args);
      }
    }
  }

  void multiply(const Operands& o, std::int64_t tiles, std::int64_t col0, std::int64_t cols,
                const float* numbers, float* sums) const {
    BlockArgs args{};
    args.rows = tiles;
    args.cols = cols;
    args.row_step = ld_;
    args.k_step = 1;
    args.ldc = sum_ld_;
    args.padded = true;
    const float* packed = static_cast<const float*>(o.packed);
    for (std::int64_t i = 0; i < kNumbers; ++i) {
      args.c = sums + i * sum_plane_;
      for (std::int64_t k = 0; k < depth_; k += kc_) {
        args.k = std::min(kc_, depth_ - k);
        args.add = k > 0;
        args.a = numbers + i * plane_ + k;
        args.b = packed + i * packed_plane_ + k * all_cols_ + col0 * args.k;
        args.panel_step = args.k * shape_->nr;
        shape_->block(args);
      }
    }
  }

  void finish(const Operands& o, std::int64_t unit, std::int64_t first_tile, std::int64_t col0,
              std::int64_t cols, const float* sums, float* tile) const {
    const std::int64_t wide = s_.wide.extent, row0 = unit % tile_rows_ * kTile;
    const std::int64_t rows = std::min(kTile, s_.high.extent - row0);
    ResultArgs args{};
    args.plane = sum_plane_;
    args.cols = round_up(cols, kernels_.winograd->lanes);
    args.row_step = wide * tile_ld_;
    args.step = tile_ld_;
    args.rows = rows;
    for (std::int64_t col = 0; col < tile_cols_; ++col) {
      args.sums = sums + (first_tile + col) * sum_ld_;
      args.dest = tile + col * kTile * tile_ld_;
      args.wide = std::min(kTile, wide - col * kTile);
      kernels_.winograd->results(args);
    }
    const std::int64_t image = unit / tile_rows_, m0 = (image * s_.high.extent + row0) * wide;
    if (!taps_are_finite()) {
      definition_.mend_all({0, m0, m0 + rows * wide, col0, col0 + cols, tile, tile_ld_, 1}, o.a,
                           o.b);
    }
    if (o.sink != nullptr) {
      o.sink(o.context, 0, m0, m0 + rows * wide, col0, col0 + cols, tile, tile_ld_);
      return;
    }
    const std::int64_t step = problem_.n.empty() ? 1 : problem_.n[0].c;
    float* c =
        static_cast<float*>(o.c) + problem_.c0 + s_.image_offset(image, &Axis::c) + col0 * step;
    for (std::int64_t i = 0; i < rows * wide; ++i) {
      kernels_.store_f32(tile + i * tile_ld_, cols,
                         c + (row0 + i / wide) * s_.high.c + i % wide * s_.wide.c, step);
    }
  }

  /// Else the transforms have made NaN of infinities, all over a tile.
  bool taps_are_finite() const {
    return std::all_of(finite_.begin(), finite_.end(),
                       [](const auto& part) { return part.load(std::memory_order_relaxed); });
  }

  Problem problem_;
  Definition definition_;
  const Kernels& kernels_;
  mutable std::vector<std::atomic<bool>> finite_;  // the taps of each pack task, when it ran last
  Stencil s_;
  const TileShape* shape_ = nullptr;
  std::int64_t depth_ = 0, cols_ = 0, all_cols_ = 0, kc_ = 0, nc_ = 0;
  std::int64_t tile_rows_ = 0, tile_cols_ = 0, units_ = 0, units_per_task_ = 0, col_blocks_ = 0;
  std::int64_t panels_per_task_ = 1;
  std::int64_t ld_ = 0, plane_ = 0, packed_plane_ = 0, sum_ld_ = 0, sum_plane_ = 0,
               tile_ld_ = 0;                               // floats
  std::int64_t sums_at_ = 0, tile_at_ = 0, zeros_at_ = 0;  // bytes
};

}  // namespace

std::unique_ptr<const Work> make_winograd_forward(const Problem& problem, const Variant& variant,
                                                  const Kernels& kernels) {
  return std::make_unique<Forward>(problem, variant, kernels);
}

}  // namespace plait::cpu
