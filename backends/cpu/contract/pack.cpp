// Moving the operands of a block into the order the kernels read.
#include <algorithm>
#include <cstring>

#include "backends/cpu/contract/blocking.h"

namespace plait::cpu {
namespace {

constexpr std::int64_t kPoints = 128, kFast = 512;  // of one call of a gather: on the stack
constexpr std::int64_t kPanels = 8;
constexpr std::int64_t kChunk = 64;   // of k, when a panel is transposed
constexpr std::int64_t kWidest = 64;  // panel

/// A part of one operand: indices [index0, ..) by [k0, ..), moved by origin.
struct Part {
  const Side& side;
  const void* source;
  Point origin;
  std::int64_t index0, indices, k0, ks;
};

/// How a gather converts the problem's elements; those that are split come out as f32.
Convert convert_of(const Blocking& b) {
  if (b.dtype == DType::f32) return Convert::kF32;
  if (b.dtype == DType::f16) return Convert::kF16ToF32;
  return b.kernels->pairs ? Convert::kBf16 : Convert::kBf16ToF32;
}

/// Where gathered elements go: rows of `ld`, or panels of so many with panel > 0.
struct Dest {
  void* at;
  std::int64_t ld, panel = 0, panel_step = 0;
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
  const Convert convert = convert_of(b);
  const std::int64_t element = convert == Convert::kBf16 ? 2 : 4;
  std::byte* bytes = static_cast<std::byte*>(dest.at);
  for (std::int64_t f = 0; f < fasts; f += width) {
    args.segment_count =
        segments(fast, fast0 + f, std::min(width, fasts - f), panel, dest.panel_step, runs);
    const std::int64_t start = panel > 0 ? f / panel * dest.panel_step : f;
    for (std::int64_t s = 0; s < slows; s += kPoints) {
      args.point_count = std::min(kPoints, slows - s);
      points(slow, slow0 + s, args.point_count, part.origin, at);
      args.dest = bytes + (s * dest.ld + start) * element;
      b.kernels->gather[static_cast<int>(convert)](args);
    }
  }
}

/// Numbers in f32, `ld` from one row to the next.
struct Numbers {
  const float* at;
  std::int64_t ld;
};

/// The part where it lies, when that is what a gather would copy it to: one row of the slow side
/// after the other, without a guard and in f32. Else null.
Numbers as_it_lies(const Blocking& b, const Part& part) {
  const Side& side = part.side;
  if (!lies_in_runs(side, b.dtype)) return {nullptr, 0};
  const std::int64_t step = (side.along_k ? side.index : side.k).inner().step;
  const std::int64_t at =
      side.along_k ? part.index0 * step + part.k0 : part.k0 * step + part.index0;
  return {static_cast<const float*>(part.source) + part.origin.offset + at, step};
}

/// The same, copied to `spare` where it must be.
Numbers in_f32(const Blocking& b, const Part& part, float* spare, std::int64_t spare_ld) {
  if (const Numbers there = as_it_lies(b, part); there.at != nullptr) return there;
  gather_part(b, part, {spare, spare_ld});
  return {spare, spare_ld};
}

/// `count` of k behind the first `k` of the part, or as many as it has.
Part some_of_k(const Part& part, std::int64_t k, std::int64_t count) {
  Part chunk = part;
  chunk.k0 = part.k0 + k;
  chunk.ks = std::min(count, part.ks - k);
  return chunk;
}

/// One panel of 32-bit elements read along k: rows of a chunk of k, transposed.
void turn_panel(const Blocking& b, const Part& part, std::byte* dest) {
  float rows[kWidest * kChunk];
  const std::int64_t nr = b.shape->nr;
  for (std::int64_t k = 0; k < part.ks; k += kChunk) {
    const Part chunk = some_of_k(part, k, kChunk);
    const Numbers from = in_f32(b, chunk, rows, kChunk);
    b.kernels->transpose32(from.at, from.ld, chunk.indices, chunk.ks, dest + k * nr * 4, nr, nr);
  }
}

/// One panel of bf16, in pairs.
void pair_panel(const Blocking& b, const Part& part, std::byte* dest) {
  alignas(64) std::uint16_t rows[kWidest * kChunk];
  const std::int64_t nr = b.shape->nr;
  for (std::int64_t k = 0; k < part.ks; k += kChunk, dest += kChunk * nr * 2) {
    const Part chunk = some_of_k(part, k, kChunk);
    const std::int64_t depth = round_up(chunk.ks, kPairDepth);
    if (chunk.ks < depth || part.indices < nr) std::memset(rows, 0, sizeof rows);
    if (part.side.along_k) {  // transposed as they are, two elements in a word
      gather_part(b, chunk, {rows, kChunk});
      b.kernels->transpose32(rows, kChunk / 2, part.indices, depth / 2, dest, nr, nr);
    } else {
      gather_part(b, chunk, {rows, nr});
      b.kernels->weave16(rows, depth, nr, dest);
    }
  }
}

/// One panel in parts. False: something is not finite.
bool split_panel(const Blocking& b, const Part& part, std::byte* dest) {
  alignas(64) float rows[kWidest * kChunk], transposed[kWidest * kChunk];
  const std::int64_t nr = b.shape->nr, parts_apart = b.right_part_step();
  const bool narrow = part.indices < nr;
  const auto split = [&](Numbers from, std::int64_t ks, std::byte* to) {
    return b.kernels->split_panel(
        {from.at, from.ld, ks, nr, reinterpret_cast<std::uint16_t*>(to), 0, parts_apart, b.parts});
  };
  if (!part.side.along_k && !narrow) {
    if (const Numbers there = as_it_lies(b, part); there.at != nullptr) {
      return split(there, part.ks, dest);
    }
  }
  bool finite = true;
  for (std::int64_t k = 0; k < part.ks; k += kChunk, dest += kChunk * nr * 2) {
    const Part chunk = some_of_k(part, k, kChunk);
    if (part.side.along_k) {
      const Numbers from = in_f32(b, chunk, rows, kChunk);
      b.kernels->transpose32(from.at, from.ld, chunk.indices, chunk.ks, transposed, nr, nr);
    } else {
      if (narrow) std::memset(transposed, 0, sizeof transposed);
      gather_part(b, chunk, {transposed, nr});
    }
    finite &= split({transposed, nr}, chunk.ks, dest);
  }
  return finite;
}

/// Rows of the left operand read along the rows: a chunk of k at a time, transposed.
void turn_rows(const Blocking& b, const Part& part, std::byte* scratch) {
  std::byte* const spare = scratch + b.spare_at;
  for (std::int64_t k = 0; k < part.ks; k += b.spare_depth) {
    const Part chunk = some_of_k(part, k, b.spare_depth);
    gather_part(b, chunk, {spare, b.spare_ld});
    std::byte* const to = scratch + k * b.element_bytes;
    if (b.kernels->pairs) {
      b.kernels->transpose16(spare, b.spare_ld, part.indices, chunk.ks, to, b.left_ld);
    } else {
      b.kernels->transpose32(spare, b.spare_ld, chunk.ks, part.indices, to, b.left_ld, chunk.ks);
    }
  }
}

/// Rows of the left operand in parts, some rows at a time. False: something is not finite.
bool split_left(const Blocking& b, const Part& part, std::byte* scratch) {
  float* const spare = reinterpret_cast<float*>(scratch + b.spare_at);
  const auto split = [&](Numbers from, std::int64_t rows, std::int64_t ks, std::int64_t row,
                         std::int64_t k) {
    auto* const to = reinterpret_cast<std::uint16_t*>(scratch) + row * b.left_ld + k;
    return b.kernels->split_rows(
        {from.at, from.ld, rows, ks, to, b.left_ld, b.left_part_step(), b.parts});
  };
  bool finite = true;
  if (part.side.along_k) {
    if (const Numbers there = as_it_lies(b, part); there.at != nullptr) {
      return split(there, part.indices, part.ks, 0, 0);
    }
    for (std::int64_t row = 0; row < part.indices; row += Blocking::kSplitRows) {
      Part some = part;
      some.index0 = part.index0 + row;
      some.indices = std::min(Blocking::kSplitRows, part.indices - row);
      gather_part(b, some, {spare, b.spare_ld});
      finite &= split({spare, b.spare_ld}, some.indices, part.ks, row, 0);
    }
    return finite;
  }
  alignas(64) float transposed[Blocking::kSplitRows * kPairDepth];
  for (std::int64_t k = 0; k < part.ks; k += kPairDepth) {
    const Part chunk = some_of_k(part, k, kPairDepth);
    const Numbers from = in_f32(b, chunk, spare, b.spare_ld);
    for (std::int64_t row = 0; row < part.indices; row += Blocking::kSplitRows) {
      const std::int64_t rows = std::min(Blocking::kSplitRows, part.indices - row);
      b.kernels->transpose32(from.at + row, from.ld, chunk.ks, rows, transposed, kPairDepth,
                             chunk.ks);
      finite &= split({transposed, kPairDepth}, rows, chunk.ks, row, k);
    }
  }
  return finite;
}

}  // namespace

bool gather_left(const Blocking& b, const void* source, std::int64_t batch, std::int64_t row0,
                 std::int64_t rows, std::int64_t k_block, std::byte* scratch) {
  Point origin;
  points(b.left.batch, batch, 1, b.left.origin, &origin);
  const Part part{b.left, source, origin, row0, rows, k_block * b.kc, b.k_size(k_block)};
  if (b.parts > 1) return split_left(b, part, scratch);
  if (b.left.along_k) {
    gather_part(b, part, {scratch, b.left_ld});
  } else {
    turn_rows(b, part, scratch);
  }
  const std::int64_t beyond = b.k_padded(k_block) - part.ks;
  for (std::int64_t r = 0; beyond > 0 && r < rows; ++r) {
    std::memset(scratch + (r * b.left_ld + part.ks) * 2, 0, static_cast<std::size_t>(beyond) * 2);
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
    gather_part(b, {b.right, source, origin, col0, cols, k0, ks}, {dest, nr, nr, panel_step});
    return true;
  }
  bool finite = true;
  for (std::int64_t col = 0; col < cols; col += nr, dest += panel_step * b.element_bytes) {
    const Part part{b.right, source, origin, col0 + col, std::min(nr, cols - col), k0, ks};
    if (b.parts > 1) {
      finite &= split_panel(b, part, dest);
    } else if (b.kernels->pairs) {
      pair_panel(b, part, dest);
    } else {
      turn_panel(b, part, dest);
    }
  }
  return finite;
}

}  // namespace plait::cpu
