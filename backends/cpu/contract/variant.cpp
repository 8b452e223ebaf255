// The ways to compute a contraction, which of them fits, and which should be fastest: a count of
// cycles from sizes, widths and what must be copied. Measuring may overrule it.
#include <algorithm>
#include <charconv>

#include "backends/cpu/contract/blocking.h"
#include "backends/cpu/contract/sliding.h"
#include "backends/cpu/contract/winograd.h"

namespace plait::cpu {
namespace {

constexpr Isa kIsas[] = {Isa::kAmx, Isa::kAvx512Bf16, Isa::kAvx512, Isa::kAvx2, Isa::kPortable};

/// `whole` in equal parts of at most `most`, each a multiple of `unit`.
std::int64_t even_part(std::int64_t whole, std::int64_t most, std::int64_t unit) {
  const std::int64_t parts = std::max<std::int64_t>(ceil_div(whole, most), 1);
  return std::max(round_up(ceil_div(whole, parts), unit), unit);
}

std::int64_t extent_of(const std::vector<Axis>& axes) {
  std::int64_t extent = 1;
  for (const Axis& axis : axes) extent *= axis.extent;
  return extent;
}

struct Sizes {
  std::int64_t batch, rows, cols, depth;
};

Sizes sizes_of(const Problem& p, bool swapped) {
  const std::int64_t m = extent_of(p.m), n = extent_of(p.n);
  return {extent_of(p.batch), swapped ? n : m, swapped ? m : n, extent_of(p.k)};
}

/// What a task keeps in its own cache: the tile, and the blocks copied for it.
std::int64_t cache_bytes(Isa isa) { return isa >= Isa::kAvx512 ? 1'200'000 : 320'000; }

/// Guessed cycles per element that a gather moves; runs are cut at the end of a panel.
double gather_cycles(const Side& side, bool transposed, int panel) {
  const WalkAxis& run = (side.along_k ? side.k : side.index).inner();
  double cuts = 1.0 / static_cast<double>(std::max<std::int64_t>(run.extent, 1));
  if (panel > 0 && !side.along_k) cuts += 1.0 / panel;
  const double each = run.step == 1 ? 0.25 : 1.0;
  return each + (side.guarded ? 8.0 : 4.0) * cuts + (transposed ? 0.5 : 0.0);
}

/// Of an element on its way into the order of the tiles.
double order_cycles(const Blocking& b, const Side& side, bool transposed, int panel) {
  if (b.parts == 1) return gather_cycles(side, transposed, panel);
  const double gathered = lies_in_runs(side, b.dtype) ? 0 : gather_cycles(side, false, 0);
  return gathered + (transposed ? 0.7 : 0.35);  // and split
}

/// Per element that passes once: what does not stay in the core's own caches costs more.
double stream_cycles(double elements) {
  return elements <= 65'536 ? 0.03 : elements <= 2'097'152 ? 0.35 : 0.6;
}

/// The left operand is read where it lies, a line per step of k.
bool is_scattered(const Blocking& b) { return b.in_place && b.k_step != 1 && b.depth > 1; }

/// Of bringing the left operand to the tiles.
double left_cycles(const Blocking& b, const Sizes& s) {
  const double elements = static_cast<double>(s.rows) * static_cast<double>(s.depth);
  const double gathered = b.in_place ? 0 : order_cycles(b, b.left, !b.left.along_k, 0);
  return elements * static_cast<double>(b.col_tiles) *
         (stream_cycles(elements) * (is_scattered(b) ? 2 : 1) + gathered);
}

/// `waste`: products computed for one that is used.
Cost cost_of(const Blocking& b, const Sizes& s, bool b_constant, double left, double waste) {
  const Variant& v = b.variant;
  const int lanes = v.isa == Isa::kPortable ? 4 : v.isa == Isa::kAvx2 ? 8 : 16;
  const double batch = static_cast<double>(s.batch), depth = static_cast<double>(s.depth);
  const double rows = static_cast<double>(s.rows), cols = static_cast<double>(s.cols);
  double products = product_cycles(s.rows, s.cols, s.depth, v.mc, *b.shape, lanes) *
                    (v.isa == Isa::kPortable ? 2 : 1);
  if (v.isa == Isa::kAvx512Bf16) products /= 2;
  if (v.isa == Isa::kAmx) {
    products = static_cast<double>(round_up(s.rows, 16) * round_up(s.cols, 16)) *
               static_cast<double>(round_up(s.depth, kPairDepth)) / 400 *
               products_of_parts(b.parts);
  }
  // Swapped: tiles are transposed, panels packed inside.
  if (is_scattered(b) || v.swapped) products *= 1.15;
  const double row_tiles = static_cast<double>(b.row_tiles);
  const double col_tiles = static_cast<double>(b.col_tiles);
  const double right_stream = stream_cycles(cols * depth);
  const double packed = cols * depth * order_cycles(b, b.right, b.right.along_k, v.nr);
  const double stored = b.parts == 1 ? 1 : 2.0 * b.parts / static_cast<double>(size_of(b.dtype));
  Cost cost;
  cost.tasks = b.tasks;
  if (b.ahead && !b_constant) {
    cost.pack = packed * static_cast<double>(b.packed_matrices);
    cost.pack_tasks = b.pack_tasks;
  }
  const double right =
      (b.ahead ? 0 : packed * row_tiles) + cols * depth * row_tiles * right_stream * stored;
  const double store_each = b.direct         ? 0.2 * static_cast<double>(b.k_blocks)
                            : b.store_turned ? 1.5
                                             : 0.6;
  const double tiles = row_tiles * col_tiles * static_cast<double>(b.k_blocks) * 300;
  cost.run = batch * (products * waste + left + right + rows * cols * store_each + tiles);
  return cost;
}

/// The time of 2 threads (twice) and of 8, each measured by what the work could fill.
double score(const Cost& cost, Isa isa, DType dtype, const Sizes& s) {
  // Of handing out packing and waiting for it, and of what one packs for the others.
  constexpr double kStage = 15'000;
  const double work = 2.0 * static_cast<double>(s.batch) * static_cast<double>(s.rows) *
                      static_cast<double>(s.cols) * static_cast<double>(s.depth);
  double sum = 0;
  for (const std::int64_t threads : {2, 2, 8}) {
    const double useful = std::clamp(work / static_cast<double>(least_work(isa, dtype)), 1.0,
                                     static_cast<double>(threads));
    const auto share = [&](std::int64_t tasks) {
      tasks = std::max<std::int64_t>(tasks, 1);
      return static_cast<double>(ceil_div(tasks, threads)) / static_cast<double>(tasks);
    };
    const double pack = cost.pack_tasks > 0 ? cost.pack * share(cost.pack_tasks) + kStage : 0;
    sum += (cost.run * share(cost.tasks) + pack) * useful;
  }
  return sum;
}

/// Of k, summed in registers. A panel of b in half of the nearest cache is enough where vectors are
/// short; with long ones it had better come from the next one than that sums go to memory and back.
std::int64_t most_depth(Isa isa, const TileShape& shape) {
  if (isa >= Isa::kAvx512) return 512;
  return std::clamp<std::int64_t>(6144 / shape.nr, 64, 256);
}

/// The best rows of pixels and columns of a sliding variant.
Ranked best_sliding(const Problem& p, const SlidingSizes& z, Isa isa, const TileShape& shape,
                    bool b_constant) {
  constexpr std::int64_t kMostRows = 320;    // of a tile
  constexpr std::int64_t kMostDepth = 2304;  // taps read the same pixels: they stay near by
  const auto fits = [&](std::int64_t rows) {
    const std::int64_t copied = (rows + 2) * z.computed * z.channels * 2 * z.stride * z.stride;
    return rows <= z.high && rows * z.computed <= kMostRows && copied <= cache_bytes(isa);
  };
  const Sizes s = sizes_of(p, false);
  Variant v{.isa = isa, .mr = shape.mr, .nr = shape.nr, .sliding = true};
  v.kc = even_part(s.depth, kMostDepth, kPairDepth);
  v.mc = v.nc = 1;
  Blocking b(p, v, kernels_of(isa));
  const double pixels = static_cast<double>(s.rows), channels = static_cast<double>(z.channels);
  Ranked best;
  for (std::int64_t rows = 1; rows == 1 || fits(rows); ++rows) {
    if (rows > 1 && ceil_div(z.high, rows) == ceil_div(z.high, rows - 1)) continue;
    const double waste = static_cast<double>(round_up((rows - 1) * z.computed + z.wide, 16)) /
                         static_cast<double>(rows * z.wide);
    const double seen =
        static_cast<double>((rows + 2) * z.computed) / static_cast<double>(rows * z.wide);
    const double copied = pixels * channels * seen * static_cast<double>(z.stride * z.stride);
    const double left = copied * (0.1 + stream_cycles(copied));
    for (const std::int64_t col_most : {64, 128, 256, 512, 1024}) {
      v.mc = rows;
      v.nc = even_part(s.cols, std::max<std::int64_t>(col_most, shape.nr), shape.nr);
      b.cut(rows * z.wide, v.nc);
      const Cost cost = cost_of(b, s, b_constant, left, waste);
      const double found = score(cost, isa, p.dtype, s);
      if (best.variant.mc == 0 || found < best.score) best = {v, cost, found, accepts(p, v).yes};
    }
  }
  return best;
}

/// The best sizes of blocks for one tile shape.
Ranked best_blocks(const Problem& p, Isa isa, const TileShape& shape, bool swapped,
                   bool b_constant) {
  const Sizes s = sizes_of(p, swapped);
  const bool pairs = kernels_of(isa).pairs;
  Variant v{.isa = isa, .mr = shape.mr, .nr = shape.nr, .swapped = swapped};
  const std::int64_t most_k = most_depth(isa, shape);
  v.kc = s.depth <= most_k * 3 / 2 ? std::max<std::int64_t>(s.depth, 1)
                                   : even_part(s.depth, most_k, pairs ? kPairDepth : 8);
  constexpr std::int64_t kFewTiles = 2;  // of rows: each of them may pack b for itself
  const bool first_shape = shape.mr == kernels_of(isa).shapes[0].mr;
  v.mc = v.nc = 1;
  Blocking b(p, v, kernels_of(isa));
  Ranked best;
  for (const std::int64_t row_most : {12, 24, 36, 48, 72, 96, 144, 240, 512}) {
    if (row_most == 512 && s.rows > row_most) continue;  // only to have them in one tile
    v.mc = even_part(s.rows, std::max<std::int64_t>(row_most, shape.mr), shape.mr);
    for (const std::int64_t col_most : {16, 32, 48, 64, 96, 128, 192, 256, 512, 1024, 2048}) {
      v.nc = even_part(s.cols, std::max<std::int64_t>(col_most, shape.nr), shape.nr);
      const bool may_pack_inside = !swapped && !b_constant && ceil_div(s.rows, v.mc) <= kFewTiles;
      for (const bool inside : {false, true}) {
        if (inside && !may_pack_inside) continue;
        v.inside = b.variant.inside = inside;
        b.cut(v.mc, v.nc);
        const bool smallest = best.variant.mc == 0;
        if (!smallest && b.totals_at > cache_bytes(isa)) continue;
        const Cost cost = cost_of(b, s, b_constant, left_cycles(b, s), 1);
        const double found = score(cost, isa, p.dtype, s) * (first_shape ? 1 : 1.03);
        if (smallest || found < best.score) best = {v, cost, found, accepts(p, v).yes};
      }
    }
  }
  return best;
}

}  // namespace

double product_cycles(std::int64_t rows, std::int64_t cols, std::int64_t depth, std::int64_t most,
                      const TileShape& shape, int lanes) {
  const double vectors = static_cast<double>(ceil_div(cols, lanes));
  const std::int64_t tiles = std::max<std::int64_t>(ceil_div(rows, most), 1);
  const std::int64_t parts = tiles * ceil_div(ceil_div(rows, tiles), shape.mr);
  const double height =
      static_cast<double>(rows) / static_cast<double>(std::max<std::int64_t>(parts, 1));
  const double width = std::min<double>(vectors, static_cast<double>(shape.nr) / lanes);
  const double step = std::max({height * width / 2, (height + width) / 2, width > 0 ? 4.0 : 0.0});
  const double panels = width > 0 ? vectors / width : 0;
  return step * panels * static_cast<double>(parts) * static_cast<double>(depth);
}

bool lies_along_m(const Problem& p) {
  return walk(p.m, Operand::kC, false).inner().step == 1 &&
         walk(p.n, Operand::kC, false).inner().step != 1;
}

Decision accepts(const Problem& problem, const Variant& variant) {
  if (problem.dtype != DType::f32 && !is_half(problem.dtype)) {
    return Decision::forbid(str("dtype ", problem.dtype, " is not f32, bf16 or f16"));
  }
  if (variant.isa == Isa::kAvx512Bf16 && problem.dtype != DType::bf16) {
    return Decision::forbid(
        str("avx512bf16 multiplies bf16 only, the operands are ", problem.dtype));
  }
  if (variant.isa == Isa::kAmx && problem.dtype == DType::f32 && !has_f32_tiles()) {
    return Decision::forbid("PLAIT_CPU_F32_TILES=0 keeps f32 from amx");
  }
  if (variant.isa > detect_isa()) {
    return Decision::forbid(str("this machine offers ", name_of(detect_isa())));
  }
  const Kernels& kernels = kernels_of(variant.isa);
  if (variant.winograd) {
    const Decision winograd = accepts_winograd(problem, variant, kernels);
    if (!winograd) return winograd;
  }
  if (variant.sliding) {
    const Decision sliding = accepts_sliding(problem, variant, kernels);
    if (!sliding) return sliding;
  }
  if (find_shape(kernels, variant) == nullptr) {
    return Decision::forbid(str(name_of(variant.isa), " has no ", variant.mr, "x", variant.nr));
  }
  if (variant.kc < 1 || variant.mc < 1 || variant.nc < 1) {
    return Decision::forbid("a block size is below 1");
  }
  return Decision::allow();
}

std::vector<Ranked> ranked_variants(const Problem& problem, Isa best, bool b_constant) {
  std::vector<Ranked> all;
  for (const Isa isa : kIsas) {
    if (isa > best) continue;
    if (isa == Isa::kAvx512Bf16 && best == Isa::kAmx) continue;  // tiles do the same, faster
    const Kernels& kernels = kernels_of(isa);
    for (int i = 0; i < kernels.shape_count; ++i) {
      for (const bool swapped : {false, true}) {
        all.push_back(best_blocks(problem, isa, kernels.shapes[i], swapped, b_constant));
        SlidingSizes sizes;
        if (!swapped && kernels.slides && sliding_sizes(problem, sizes)) {
          all.push_back(best_sliding(problem, sizes, isa, kernels.shapes[i], b_constant));
        }
        WinogradGuess guess;
        if (guess_winograd(problem, isa, kernels, i, swapped, b_constant, guess)) {
          const Cost cost{.run = guess.cycles, .tasks = guess.tasks};
          const double found = score(cost, isa, problem.dtype, sizes_of(problem, swapped));
          all.push_back({guess.variant, cost, found, accepts(problem, guess.variant).yes});
        }
      }
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const Ranked& x, const Ranked& y) {
    if (x.accepted != y.accepted) return x.accepted;
    return x.score < y.score;
  });
  return all;
}

std::vector<Variant> variants(const Problem& problem, Isa best, bool b_constant) {
  std::vector<Variant> result;
  for (const Ranked& r : ranked_variants(problem, best, b_constant)) result.push_back(r.variant);
  return result;
}

std::string to_text(const Variant& v) {
  return str(name_of(v.isa), " ", v.mr, "x", v.nr, " kc", v.kc, " mc", v.mc, " nc", v.nc,
             v.swapped ? " swapped" : "", v.inside ? " inside" : "", v.winograd ? " winograd" : "",
             v.sliding ? " sliding" : "");
}

namespace {

/// Takes `prefix` and a number off the front.
template <class T>
bool take(std::string_view& text, std::string_view prefix, T& number) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || number < 1) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

}  // namespace

Variant variant_from_text(std::string_view text) {
  for (const Isa isa : kIsas) {
    std::string_view rest = text;
    if (!rest.starts_with(name_of(isa))) continue;
    rest.remove_prefix(name_of(isa).size());
    Variant v{.isa = isa};
    const bool whole = take(rest, " ", v.mr) && take(rest, "x", v.nr) && take(rest, " kc", v.kc) &&
                       take(rest, " mc", v.mc) && take(rest, " nc", v.nc);
    const auto take_word = [&](std::string_view word) {
      if (!rest.starts_with(word)) return false;
      rest.remove_prefix(word.size());
      return true;
    };
    v.swapped = take_word(" swapped");
    v.inside = take_word(" inside");
    v.winograd = take_word(" winograd");
    v.sliding = take_word(" sliding");
    if (whole && rest.empty()) return v;
  }
  fail("not a contraction variant: \"", text, "\"; expected e.g. \"avx2 6x16 kc256 mc96 nc512\"");
}

}  // namespace plait::cpu
