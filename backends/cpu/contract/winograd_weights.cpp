// Winograd for the weights' gradient: 6x6 pixels and 4x4 gradients of results give 3x3 taps. The
// sums over all tiles are made by the pack tasks, each of six of the 36 numbers, some filters and
// some channels; the run tasks bring the taps of some filters back.
#include <cstring>

#include "backends/cpu/contract/blocking.h"
#include "backends/cpu/contract/winograd_tiles.h"

namespace plait::cpu {
namespace {

constexpr std::int64_t kGroup = 6;  // of the numbers a pack task makes

class Weights : public Work {
 public:
  Weights(const Problem& p, const Variant& v, const Kernels& kernels)
      : problem_(with_k_ordered(p)), kernels_(kernels) {
    variant = v;
    check(find_stencil(problem_, problem_.k, problem_.m, s_).yes, "not a gradient of 3x3");
    shape_ = find_shape(kernels, v);
    check(shape_ != nullptr, "no kernel for ", to_text(v));
    channels_ = s_.channel.extent;
    filters_ = problem_.n[0].extent;
    tile_rows_ = ceil_div(s_.high.extent, kTile);
    tile_cols_ = ceil_div(s_.wide.extent, kTile);
    tiles_ = s_.image_count() * tile_rows_ * tile_cols_;
    kc_ = std::clamp<std::int64_t>(v.kc, 1, tiles_);
    mc_ = std::min(v.mc, filters_);
    nc_ = std::min(round_up(v.nc, v.nr), round_up(channels_, v.nr));
    filter_blocks_ = ceil_div(filters_, mc_);
    channel_blocks_ = ceil_div(channels_, nc_);
    pack_tasks = kNumbers / kGroup * filter_blocks_ * channel_blocks_;
    filters_per_task_ =
        std::min<std::int64_t>(filters_, std::max<std::int64_t>(4, ceil_div(filters_, 64)));
    tasks = ceil_div(filters_, filters_per_task_);
    sum_ld_ = spread_row(round_up(channels_, v.nr));
    sum_plane_ = spread_row(filters_ * sum_ld_);
    packed_bytes = kNumbers * sum_plane_ * 4;
    long_sums_ = has_long_sums(problem_);
    if (long_sums_) packed_bytes *= 3;  // totals in f64 behind the sums
    lay_out();
    id = str("winograd.weights.", name_of(v.isa), ".f32.", v.mr, "x", v.nr, ".kc", kc_,
             long_sums_ ? str(".g", kGroupBlocks) : "");
  }

  void pack(std::int64_t task, const Operands& o) const override {
    const int group = static_cast<int>(task % kGroup);
    const std::int64_t filter0 = task / kGroup / channel_blocks_ * mc_;
    const std::int64_t channel0 = task / kGroup % channel_blocks_ * nc_;
    const Block block{filter0, std::min(mc_, filters_ - filter0), channel0,
                      std::min(nc_, channels_ - channel0), group};
    kernels_.begin();
    std::byte* scratch = static_cast<std::byte*>(o.scratch);
    std::memset(scratch + zeros_at_, 0, static_cast<std::size_t>(std::max(mc_, nc_)) * 4);
    for (std::int64_t i = 0; i * kc_ < tiles_; ++i) {
      const std::int64_t count = std::min(kc_, tiles_ - i * kc_);
      transform(o, block, i * kc_, count);
      multiply(o, block, count, (long_sums_ ? i % kGroupBlocks : i) > 0);
      if (long_sums_) end_chunk(o, block, i);
    }
    kernels_.end();
  }

