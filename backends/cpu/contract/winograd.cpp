// Which convolutions Winograd takes, in what blocks, and what that should cost.
#include "backends/cpu/contract/winograd.h"

#include <cstdlib>
#include <string_view>

#include "backends/cpu/contract/blocking.h"
#include "backends/cpu/contract/winograd_tiles.h"

namespace plait::cpu {
namespace {

// Smaller images are mostly border, where products with zeros should be zeros: an optimizer that
// divides by the size of a gradient (Adam) would make steps of what is left of them.
constexpr std::int64_t kSmallest = 6;

/// The stencil of a convolution (not swapped) or of its weights' gradient (swapped).
Decision stencil_of(const Problem& given, bool swapped, int lanes, Stencil& out) {
  if (given.dtype != DType::f32) return Decision::forbid("Winograd's sums want f32");
  if (!swapped && has_long_sums(given)) return Decision::forbid("its sums are too long");
  const Problem p = with_k_ordered(given);
  const Decision found = swapped ? find_stencil(p, p.k, p.m, out) : find_stencil(p, p.m, p.k, out);
  if (!found) return found;
  if (out.stride != 1) return Decision::forbid("its stride is 2");
  if (out.image_count() * out.high.extent * out.wide.extent == 0) {
    return Decision::forbid("it has no pixels");
  }
  if (out.channel.extent % lanes != 0) {
    return Decision::forbid(
        str("its ", out.channel.extent, " channels do not fill vectors of ", lanes));
  }
  if (!swapped && lies_along_m(p))
    return Decision::forbid("the result's channels are not contiguous");
  if (!swapped) return Decision::allow();
  if (p.n.size() != 1 || p.n[0].b != 1 || p.n[0].extent % lanes != 0) {
    return Decision::forbid("its filters do not fill vectors");
  }
  if (out.wide.b <= 0 || out.high.b <= 0) return Decision::forbid("its gradient is not an image");
  return Decision::allow();
}

/// Cycles per float that passes through a cache too small for `bytes`.
double stream(double bytes, bool wide) {
  const double near = wide ? 1'500'000 : 400'000;
  return bytes <= near ? 0.05 : bytes <= 16 * near ? 0.17 : 0.4;
}

WinogradGuess guess_forward(const Problem& p, const Stencil& s, const Variant& base,
                            const TileShape& shape, int lanes, bool b_constant) {
  const std::int64_t depth = s.channel.extent, cols = p.n.empty() ? 1 : p.n[0].extent;
  const std::int64_t tile_cols = ceil_div(s.wide.extent, kTile);
  const std::int64_t units = s.image_count() * ceil_div(s.high.extent, kTile);
  const bool wide = lanes >= 16;
  const double channels = static_cast<double>(depth), filters = static_cast<double>(cols);
  WinogradGuess best;
  for (std::int64_t blocks = 1; blocks == 1 || (blocks <= 8 && cols >= blocks * shape.nr);
       blocks *= 2) {
    const std::int64_t nc = round_up(ceil_div(cols, blocks), shape.nr);
    for (const std::int64_t rows : {14, 28, 42, 56, 84, 112, 168, 224, 336}) {
      const std::int64_t most = std::max<std::int64_t>(1, rows / tile_cols);
      const std::int64_t parts = ceil_div(units, most), mc = ceil_div(units, parts);
      const std::int64_t tiles = mc * tile_cols;
      const double t = static_cast<double>(tiles);
      const double held = kNumbers * t * (channels + static_cast<double>(nc)) * 4;
      if (held > 12e6) continue;
      const double through = 3 * stream(held, wide);  // written a line here and a line there
      const double each = product_cycles(tiles, nc, depth, tiles, shape, lanes) * kNumbers +
                          t * channels / lanes * (150 + 36 * through * lanes) +
                          t * static_cast<double>(nc) / lanes * (100 + 36 * through * lanes) +
                          kNumbers * channels * static_cast<double>(nc) *
                              stream(kNumbers * channels * filters * 4, wide) +
                          2000;
      double all = each * static_cast<double>(parts * blocks);
      if (!b_constant) all += channels * filters * (9 * 1.5 + 36 * 0.7);
      const std::int64_t tasks = parts * blocks;
      // At least eight tasks, so that cores are busy to the end.
      const double idle = 1 + 0.5 / static_cast<double>(std::max<std::int64_t>(tasks, 1));
      if (best.tasks != 0 && all * idle >= best.cycles) continue;
      best.variant = base;
      best.variant.kc = depth <= 384 ? depth : round_up(ceil_div(depth, ceil_div(depth, 256)), 8);
      best.variant.mc = mc;
      best.variant.nc = nc;
      best.cycles = all * idle;
      best.tasks = tasks;
    }
  }
  return best;
}

WinogradGuess guess_weights(const Problem& p, const Stencil& s, const Variant& base,
                            const TileShape& shape, int lanes) {
  const std::int64_t channels = s.channel.extent, filters = p.n[0].extent;
  const std::int64_t tiles =
      s.image_count() * ceil_div(s.high.extent, kTile) * ceil_div(s.wide.extent, kTile);
  const bool wide = lanes >= 16;
  WinogradGuess best;
  for (const std::int64_t filter_most : {64, 128, 256, 512}) {
    const std::int64_t filter_blocks = ceil_div(filters, filter_most);
    const std::int64_t mc = round_up(ceil_div(filters, filter_blocks), lanes);
    for (const std::int64_t channel_most : {64, 128, 256, 512}) {
      const std::int64_t channel_blocks = ceil_div(channels, channel_most);
      const std::int64_t nc = round_up(ceil_div(channels, channel_blocks), shape.nr);
      for (const std::int64_t k_most : {48, 96, 192}) {
        const std::int64_t chunks = ceil_div(tiles, k_most), kc = ceil_div(tiles, chunks);
        const double held = 6.0 * static_cast<double>(kc * (mc + nc)) * 4;
        if (held > (wide ? 1.2e6 : 0.5e6) && best.tasks != 0) continue;
        const double sums = 6.0 * static_cast<double>(mc * nc) * 4;
        const double each =
            6 * product_cycles(mc, nc, kc, mc, shape, lanes) * 1.1 +
            static_cast<double>(kc * nc) / lanes * (45 + 6 * stream(held, wide) * lanes) +
            static_cast<double>(kc * mc) / lanes * (30 + 6 * stream(held, wide) * lanes) +
            sums / 4 * (0.1 + 2 * stream(sums + held, wide));
        const std::int64_t tasks = 6 * filter_blocks * channel_blocks;
        const double all = each * static_cast<double>(tasks * chunks) +
                           static_cast<double>(channels * filters) * 36;
        if (best.tasks != 0 && all >= best.cycles) continue;
        best.variant = base;
        best.variant.kc = kc;
        best.variant.mc = mc;
        best.variant.nc = nc;
        best.cycles = all;
        best.tasks = tasks;
      }
    }
  }
  return best;
}

}  // namespace

bool has_winograd() {
  const char* value = std::getenv("PLAIT_CPU_WINOGRAD");
  return value == nullptr || std::string_view(value) != "0";
}

Decision accepts_winograd(const Problem& problem, const Variant& variant, const Kernels& kernels) {
  if (!has_winograd()) return Decision::forbid("PLAIT_CPU_WINOGRAD=0 turns Winograd off");
  if (kernels.winograd == nullptr) {
    return Decision::forbid(str(name_of(variant.isa), " has no Winograd"));
  }
  Stencil s;
  const Decision fits = stencil_of(problem, variant.swapped, kernels.winograd->lanes, s);
  if (!fits || std::min(s.high.extent, s.wide.extent) >= kSmallest) return fits;
  return Decision::forbid(
      str("its images of ", s.high.extent, "x", s.wide.extent, " are mostly border"));
}

Decision guess_winograd(const Problem& problem, Isa isa, const Kernels& kernels, int shape,
                        bool swapped, bool b_constant, WinogradGuess& out) {
  Variant v{.isa = isa,
            .mr = kernels.shapes[shape].mr,
            .nr = kernels.shapes[shape].nr,
            .swapped = swapped,
            .winograd = true};
  if (kernels.winograd == nullptr) return accepts_winograd(problem, v, kernels);
  Stencil s;
  const int lanes = kernels.winograd->lanes;
  if (const Decision fits = stencil_of(problem, swapped, lanes, s); !fits) return fits;
  out = swapped ? guess_weights(problem, s, v, kernels.shapes[shape], lanes)
                : guess_forward(problem, s, v, kernels.shapes[shape], lanes, b_constant);
  return out.tasks > 0 ? Decision::allow() : Decision::forbid("no block of it fits into a cache");
}

std::unique_ptr<const Work> make_winograd(const Problem& problem, const Variant& variant,
                                          const Kernels& kernels) {
  return variant.swapped ? make_winograd_weights(problem, variant, kernels)
                         : make_winograd_forward(problem, variant, kernels);
}

}  // namespace plait::cpu
