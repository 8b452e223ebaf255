// Shapes of tiles, and a guess which of them a contraction takes.
#include "codegen/cuda/product_shape.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "base/error.h"

namespace plait::codegen::cuda {
namespace {

constexpr std::int64_t kFewOperations = 1 << 21;
constexpr int kMostBlockBytes = 227 * 1024;
// Splits that are tried: one of them fills the last wave of blocks. Most of them of any tile, and
// of tiles that are few.
constexpr int kSplits[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  11, 13,  14,
                           16, 18, 22, 26, 29, 32, 36, 44, 52, 64, 128, 256};
constexpr int kManySplits = 64, kMostSplits = 256;

struct TileKind {
  Core core;
  int bm, bn, warps_m, warps_n;
};
constexpr TileKind kTiles[] = {
    {Core::kWgmma, 128, 256, 8, 1},  {Core::kWgmma, 128, 128, 8, 1}, {Core::kWgmma, 64, 256, 4, 1},
    {Core::kWgmma, 64, 128, 4, 1},   {Core::kWgmma, 128, 64, 8, 1},  {Core::kWgmma, 64, 64, 4, 1},
    {Core::kWgmma, 256, 128, 16, 1}, {Core::kWgmma, 256, 64, 16, 1}, {Core::kWgmma, 64, 32, 4, 1},
    {Core::kMma, 256, 128, 4, 2},    {Core::kMma, 128, 256, 2, 4},   {Core::kMma, 128, 128, 2, 4},
    {Core::kMma, 128, 64, 4, 1},     {Core::kMma, 64, 128, 1, 4},    {Core::kMma, 64, 64, 2, 2},
    {Core::kMma, 128, 32, 4, 1},     {Core::kMma, 64, 32, 2, 2},     {Core::kMma, 32, 64, 2, 2},
    {Core::kMma, 32, 32, 2, 2},      {Core::kFma, 128, 128, 4, 2},   {Core::kFma, 64, 64, 4, 2},
    {Core::kPair, 128, 128, 8, 1},
};

struct CoreName {
  Core core;
  const char* name;
};
constexpr CoreName kCoreNames[] = {
    {Core::kFma, "fma"}, {Core::kMma, "mma"}, {Core::kWgmma, "wg"}, {Core::kPair, "pair"}};

Core core_of(DType t, bool tf32) {
  return is_half(t) || (t == DType::f32 && tf32) ? Core::kMma : Core::kFma;
}

/// Bytes of k in a tile's row; less where elements are gathered through registers.
int row_bytes(const Form& f) {
  const int size = static_cast<int>(size_of(f.dtype));
  return std::min(f.a.vector, f.b.vector) * size < 4 ? 64 : 128;
}

/// Words that lie along rows are turned through registers, 4 x 4 at a time.
bool turns(const Form& f, const FormOperand& x, const Shape& s) {
  return s.core == Core::kWgmma && f.dtype == DType::f32 && !x.along_k;
}
int turned_squares(const Form& f, const Shape& s) {
  const int rows = (turns(f, f.a, s) ? s.bm : 0) + (turns(f, f.b, s) ? s.bn : 0);
  return rows * s.bk / 16 / s.loading();
}

/// The tensor cores read shared memory themselves: long lines, words along k.
Decision fits_wgmma(const Form& f, const Shape& s) {
  if (row_bytes(f) != 128) return Decision::forbid("its rows are not as long");
  for (const auto& [x, rows] : {std::pair{&f.a, s.bm}, {&f.b, s.bn}}) {
    if (!turns(f, *x, s)) continue;
    if (x->vector != 4 || rows * s.bk % (16 * s.loading()) != 0 || s.slices > 1 || s.stages < 4) {
      return Decision::forbid("its words do not lie along k");
    }
  }
  if (!f.b.along_k && s.bn % 64 != 0) return Decision::forbid("its panels are not as wide");
  return Decision::allow();
}

/// Only where there are more tiles than run at once, and one at a time on a multiprocessor.
Decision fits_walk(const Form& f, const Shape& s) {
  if (s.core != Core::kWgmma || !is_half(f.dtype) || s.splits > 1 || s.slices > 1) {
    return Decision::forbid("its tiles are no plain ones of halves");
  }
  const Dim tiles =
      extent_of(f.batch) * ceildiv(extent_of(f.rows), s.bm) * ceildiv(extent_of(f.columns), s.bn);
  if (tiles.hi() <= f.device->processors) return Decision::forbid("its tiles run at once");
  if (s.threads() > 256 || held_blocks(f, s) > 1) {
    return Decision::forbid("a multiprocessor has other warps");
  }
  return Decision::allow();
}

/// Plain matrices of halves, that the copy engine knows: lines on 16 bytes.
Decision fits_pair(const Form& f, const Shape& s) {
  if (!is_half(f.dtype) || f.wide || !f.batch.empty()) {
    return Decision::forbid("it is no plain product of halves");
  }
  for (const auto& [x, axes] : {std::pair{&f.a, &f.rows}, {&f.b, &f.columns}}) {
    if (x->guarded || x->vector != 8 || axes->size() != 1 || f.k.size() != 1) {
      return Decision::forbid("an operand is no plain matrix");
    }
    if ((*axes)[0].extent.lo() < 128) return Decision::forbid("it is smaller than a tile");
  }
  if (f.k[0].extent.lo() < s.bk) return Decision::forbid("it is smaller than a tile");
  if (s.splits > 1 || s.slices > 1 || s.walks) return Decision::forbid("its blocks walk anyway");
  if (block_bytes(f, s) > kMostBlockBytes) return Decision::forbid("too much shared memory");
  return Decision::allow();
}

int table_bytes(const FormOperand& x, int rows, const Shape& s) {
  const bool table = x.along_k && !x.linear && rows * s.bk / x.vector / s.loading() > 8;
  return table ? rows * (x.guarded ? 16 : 8) : 0;
}

bool divides(const FormOperand& x, int rows, const Shape& s) {
  const int side = (x.along_k ? s.bk : rows) / x.vector;
  return side > 0 && s.loading() % side == 0 && rows * s.bk % (x.vector * s.loading()) == 0;
}

/// Bytes of one stage of the pipe.
int stage_bytes(const Form& f, const Shape& s) {
  return (s.bm + s.bn) * s.bk * static_cast<int>(size_of(f.dtype));
}

/// Microseconds of a step's products on one multiprocessor.
double product_us(const Form& f, const Shape& s) {
  const double products = static_cast<double>(s.bm) * s.bn * s.bk;
  const bool words = f.dtype == DType::f32;
  const auto rate = [&](const char* core) { return f.device->tiles.products_per_us.at(core); };
  switch (s.core) {
    case Core::kFma:
      return products / rate(words ? "fma" : "fma.other");
    case Core::kMma:
      return products / rate(words ? "mma.f32" : "mma");
    default:
      return products / rate(turned_squares(f, s) > 0 ? "wg.turned" : words ? "wg.f32" : "wg");
  }
}

/// Microseconds of a step's elements that are brought one by one: each has its place found. One
/// block alone takes twice as long for them.
double pick_us(const Form& f, const Shape& s) {
  return f.device->tiles.pick_us * s.bk *
         ((f.a.vector == 1 ? s.bm : 0) + (f.b.vector == 1 ? s.bn : 0));
}

double number(const std::vector<Axis>& axes, const DimBindings& largest) {
  return static_cast<double>(std::max<std::int64_t>(1, evaluate(extent_of(axes), largest)));
}

double tile_count(const Form& f, const Shape& s, const DimBindings& largest) {
  return f.calls * number(f.batch, largest) * std::ceil(number(f.rows, largest) / s.bm) *
         std::ceil(number(f.columns, largest) / s.bn);
}

Shape simple_shape(const Form& f, const DimBindings& largest) {
  Shape s;
  const std::int64_t elements =
      evaluate(extent_of(f.batch) * extent_of(f.rows) * extent_of(f.columns), largest);
  const std::int64_t depth = evaluate(extent_of(f.k), largest);
  while (s.lanes < 32 && s.lanes * 8 <= depth &&
         elements * s.lanes < 2 * 256 * f.device->processors) {
    s.lanes *= 2;
  }
  return s;
}

/// Every symbol at the end of its range, for a guess without bindings.
DimBindings ends_of(const Form& f) {
  std::map<std::string, Dim> symbols;
  for (const auto* axes : {&f.batch, &f.rows, &f.columns, &f.k}) {
    for (const Axis& x : *axes) x.extent.collect_symbols(symbols);
  }
  DimBindings ends;
  for (const auto& [name, d] : symbols) ends.emplace(name, Dim(d.hi()));
  return ends;
}

}  // namespace

std::string to_text(const Shape& s) {
  if (s.core == Core::kSimple) return str("simple.l", s.lanes);
  const auto* core = std::find_if(std::begin(kCoreNames), std::end(kCoreNames),
                                  [&](const CoreName& c) { return c.core == s.core; });
  return str(s.bm, "x", s.bn, "x", s.bk, ".", core->name, ".s", s.stages,
             s.slices > 1 ? str(".g", s.slices) : "", s.splits > 1 ? str(".k", s.splits) : "",
             s.walks ? ".w" : "");
}

std::optional<Shape> shape_from_text(const std::string& text) {
  Shape s;
  if (std::sscanf(text.c_str(), "simple.l%d", &s.lanes) == 1) return s;
  char name[5] = {};
  int read = 0;
  if (std::sscanf(text.c_str(), "%dx%dx%d.%4[a-z].s%d%n", &s.bm, &s.bn, &s.bk, name, &s.stages,
                  &read) < 5) {
    return std::nullopt;
  }
  const char* rest = text.c_str() + read;
  if (std::sscanf(rest, ".g%d%n", &s.slices, &read) == 1) rest += read;
  if (std::sscanf(rest, ".k%d%n", &s.splits, &read) == 1) rest += read;
  s.walks = std::string(rest) == ".w";
  for (const CoreName& c : kCoreNames) {
    if (std::string(c.name) == name) s.core = c.core;
  }
  for (const TileKind& t : kTiles) {
    if (t.core == s.core && t.bm == s.bm && t.bn == s.bn) {
      s.warps_m = t.warps_m;
      s.warps_n = t.warps_n;
      return s;
    }
  }
  return std::nullopt;
}

int block_bytes(const Form& f, const Shape& s) {
  if (s.core == Core::kSimple) return 0;
  const int pipe = s.stages * stage_bytes(f, s);
  const int tables = table_bytes(f.a, s.bm, s) + table_bytes(f.b, s.bn, s);
  const int sums = s.core == Core::kFma ? 0 : s.bm * (s.bn + 8 * s.warps_n) * 4;
  if (s.core == Core::kPair) return pipe + (f.packed ? sums / 2 : sums) + 16 * s.stages + 1024;
  return std::max(s.slices * (pipe + tables), sums) + (s.core == Core::kWgmma ? 1024 : 0);
}

int held_blocks(const Form& f, const Shape& s) {
  if (s.core == Core::kPair) return 1;
  if (s.core == Core::kSimple) return 2048 / s.threads();
  const int sums = s.bm * s.bn / (s.warps_m * s.warps_n * 32) * (f.long_sums ? 3 : 1);
  const int held = 16 * turned_squares(f, s);
  const int registers = sums + held + (s.core == Core::kWgmma ? 46 : 96);
  const int blocks = std::min({228 * 1024 / (block_bytes(f, s) + 1024), 2048 / s.threads(),
                               65536 / s.threads() / registers, 16});
  return std::max(1, blocks);
}

Decision fits(const Form& f, const Shape& s, bool tf32, bool pairs) {
  if (s.core == Core::kSimple) return Decision::allow();
  if (f.calls > 1 && (s.splits > 1 || s.walks)) {
    return Decision::forbid("a launch of several calls has one tile for each block");
  }
  if (s.core == Core::kPair) {
    return pairs ? fits_pair(f, s) : Decision::forbid("the device has no two-block clusters");
  }
  const Core core = core_of(f.dtype, tf32);
  const bool wgmma = s.core == Core::kWgmma && core == Core::kMma;
  if (s.core != core && !wgmma) return Decision::forbid("another core has its dtype");
  if (wgmma && !fits_wgmma(f, s)) return fits_wgmma(f, s);
  constexpr int kMostLong = 32;  // sums of a thread that has totals besides
  if (f.long_sums && (wgmma || s.bm * s.bn > kMostLong * s.threads())) {
    return Decision::forbid("there are no registers for the totals of long sums");
  }
  const int size = static_cast<int>(size_of(f.dtype));
  if (s.bk * size != row_bytes(f)) return Decision::forbid("its rows are not as long");
  if (s.slices > 1 && (s.splits > 1 || s.core != Core::kWgmma)) {
    return Decision::forbid("k is shared once");
  }
  if (s.slices > 1 && (s.slices - 1) * s.bm * s.bn * 4 > s.slices * s.stages * stage_bytes(f, s)) {
    return Decision::forbid("the slices' sums do not fit");
  }
  if (s.core == Core::kFma && size == 8 && s.bm > 64) return Decision::forbid("too many registers");
  if (s.core == Core::kFma && size < 4 && s.bm > 64) return Decision::forbid("it is read slowly");
  if (!divides(f.a, s.bm, s) || !divides(f.b, s.bn, s)) {
    return Decision::forbid("its threads do not divide the tile");
  }
  if (block_bytes(f, s) > kMostBlockBytes) return Decision::forbid("too much shared memory");
  if (s.walks) return fits_walk(f, s);
  return Decision::allow();
}

/// A block's tiles, one after the other: what becomes of one beside the next one's products.
double pair_cost(const Form& f, const Shape& s, const DimBindings& largest) {
  const double pairs = f.calls * std::ceil(number(f.rows, largest) / (2 * s.bm)) *
                       std::ceil(number(f.columns, largest) / s.bn);
  const double tiles = std::ceil(pairs / (f.device->processors / 2));
  const double steps = std::ceil(number(f.k, largest) / s.bk);
  const double products = steps * s.bm * s.bn * s.bk / f.device->tiles.products_per_us.at("wg");
  const double store = s.bm * s.bn * (f.device->tiles.pair_store_us + 2 * f.element_us);
  const double next = std::max(products, (products + store) / 2);
  const TileTimes& t = f.device->tiles;
  return t.begin_us + t.wave_us + products + (tiles - 1) * next + store;
}

/// Without tiles: as many products as the multiprocessors that have a block do at once, or one
/// thread's, one behind the other.
double simple_cost(const Form& f, const Shape& s, const DimBindings& largest) {
  const double elements =
      f.calls * number(f.batch, largest) * number(f.rows, largest) * number(f.columns, largest);
  const double depth = number(f.k, largest);
  const double blocks = std::ceil(elements * s.lanes / s.threads());
  const TileTimes& t = f.device->tiles;
  const double busy = std::min<double>(blocks, f.device->processors);
  const double work = elements * (depth / t.simple_per_us + f.element_us) / busy;
  return t.begin_us + std::max(work, std::ceil(depth / s.lanes) * t.simple_step_us);
}

/// Blocks run in waves; in a wave each block's steps take as long as a tile needs to come, or as
/// all groups of the multiprocessor need for theirs.
double cost(const Form& f, const Shape& s, const DimBindings& largest) {
  if (s.core == Core::kPair) return pair_cost(f, s, largest);
  if (s.core == Core::kSimple) return simple_cost(f, s, largest);
  const TileTimes& t = f.device->tiles;
  const int processors = f.device->processors;
  const double tiles = tile_count(f, s, largest) * s.splits;
  const double held = std::min<double>(held_blocks(f, s), std::ceil(tiles / processors));
  const double waves = std::ceil(tiles / (processors * held));
  const double steps = std::ceil(std::ceil(number(f.k, largest) / s.bk) / (s.splits * s.slices));
  const int lag = s.core == Core::kWgmma && s.slices == 1 ? 1 : 0;
  const double ahead = s.stages - 1 - lag, at_once = held * s.slices;
  const bool image = f.a.guarded || f.b.guarded;
  const double chain = t.chain_us + (image ? t.guards_us : 0) + t.ahead_us / ahead;
  const double bring =
      std::hypot(chain, at_once * stage_bytes(f, s) / (image ? t.image_per_us : t.bytes_per_us));
  const double turned = is_half(f.dtype) ? 1 + t.turned_part * (!f.a.along_k + !f.b.along_k) : 1;
  const double work = at_once * turned * product_us(f, s) + std::max(2.0, at_once) * pick_us(f, s);
  const double step = std::max({t.latency_us / ahead, work, bring});
  const double shown = held > 1 && waves > 1 ? t.shown_part : 1;
  const double store = s.bm * s.bn *
                       (held * (t.store_us + (s.splits > 1 ? 0 : shown * f.element_us)) +
                        (s.slices - 1) * t.gather_us);
  double total =
      t.begin_us + waves * (steps * step + store) + (waves - 1) * (s.walks ? t.next_us : t.wave_us);
  if (s.core == Core::kMma) total *= 1.05;
  if (s.splits > 1) {  // partial sums are written and read
    const double elements =
        number(f.batch, largest) * number(f.rows, largest) * number(f.columns, largest);
    total += elements * ((s.splits + 1) * t.split_us + f.element_us / processors) +
             f.device->finish_seconds * 1e6;
    total += t.many_us * std::max(0, s.splits - kManySplits);
  }
  return total;
}

/// Stages worth trying: for one block on a multiprocessor, and for two; no more than `steps` use.
std::vector<int> stage_counts(const Form& f, const Shape& s, std::int64_t steps) {
  if (s.core == Core::kFma) return {2};
  if (s.core == Core::kPair) return {f.packed ? 5 : 4};
  if (row_bytes(f) < 128) return {s.bm + s.bn <= 128 ? 4 : 2};
  const int least = turned_squares(f, s) > 0 ? 4 : s.core == Core::kWgmma && s.slices == 1 ? 3 : 2;
  const int used = static_cast<int>(std::clamp<std::int64_t>(steps, 1, 8));
  std::vector<int> counts;
  for (const int blocks : {2, 1}) {
    const int room = (kMostBlockBytes / blocks - 3072) / (stage_bytes(f, s) * s.slices);
    const int count = std::min({room, 8, used + least - 1});
    if (count >= least && (counts.empty() || count > counts.back())) counts.push_back(count);
  }
  return counts;
}

/// Every tile with its slices, splits and all stage counts at once.
template <class F>
void each_shape(const Form& f, std::int64_t steps, int bk, F see) {
  for (const TileKind& t : kTiles) {
    for (int slices = 1; slices <= 4; slices *= 2) {
      if (slices > 1 && (t.core != Core::kWgmma || t.warps_m > 4 || steps < 2 * slices)) continue;
      for (const int splits : kSplits) {
        if (splits > 1 && splits * 2 > steps) break;
        Shape s{t.core, t.bm, t.bn, bk, t.warps_m, t.warps_n, 2, splits, slices, 1};
        const std::vector<int> stages = stage_counts(f, s, (steps - 1) / (splits * slices) + 1);
        see(s, stages);
        s.walks = true;
        if (t.core == Core::kWgmma && splits * slices == 1) see(s, stages);
      }
    }
  }
}

std::vector<Shape> shapes_for(const Form& f, const DimBindings& largest, bool tf32, bool pairs) {
  std::vector<std::pair<double, Shape>> found;
  const int bk = row_bytes(f) / static_cast<int>(size_of(f.dtype));
  const auto steps = (evaluate(extent_of(f.k), largest) + bk - 1) / bk;
  each_shape(f, steps, bk, [&](Shape s, const std::vector<int>& stages) {
    const bool many = s.splits > kManySplits;
    if (many && s.splits * tile_count(f, s, largest) > kMostSplits) return;
    std::pair<double, Shape> best{0, {}};  // of those that differ by their stages alone
    for (const int count : stages) {
      s.stages = count;
      if (!fits(f, s, tf32, pairs)) continue;
      const double guess = cost(f, s, largest);
      if (best.second.core == Core::kSimple || guess < best.first) best = {guess, s};
    }
    if (best.second.core != Core::kSimple) found.push_back(best);
  });
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Shape> shapes;
  const std::int64_t operations = evaluate(
      extent_of(f.batch) * extent_of(f.rows) * extent_of(f.columns) * extent_of(f.k), largest);
  if (operations < kFewOperations) shapes.push_back(simple_shape(f, largest));
  for (const auto& [_, s] : found) shapes.push_back(s);
  if (operations >= kFewOperations) shapes.push_back(simple_shape(f, largest));
  return shapes;
}

Shape shape_for(const Form& f, const std::string& variant, bool tf32, bool pairs) {
  if (variant == "simple") return simple_shape(f, ends_of(f));
  if (variant.empty()) return shapes_for(f, ends_of(f), tf32, pairs).front();
  const std::optional<Shape> shape = shape_from_text(variant);
  check(shape.has_value(), "no variant of a product: ", variant);
  const Decision fit = fits(f, *shape, tf32, pairs);
  check(fit.yes, "variant ", variant, " does not fit: ", fit.why);
  return *shape;
}

}  // namespace plait::codegen::cuda