  void run(std::int64_t task, const Operands& o) const override {
    const std::int64_t n0 = task * filters_per_task_;
    const std::int64_t n1 = std::min(n0 + filters_per_task_, filters_);
    const std::int64_t m = channels_ * 9, ld = spread_row(o.transposed ? m : n1 - n0);
    float* tile = static_cast<float*>(o.scratch);
    float* taps = tile + in_lines(std::max((n1 - n0) * spread_row(m), m * spread_row(n1 - n0)));
    kernels_.begin();
    for (std::int64_t n = n0; n < n1; ++n) {
      ResultArgs args{};
      args.sums = static_cast<const float*>(o.packed) + n * sum_ld_;
      args.plane = sum_plane_;
      args.cols = channels_;
      args.dest = taps;
      args.row_step = 3 * channels_;
      args.step = channels_;
      args.rows = args.wide = 3;
      kernels_.winograd->weight_results(args);
      place(o, n, taps, tile + (n - n0) * (o.transposed ? ld : 1), o.transposed ? 1 : ld);
    }
    if (o.sink != nullptr && o.transposed) {
      o.sink(o.context, 0, n0, n1, 0, m, tile, ld);
    } else if (o.sink != nullptr) {
      o.sink(o.context, 0, 0, m, n0, n1, tile, ld);
    }
    kernels_.end();
  }

 private:
  struct Block {
    std::int64_t filter0, filters, channel0, channels;
    int group;
  };

  void lay_out() {
    left_ld_ = spread_row(mc_);
    left_plane_ = spread_row(kc_ * left_ld_);
    right_plane_ = spread_row(kc_ * nc_);
    right_at_ = kGroup * left_plane_ * 4;
    zeros_at_ = right_at_ + kGroup * right_plane_ * 4;
    const std::int64_t packing = zeros_at_ + in_lines(std::max(mc_, nc_)) * 4;
    const std::int64_t n = filters_per_task_, m = channels_ * 9;
    const std::int64_t running =
        (in_lines(std::max(n * spread_row(m), m * spread_row(n))) + in_lines(m)) * 4;
    scratch_bytes = std::max(packing, running);
  }

  /// Pixels into panels [channels / nr][tile][nr], gradients as [tile][filter]; six planes each.
  void transform(const Operands& o, const Block& block, std::int64_t tile0,
                 std::int64_t tiles) const {
    std::byte* scratch = static_cast<std::byte*>(o.scratch);
    const float* zeros = reinterpret_cast<const float*>(scratch + zeros_at_);
    PixelArgs left{}, right{};
    left.channels = block.filters;
    left.dest = reinterpret_cast<float*>(scratch);
    left.plane = left_plane_;
    right.channels = block.channels;
    right.dest = reinterpret_cast<float*>(scratch + right_at_);
    right.plane = right_plane_;
    right.panel = shape_->nr;
    right.panel_step = tiles * shape_->nr;
    for (std::int64_t tile = tile0; tile < tile0 + tiles; ++tile) {
      const std::int64_t col = tile % tile_cols_, row = tile / tile_cols_ % tile_rows_;
      const std::int64_t image = tile / (tile_cols_ * tile_rows_);
      point_at_pixels(s_,
                      static_cast<const float*>(o.a) + s_.origin +
                          s_.image_offset(image, &Axis::a) + block.channel0,
                      row, col, zeros, right.pixels);
      kernels_.winograd->pixel_row[block.group](right);
      right.dest += shape_->nr;
      point_at_results(o, block, image, row, col, zeros, left.pixels);
      kernels_.winograd->tap_row[block.group](left);
      left.dest += left_ld_;
    }
  }

  void point_at_results(const Operands& o, const Block& block, std::int64_t image, std::int64_t row,
                        std::int64_t col, const float* zeros, const float** out) const {
    const float* b = static_cast<const float*>(o.b) + problem_.b0 + block.filter0 +
                     s_.image_offset(image, &Axis::b);
    for (std::int64_t i = 0; i < kTile * kTile; ++i) {
      const std::int64_t h = row * kTile + i / kTile, w = col * kTile + i % kTile;
      const bool inside = h < s_.high.extent && w < s_.wide.extent;
      out[i] = inside ? b + h * s_.high.b + w * s_.wide.b : zeros;
    }
  }

