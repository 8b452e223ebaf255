// Shapes of tiles, and a guess which of them a contraction takes.
#include "codegen/cuda/product_shape.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "base/error.h"

namespace plait::codegen::cuda {
namespace {

constexpr int kMultiprocessors = 132;
constexpr std::int64_t kFewOperations = 1 << 21;
constexpr int kMostBlockBytes = 227 * 1024;

struct TileKind {
  Core core;
  int bm, bn, warps_m, warps_n;
  double speed;  // share of the core's best, with all multiprocessors busy
};
constexpr TileKind kTiles[] = {
    {Core::kWgmma, 128, 256, 8, 1, 1.6}, {Core::kWgmma, 128, 128, 8, 1, 1.5},
    {Core::kWgmma, 64, 256, 4, 1, 1.3},  {Core::kWgmma, 64, 128, 4, 1, 1.2},
    {Core::kWgmma, 128, 64, 8, 1, 1.1},  {Core::kWgmma, 64, 64, 4, 1, 0.9},
    {Core::kWgmma, 64, 32, 4, 1, 0.6},   {Core::kMma, 256, 128, 4, 2, 1.0},
    {Core::kMma, 128, 256, 2, 4, 1.0},   {Core::kMma, 128, 128, 2, 4, 0.95},
    {Core::kMma, 128, 64, 4, 1, 0.8},    {Core::kMma, 64, 128, 1, 4, 0.8},
    {Core::kMma, 64, 64, 2, 2, 0.65},    {Core::kMma, 128, 32, 4, 1, 0.5},
    {Core::kMma, 64, 32, 2, 2, 0.4},     {Core::kMma, 32, 64, 2, 2, 0.4},
    {Core::kMma, 32, 32, 2, 2, 0.25},    {Core::kFma, 128, 128, 4, 2, 1.0},
    {Core::kFma, 64, 64, 4, 2, 0.7},
};

Core core_of(DType t, bool tf32) {
  return is_half(t) || (t == DType::f32 && tf32) ? Core::kMma : Core::kFma;
}

/// Bytes of k in a tile's row; less where elements are gathered through registers.
int row_bytes(const Form& f) {
  const int size = static_cast<int>(size_of(f.dtype));
  return std::min(f.a.vector, f.b.vector) * size < 4 ? 64 : 128;
}

/// The tensor cores read shared memory themselves: long lines, words along k.
Decision fits_wgmma(const Form& f, const Shape& s) {
  if (row_bytes(f) != 128) return Decision::forbid("its rows are not as long");
  if (f.dtype == DType::f32 && !(f.a.along_k && f.b.along_k)) {
    return Decision::forbid("its words do not lie along k");
  }
  if (!f.b.along_k && s.bn % 64 != 0) return Decision::forbid("its panels are not as wide");
  return Decision::allow();
}

int table_bytes(const FormOperand& x, int rows, int bk, int threads) {
  const bool table = x.along_k && rows * bk / x.vector / threads > 8;
  return table ? rows * (x.guarded ? 16 : 8) : 0;
}

bool divides(const FormOperand& x, int rows, int bk, int threads) {
  const int side = (x.along_k ? bk : rows) / x.vector;
  return side > 0 && threads % side == 0 && rows * bk % (x.vector * threads) == 0;
}

/// How long a tile takes beyond its share of the machine, and how evenly the tiles fill it.
double cost(const Form& f, const Shape& s, double speed, const DimBindings& largest) {
  const auto number = [&](const std::vector<Axis>& axes) {
    return static_cast<double>(std::max<std::int64_t>(1, evaluate(extent_of(axes), largest)));
  };
  const double tiles = number(f.batch) * std::ceil(number(f.rows) / s.bm) *
                       std::ceil(number(f.columns) / s.bn) * s.splits;
  const double waves = std::ceil(tiles / kMultiprocessors);
  const double steps = std::ceil(std::ceil(number(f.k) / s.bk) / s.splits);
  const double per_step = s.bm * s.bn / speed;
  double total = waves * (steps + 4) * per_step;
  if (s.splits > 1) {  // partial sums are written and read
    total += number(f.batch) * number(f.rows) * number(f.columns) * (s.splits + 1) * 0.03 + 120000;
  }
  return total;
}

Shape simple_shape(const Form& f, const DimBindings& largest) {
  Shape s;
  const std::int64_t elements =
      evaluate(extent_of(f.batch) * extent_of(f.rows) * extent_of(f.columns), largest);
  const std::int64_t depth = evaluate(extent_of(f.k), largest);
  while (s.lanes < 32 && s.lanes * 8 <= depth && elements * s.lanes < 2 * 256 * kMultiprocessors) {
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
  const char* core = s.core == Core::kMma ? "mma" : s.core == Core::kFma ? "fma" : "wg";
  return str(s.bm, "x", s.bn, "x", s.bk, ".", core, ".s", s.stages,
             s.splits > 1 ? str(".k", s.splits) : "");
}

std::optional<Shape> shape_from_text(const std::string& text) {
  Shape s;
  if (std::sscanf(text.c_str(), "simple.l%d", &s.lanes) == 1) return s;
  char core[4] = {};
  const int read = std::sscanf(text.c_str(), "%dx%dx%d.%3[a-z].s%d.k%d", &s.bm, &s.bn, &s.bk, core,
                               &s.stages, &s.splits);
  if (read < 5) return std::nullopt;
  const std::string name = core;
  s.core = name == "mma" ? Core::kMma : name == "fma" ? Core::kFma : Core::kWgmma;
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
  const int size = static_cast<int>(size_of(f.dtype));
  const int lines = s.stages * (s.bm + s.bn) * s.bk * size;
  const int tables =
      table_bytes(f.a, s.bm, s.bk, s.threads()) + table_bytes(f.b, s.bn, s.bk, s.threads());
  const int strips = s.core == Core::kFma ? 0 : s.warps_m * 16 * (s.bn + 8 * s.warps_n) * 4;
  return std::max(lines + tables, strips) + (s.core == Core::kWgmma ? 1024 : 0);
}

Decision fits(const Form& f, const Shape& s, bool tf32) {
  if (s.core == Core::kSimple) return Decision::allow();
  const Core core = core_of(f.dtype, tf32);
  const bool wgmma = s.core == Core::kWgmma && core == Core::kMma;
  if (s.core != core && !wgmma) return Decision::forbid("another core has its dtype");
  if (wgmma && !fits_wgmma(f, s)) return fits_wgmma(f, s);
  const int size = static_cast<int>(size_of(f.dtype));
  if (s.bk * size != row_bytes(f)) return Decision::forbid("its rows are not as long");
  if (s.core == Core::kFma && size == 8 && s.bm > 64) return Decision::forbid("too many registers");
  if (s.core == Core::kFma && size < 4 && s.bm > 64) return Decision::forbid("it is read slowly");
  if (!divides(f.a, s.bm, s.bk, s.threads()) || !divides(f.b, s.bn, s.bk, s.threads())) {
    return Decision::forbid("its threads do not divide the tile");
  }
  if (block_bytes(f, s) > kMostBlockBytes) return Decision::forbid("too much shared memory");
  return Decision::allow();
}

std::vector<Shape> shapes_for(const Form& f, const DimBindings& largest, bool tf32) {
  std::vector<std::pair<double, Shape>> found;
  const int bk = row_bytes(f) / static_cast<int>(size_of(f.dtype));
  const auto steps = (evaluate(extent_of(f.k), largest) + bk - 1) / bk;
  for (const TileKind& t : kTiles) {
    for (int splits = 1; splits <= 64 && (splits == 1 || splits * 2 <= steps); splits *= 2) {
      Shape s{t.core, t.bm, t.bn, bk, t.warps_m, t.warps_n, 3, splits, 1};
      if (s.core == Core::kFma || row_bytes(f) < 128) s.stages = 2;
      if (s.core == Core::kMma && s.bm + s.bn <= 128) s.stages = 4;
      if (s.core == Core::kWgmma) s.stages = s.bm * s.bn == 128 * 128 ? 3 : 4;
      if (!fits(f, s, tf32)) continue;
      found.emplace_back(cost(f, s, t.speed, largest), s);
    }
  }
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

Shape shape_for(const Form& f, const std::string& variant, bool tf32) {
  if (variant == "simple") return simple_shape(f, ends_of(f));
  if (variant.empty()) return shapes_for(f, ends_of(f), tf32).front();
  const std::optional<Shape> shape = shape_from_text(variant);
  check(shape.has_value(), "no variant of a product: ", variant);
  const Decision fit = fits(f, *shape, tf32);
  check(fit.yes, "variant ", variant, " does not fit: ", fit.why);
  return *shape;
}

}  // namespace plait::codegen::cuda
