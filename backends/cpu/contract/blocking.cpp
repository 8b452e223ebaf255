// The decisions about a contraction: walks, what is copied, tiles, tasks and the scratch.
#include "backends/cpu/contract/blocking.h"

#include <algorithm>
#include <cstdlib>

#include "loop/sum_blocks.h"

namespace plait::cpu {
namespace {

constexpr std::int64_t kLine = 64;  // bytes

Side side_of(const Problem& p, Operand operand) {
  const bool is_a = operand == Operand::kA;
  Side side;
  side.guarded = is_a && p.guarded;
  side.index = walk(is_a ? p.m : p.n, operand, side.guarded);
  side.k = walk(p.k, operand, side.guarded);
  side.batch = walk(p.batch, operand, side.guarded);
  side.origin.offset = is_a ? p.a0 : p.b0;
  if (side.guarded) {
    side.origin.h = static_cast<std::int32_t>(p.h0);
    side.origin.w = static_cast<std::int32_t>(p.w0);
    side.height = p.height;
    side.width = p.width;
  }
  const WalkAxis& k = side.k.inner();
  const WalkAxis& index = side.index.inner();
  const bool k_runs = k.step == 1 && k.extent > 1;
  const bool index_runs = index.step == 1 && index.extent > 1;
  side.along_k = k_runs && (!index_runs || k.extent > index.extent);
  if (!k_runs && !index_runs) side.along_k = k.extent > index.extent;
  return side;
}

/// Rows of the left operand may be read where they lie when one pair of steps leads through a block
/// and its rows do not crowd into the same sets of a cache.
bool lies_well(const Blocking& b) {
  const Side& side = b.left;
  if (side.guarded || !side.index.single() || !side.k.single()) return false;
  const std::int64_t row_step = side.index.inner().step, k_step = side.k.inner().step;
  if (b.kernels->pairs) {
    return b.dtype == DType::bf16 && k_step == 1 && b.depth % kPairDepth == 0 &&
           (b.rows <= 8 || row_step % 1024 != 0);
  }
  if (b.dtype != DType::f32) return false;
  if (k_step == 1 || b.depth == 1) {
    return b.rows <= b.variant.mr || b.cols <= 2 * b.variant.nr || row_step % 1024 != 0;
  }
  return (row_step == 1 || b.rows == 1) && k_step <= 128;
}

}  // namespace

const TileShape* find_shape(const Kernels& kernels, const Variant& variant) {
  for (int i = 0; i < kernels.shape_count; ++i) {
    const TileShape& shape = kernels.shapes[i];
    if (shape.mr == variant.mr && shape.nr == variant.nr) return &shape;
  }
  return nullptr;
}

bool lies_in_runs(const Side& side, DType dtype) {
  return dtype == DType::f32 && !side.guarded && side.index.single() && side.k.single() &&
         (side.along_k ? side.k : side.index).inner().step == 1;
}

std::int64_t spread(std::int64_t elements, std::int64_t element_bytes) {
  const std::int64_t line = kLine / element_bytes;
  const std::int64_t ld = round_up(elements, line);
  return ld * element_bytes % 1024 == 0 ? ld + line : ld;
}

std::int64_t least_work(Isa isa, DType dtype) {
  switch (isa) {
    case Isa::kPortable:
      return 500'000;
    case Isa::kAvx2:
      return 1'000'000;
    case Isa::kAvx512:
      return 1'500'000;
    case Isa::kAvx512Bf16:
      return 2'500'000;
    case Isa::kAmx:
      return dtype == DType::bf16 ? 8'000'000 : 2'000'000;
  }
  throw Bug("unknown instruction set");
}

Problem with_k_ordered(Problem p) {
  const auto unit = [](const Axis& axis) { return axis.extent > 1 && axis.a == 1; };
  const bool by_a = p.guarded || std::any_of(p.k.begin(), p.k.end(), unit);
  const auto step = [by_a](const Axis& axis) { return std::abs(by_a ? axis.a : axis.b); };
  std::stable_sort(p.k.begin(), p.k.end(), [&](const Axis& x, const Axis& y) {
    const std::int64_t a = step(x), b = step(y);
    if (a == 0 || b == 0) return a == 0 && b != 0;  // what does not move goes outermost
    return a > b;
  });
  return p;
}

bool has_long_sums(const Problem& p) {
  std::int64_t terms = 1;
  for (const Axis& axis : p.k) terms *= axis.extent;
  return terms > loop::kLongContraction;
}

void end_block(std::int64_t block, std::int64_t blocks, std::int64_t rows, std::int64_t cols,
               float* sums, std::int64_t ld, double* totals, std::int64_t totals_ld) {
  const bool first = block < kGroupBlocks, last = block + 1 == blocks;
  if (!last && (block + 1) % kGroupBlocks != 0) return;
  for (std::int64_t i = 0; i < rows; ++i) {
    float* const row = sums + i * ld;
    double* const total = totals + i * totals_ld;
    for (std::int64_t j = 0; j < cols; ++j) total[j] = first ? row[j] : total[j] + row[j];
    for (std::int64_t j = 0; last && j < cols; ++j) row[j] = static_cast<float>(total[j]);
  }
}

int parts_of(DType dtype) {
  return dtype == DType::bf16 ? 1 : dtype == DType::f16 ? 2 : kMostParts;
}

int tile_products(DType dtype) { return products_of_parts(parts_of(dtype)); }

std::int64_t Blocking::k_size(std::int64_t block) const { return std::min(kc, depth - block * kc); }

std::int64_t Blocking::k_padded(std::int64_t block) const {
  return kernels->pairs ? round_up(k_size(block), kPairDepth) : k_size(block);
}

std::int64_t Blocking::packed_part_bytes() const {
  return round_up(packed_cols * packed_depth * element_bytes, kLine);
}

std::int64_t Blocking::left_part_step() const { return left_part_bytes / element_bytes; }

std::int64_t Blocking::right_part_step() const {
  return (ahead ? packed_part_bytes() : right_part_bytes) / element_bytes;
}

/// One packed matrix per place of B, however many batch indices share it.
void Blocking::count_packed(const std::vector<Axis>& batch_axes) {
  std::vector<Axis> index, source;
  packed_matrices = 1;
  for (auto axis = batch_axes.rbegin(); axis != batch_axes.rend(); ++axis) {
    index.push_back({.extent = axis->extent, .b = axis->b == 0 ? 0 : packed_matrices});
    if (axis->b == 0) continue;
    source.push_back({.extent = axis->extent, .b = axis->b});
    packed_matrices *= axis->extent;
  }
  std::reverse(index.begin(), index.end());
  std::reverse(source.begin(), source.end());
  packed_batch = walk(index, Operand::kB, false);
  packed_source = walk(source, Operand::kB, false);
  packed_cols = round_up(cols, shape->nr);
  packed_depth = round_up(depth, kernels->pairs ? kPairDepth : 1);
}

void Blocking::cut(std::int64_t rows_most, std::int64_t cols_most) {
  variant.mc = rows_most;
  variant.nc = cols_most;
  mc = std::max<std::int64_t>(std::min(rows_most, rows), 1);
  nc = round_up(std::max<std::int64_t>(std::min(cols_most, cols), 1), shape->nr);
  row_tiles = ceil_div(rows, mc);
  col_tiles = ceil_div(cols, nc);
  tiles = batch * row_tiles * col_tiles;
  const std::int64_t tile_work = 2 * std::min(mc, rows) * std::min(nc, cols) * (depth + 8);
  tiles_per_task = std::max<std::int64_t>(
      {1, ceil_div(tiles, kMostTasks), ceil_div(least_work(variant.isa, dtype), tile_work + 1)});
  tasks = ceil_div(tiles, tiles_per_task);

  ahead = !variant.swapped && !variant.inside && (packed_matrices == 1 || row_tiles > 1) &&
          tiles > 0 && depth > 0;
  const std::int64_t panels = packed_cols / shape->nr * packed_matrices;
  const std::int64_t panel_bytes = shape->nr * packed_depth * element_bytes * parts;
  panels_per_task = std::max<std::int64_t>(
      {1, ceil_div(panels, kMostTasks), 131'072 / std::max<std::int64_t>(panel_bytes, 1)});
  pack_tasks = ahead ? ceil_div(panels, panels_per_task) : 0;
  lay_out_scratch();
}

void Blocking::lay_out_scratch() {
  const std::int64_t k_most = kernels->pairs ? round_up(kc, kPairDepth) : kc;
  const std::int64_t spare_bytes = parts > 1 ? 4 : element_bytes;
  left_ld = spread(k_most, element_bytes);
  left_part_bytes = in_place ? 0 : mc * left_ld * element_bytes;
  right_part_bytes = ahead ? 0 : nc * k_most * element_bytes;
  tile_ld = spread(nc, 4);
  turned_ld = spread(round_up(mc, 4), 4);
  const bool turns = variant.swapped || store_turned;
  const bool rows_split = left.along_k && parts > 1;
  spare_ld = spread(rows_split ? k_most : mc, spare_bytes);
  spare_depth = rows_split ? kSplitRows : std::min<std::int64_t>(kc, kPairDepth);
  const bool needs_spare = rows_split || (!left.along_k && !in_place);
  right_at = round_up(left_part_bytes * parts, kLine);
  tile_at = right_at + round_up(right_part_bytes * parts, kLine);
  turned_at = tile_at + mc * tile_ld * 4;
  spare_at = turned_at + (turns ? nc * turned_ld * 4 : 0);
  totals_at = round_up(spare_at + (needs_spare ? spare_depth * spare_ld * spare_bytes : 0), kLine);
  scratch_bytes = totals_at + (long_sums ? mc * nc * 8 : 0);
}

Blocking::Blocking(const Problem& given, const Variant& chosen, const Kernels& table)
    : variant(chosen), kernels(&table), shape(find_shape(table, chosen)), dtype(given.dtype) {
  check(shape != nullptr, "no kernel for ", to_text(variant));
  const Problem p = with_k_ordered(given);
  left = side_of(p, variant.swapped ? Operand::kB : Operand::kA);
  right = side_of(p, variant.swapped ? Operand::kA : Operand::kB);
  c_batch = walk(p.batch, Operand::kC, false);
  c_rows = walk(variant.swapped ? p.n : p.m, Operand::kC, false);
  c_cols = walk(variant.swapped ? p.m : p.n, Operand::kC, false);
  c0 = p.c0;
  batch = c_batch.extent;
  rows = c_rows.extent;
  cols = c_cols.extent;
  depth = left.k.extent;
  element_bytes = table.pairs ? 2 : 4;
  if (table.pairs) parts = parts_of(dtype);

  const std::int64_t k_unit = table.pairs ? kPairDepth : 1;
  kc = std::max<std::int64_t>(round_up(std::min(variant.kc, depth), k_unit), 1);
  k_blocks = ceil_div(depth, kc);
  long_sums = has_long_sums(p);
  in_place = lies_well(*this);
  row_step = left.index.inner().step;
  k_step = left.k.inner().step;
  direct = dtype == DType::f32 && !table.pairs && depth > 0 && c_rows.single() && c_cols.single() &&
           (c_cols.inner().step == 1 || cols == 1);
  store_turned = c_cols.inner().step != 1 && c_rows.inner().step == 1;
  count_packed(p.batch);
  cut(variant.mc, variant.nc);
  id = str("gemm.", name_of(variant.isa), ".", name_of(dtype), ".", variant.mr, "x", variant.nr,
           ".kc", kc, long_sums ? str(".g", kGroupBlocks) : "", variant.swapped ? ".swapped" : "");
}

}  // namespace plait::cpu
