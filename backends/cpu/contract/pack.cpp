// Moving the operands of a block into the order the kernels read.
#include <algorithm>
#include <cstring>

#include "backends/cpu/contract/blocking.h"

namespace plait::cpu {
namespace {

constexpr std::int64_t kPoints = 128, kFast = 512;  // of one call of a gather: on the stack
constexpr std::int64_t kPanels = 8;
constexpr std::int64_t kChunk = 64;   // of k, when a panel is turned
constexpr std::int64_t kWidest = 64;  // panel

/// A part of one operand: indices [index0, ..) by [k0, ..), moved by origin.
struct Part {
  const Side& side;
  const void* source;
  Point origin;
  std::int64_t index0, indices, k0, ks;
};

/// How a gather converts the problem's elements.
Convert convert_of(const Blocking& b) {
  const bool pairs = b.kernels->pairs;
  if (b.dtype == DType::f32) return pairs ? Convert::kF32Parts : Convert::kF32;
  if (b.dtype == DType::bf16) return pairs ? Convert::kBf16 : Convert::kBf16ToF32;
  return pairs ? Convert::kF16Parts : Convert::kF16ToF32;
}

/// Where gathered elements go: rows of `ld`, each part `part_step` behind the one before; or panels
/// of so many, with panel > 0.
struct Dest {
  void* at;
  std::int64_t ld, part_step;
  std::int64_t panel = 0, panel_step = 0;
};

/// dest[slow * ld + fast], or panels of the fast side; slow is k unless the operand is read along
/// k.
void gather_part(const Blocking& b, const Part& part, const Dest& dest) {
  const std::int64_t panel = dest.panel;
  const Side& side = part.side;
  const Walk& slow = side.along_k ? side.index : side.k;
  const Walk& fast = side.along_k ? side.k : side.index;
  const std::int64_t slow0 = side.along_k ? part.index0 : part.k0;
  const std::int64_t slows = side.along_k ? part.indices : part.ks;
  const std::int64_t fast0 = side.along_k ? part.k0 : part.index0;
  const std::int64_t fasts = side.along_k ? part.ks : part.indices;
  // Few panels at a time: they lie a power of two apart and would push each other out.
  const std::int64_t width = panel > 0 ? kPanels * panel : kFast;
  Point at[kPoints];
  Segment runs[kFast];
  GatherArgs args{};
  args.points = at;
  args.segments = runs;
  args.step = fast.inner().step;
  args.every = fast.inner().every;
  args.h = fast.inner().h;
  args.w = fast.inner().w;
  args.guarded = side.guarded;
  args.height = side.height;
  args.width = side.width;
  args.source = part.source;
  args.ld = dest.ld;
  args.part_step = dest.part_step;
  const auto convert = static_cast<int>(convert_of(b));
  std::byte* bytes = static_cast<std::byte*>(dest.at);
  for (std::int64_t f = 0; f < fasts; f += width) {
    args.segment_count =
        segments(fast, fast0 + f, std::min(width, fasts - f), panel, dest.panel_step, runs);
    const std::int64_t start = panel > 0 ? f / panel * dest.panel_step : f;
    for (std::int64_t s = 0; s < slows; s += kPoints) {
      args.point_count = std::min(kPoints, slows - s);
      points(slow, slow0 + s, args.point_count, part.origin, at);
      args.dest = bytes + (s * dest.ld + start) * b.element_bytes;
      b.kernels->gather[convert](args);
    }
  }
}

/// One panel read along k: rows of a chunk of k, turned.
void turn_panel(const Blocking& b, const Part& part, std::byte* dest) {
  constexpr std::int64_t kPlane = kWidest * kChunk;
  alignas(64) std::byte rows[kPlane * kMostParts * 2];  // or one plane of 32 bits
  static_assert(sizeof rows >= kPlane * 4);
  const std::int64_t nr = b.shape->nr, lanes = b.kernels->pairs ? 2 : 1;
  const bool plain = convert_of(b) == Convert::kF32 && !part.side.guarded &&
                     part.side.index.single() && part.side.k.single() &&
                     part.side.k.inner().step == 1;
  if (plain) {
    const std::int64_t ld = part.side.index.inner().step;
    const float* source =
        static_cast<const float*>(part.source) + part.origin.offset + part.index0 * ld + part.k0;
    b.kernels->transpose32(source, ld, part.indices, part.ks, dest, nr, nr);
    return;
  }
  for (std::int64_t k = 0; k < part.ks; k += kChunk) {
    Part chunk = part;
    chunk.k0 = part.k0 + k;
    chunk.ks = std::min(kChunk, part.ks - k);
    std::int64_t depth = chunk.ks;
    if (b.kernels->pairs) {
      depth = round_up(depth, kPairDepth);
      std::memset(rows, 0, static_cast<std::size_t>(kPlane * b.parts * 2));
    }
    gather_part(b, chunk, {rows, kChunk, kPlane});
    for (int i = 0; i < b.parts; ++i) {
      const std::int64_t at = i * b.right_part_step() + k * nr;
      b.kernels->transpose32(rows + i * kPlane * b.element_bytes, kChunk / lanes, part.indices,
                             depth / lanes, dest + at * b.element_bytes, nr, nr);
    }
  }
}

/// One panel of 16-bit elements read along the columns: rows of k, woven in pairs.
void weave_panel(const Blocking& b, const Part& part, std::byte* dest) {
  constexpr std::int64_t kPlane = kWidest * kChunk;
  std::uint16_t rows[kPlane * kMostParts];
  const std::int64_t nr = b.shape->nr;
  for (std::int64_t k = 0; k < part.ks; k += kChunk) {
    Part chunk = part;
    chunk.k0 = part.k0 + k;
    chunk.ks = std::min(kChunk, part.ks - k);
    const std::int64_t depth = round_up(chunk.ks, kPairDepth);
    if (chunk.ks < depth || part.indices < nr) {
      std::memset(rows, 0, static_cast<std::size_t>(kPlane * b.parts * 2));
    }
    gather_part(b, chunk, {rows, nr, kPlane});
    for (int i = 0; i < b.parts; ++i) {
      const std::int64_t at = i * b.right_part_step() + k * nr;
      b.kernels->weave16(rows + i * kPlane, depth, nr, dest + at * 2);
    }
  }
}

/// Rows of the left operand read along the rows: a chunk of k at a time, turned.
void turn_rows(const Blocking& b, const Part& part, std::byte* scratch) {
  std::byte* const spare = scratch + b.spare_at;
  const std::int64_t plane = b.spare_depth * b.spare_ld;
  for (std::int64_t k = 0; k < part.ks; k += b.spare_depth) {
    Part chunk = part;
    chunk.k0 = part.k0 + k;
    chunk.ks = std::min(b.spare_depth, part.ks - k);
    gather_part(b, chunk, {spare, b.spare_ld, plane});
    for (int i = 0; i < b.parts; ++i) {
      const std::byte* from = spare + i * plane * b.element_bytes;
      std::byte* to = scratch + i * b.left_part_bytes + k * b.element_bytes;
      if (b.kernels->pairs) {
        b.kernels->transpose16(from, b.spare_ld, part.indices, chunk.ks, to, b.left_ld);
      } else {
        b.kernels->transpose32(from, b.spare_ld, chunk.ks, part.indices, to, b.left_ld, chunk.ks);
      }
    }
  }
}

}  // namespace

bool gather_left(const Blocking& b, const void* source, std::int64_t batch, std::int64_t row0,
                 std::int64_t rows, std::int64_t k_block, std::byte* scratch) {
  Point origin;
  points(b.left.batch, batch, 1, b.left.origin, &origin);
  const Part part{b.left, source, origin, row0, rows, k_block * b.kc, b.k_size(k_block)};
  if (b.left.along_k) {
    gather_part(b, part, {scratch, b.left_ld, b.left_part_step()});
  } else {
    turn_rows(b, part, scratch);
  }
  const std::int64_t beyond = b.k_padded(k_block) - part.ks;
  for (std::int64_t i = 0; beyond > 0 && i < b.parts * rows; ++i) {
    std::byte* const row = scratch + i / rows * b.left_part_bytes + i % rows * b.left_ld * 2;
    std::memset(row + part.ks * 2, 0, static_cast<std::size_t>(beyond) * 2);
  }
  const auto* first = reinterpret_cast<const std::uint16_t*>(scratch);
  for (std::int64_t r = 0; b.parts > 1 && r < rows; ++r) {
    if (!b.kernels->all_finite(first + r * b.left_ld, part.ks)) return false;
  }
  return true;
}

bool pack_ahead(const Blocking& b, std::int64_t task, const void* source, void* packed) {
  const std::int64_t nr = b.shape->nr, panels = b.packed_cols / nr;
  const std::int64_t first = task * b.panels_per_task;
  const std::int64_t last = std::min(first + b.panels_per_task, panels * b.packed_matrices);
  bool finite = true;
  for (std::int64_t p = first; p < last;) {
    const std::int64_t matrix = p / panels, panel = p % panels;
    const std::int64_t count = std::min(last - p, panels - panel);
    const Point origin{b.right.origin.offset + b.packed_source.offset(matrix), 0, 0};
    std::byte* dest = static_cast<std::byte*>(packed) + matrix * b.parts * b.packed_part_bytes();
    for (std::int64_t block = 0; block < b.k_blocks; ++block) {
      const std::int64_t step = b.k_padded(block) * nr;
      const std::int64_t at = block * b.kc * b.packed_cols + panel * step;
      finite &= pack_right(b, source, origin, panel * nr, std::min(count * nr, b.cols - panel * nr),
                           block, dest + at * b.element_bytes, step);
    }
    p += count;
  }
  return finite;
}

const std::byte* packed_block(const Blocking& b, const void* packed, std::int64_t batch,
                              std::int64_t col0, std::int64_t k_block) {
  const std::int64_t matrix = b.packed_batch.offset(batch);
  const std::int64_t before = k_block * b.kc * b.packed_cols + col0 * b.k_padded(k_block);
  return static_cast<const std::byte*>(packed) + matrix * b.parts * b.packed_part_bytes() +
         before * b.element_bytes;
}

bool pack_right(const Blocking& b, const void* source, const Point& origin, std::int64_t col0,
                std::int64_t cols, std::int64_t k_block, std::byte* dest, std::int64_t panel_step) {
  const std::int64_t nr = b.shape->nr, k0 = k_block * b.kc, ks = b.k_size(k_block);
  if (!b.right.along_k && !b.kernels->pairs) {
    const std::int64_t last = (cols - 1) / nr;
    if (cols % nr != 0) {
      std::memset(dest + last * panel_step * 4, 0, static_cast<std::size_t>(nr * ks) * 4);
    }
    gather_part(b, {b.right, source, origin, col0, cols, k0, ks}, {dest, nr, 0, nr, panel_step});
    return true;
  }
  bool finite = true;
  for (std::int64_t col = 0; col < cols; col += nr, dest += panel_step * b.element_bytes) {
    const Part part{b.right, source, origin, col0 + col, std::min(nr, cols - col), k0, ks};
    if (b.right.along_k) {
      turn_panel(b, part, dest);
    } else {
      weave_panel(b, part, dest);
    }
    if (b.parts > 1) {
      finite &= b.kernels->all_finite(reinterpret_cast<const std::uint16_t*>(dest),
                                      b.k_padded(k_block) * nr);
    }
  }
  return finite;
}

}  // namespace plait::cpu