  void multiply(const Operands& o, const Block& block, std::int64_t tiles, bool add) const {
    const std::byte* scratch = static_cast<const std::byte*>(o.scratch);
    BlockArgs args{};
    args.rows = block.filters;
    args.cols = block.channels;
    args.k = tiles;
    args.row_step = 1;
    args.k_step = left_ld_;
    args.panel_step = tiles * shape_->nr;
    args.ldc = sum_ld_;
    args.add = add;
    args.padded = false;
    for (std::int64_t i = 0; i < kGroup; ++i) {
      args.a = reinterpret_cast<const float*>(scratch) + i * left_plane_;
      args.b = reinterpret_cast<const float*>(scratch + right_at_) + i * right_plane_;
      args.c = static_cast<float*>(o.packed) + (block.group * kGroup + i) * sum_plane_ +
               block.filter0 * sum_ld_ + block.channel0;
      shape_->block(args);
    }
  }

  void end_chunk(const Operands& o, const Block& block, std::int64_t chunk) const {
    float* const sums = static_cast<float*>(o.packed);
    double* const totals = reinterpret_cast<double*>(sums + kNumbers * sum_plane_);
    for (std::int64_t i = 0; i < kGroup; ++i) {
      const std::int64_t at =
          (block.group * kGroup + i) * sum_plane_ + block.filter0 * sum_ld_ + block.channel0;
      end_block(chunk, ceil_div(tiles_, kc_), block.filters, block.channels, sums + at, sum_ld_,
                totals + at, sum_ld_);
    }
  }

  /// The nine taps of one filter, [9][channels], to their places in C or in a tile whose m lie
  /// `step` apart.
  void place(const Operands& o, std::int64_t n, const float* taps, float* tile,
             std::int64_t step) const {
    // How far one step of each axis moves in m as the Problem counts it.
    std::int64_t high = 0, wide = 0, channel = 0, size = 1;
    const auto same = [](const Axis& x, const Axis& y) { return x == y; };
    for (auto x = problem_.m.rbegin(); x != problem_.m.rend(); ++x) {
      (same(*x, s_.channel) ? channel : same(*x, s_.tap_wide) ? wide : high) = size;
      size *= x->extent;
    }
    float* c =
        o.sink == nullptr ? static_cast<float*>(o.c) + problem_.c0 + n * problem_.n[0].c : nullptr;
    for (std::int64_t i = 0; i < 9; ++i) {
      const std::int64_t row = s_.tap_row(i / 3), col = s_.tap_col(i % 3);
      const float* from = taps + i * channels_;
      float* to = c != nullptr ? c + row * s_.tap_high.c + col * s_.tap_wide.c
                               : tile + (row * high + col * wide) * step;
      const std::int64_t apart = c != nullptr ? s_.channel.c : channel * step;
      for (std::int64_t k = 0; k < channels_; ++k) to[k * apart] = from[k];
    }
  }

  Problem problem_;
  const Kernels& kernels_;
  Stencil s_;
  const TileShape* shape_ = nullptr;
  std::int64_t channels_ = 0, filters_ = 0, tiles_ = 0, tile_rows_ = 0, tile_cols_ = 0;
  std::int64_t kc_ = 0, mc_ = 0, nc_ = 0, filter_blocks_ = 0, channel_blocks_ = 0;
  bool long_sums_ = false;  // some chunks of kc_ tiles at a time are added up in f32
  std::int64_t filters_per_task_ = 1;
  std::int64_t left_ld_ = 0, left_plane_ = 0, right_plane_ = 0, sum_ld_ = 0, sum_plane_ = 0;
  std::int64_t right_at_ = 0, zeros_at_ = 0;  // bytes
};

}  // namespace

std::unique_ptr<const Work> make_winograd_weights(const Problem& problem, const Variant& variant,
                                                  const Kernels& kernels) {
  return std::make_unique<Weights>(problem, variant, kernels);
}

}  // namespace plait::cpu
