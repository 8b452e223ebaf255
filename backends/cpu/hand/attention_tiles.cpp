// attention_tiles.h, and the sizes of attention's blocks.
#include "backends/cpu/hand/attention_tiles.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>

#include "backends/cpu/contract/blocking.h"
#include "backends/cpu/contract/sizes.h"
#include "backends/cpu/hand/attention_lanes.h"
#include "backends/cpu/hand/lanes.h"
#include "base/half.h"

namespace plait::cpu {
namespace {

constexpr std::int64_t kQueryBlock = 512, kBackwardQueryBlock = 256, kKeyBlock = 128;
constexpr std::int64_t kFewTasks = 16;  // below, blocks of queries are smaller;
constexpr std::int64_t kFewHeads = 8;   // below, the backward cuts keys into chunks
constexpr std::int64_t kMostChunks = 4, kLeastChunk = 256;

/// What elements are gathered as: f32 where they are split then.
Convert convert_of(const AttentionBlocking& b) {
  if (b.pairs && b.parts == 1) return Convert::kBf16;
  if (b.shape.dtype == DType::f32) return Convert::kF32;
  return b.shape.dtype == DType::bf16 ? Convert::kBf16ToF32 : Convert::kF16ToF32;
}
std::int64_t gathered_bytes(const AttentionBlocking& b) {
  return b.parts > 1 ? 4 : b.element_bytes;
}

/// Rows into panels of `panel` elements a row, each panel_step elements behind the one before.
void gather_rows(const AttentionBlocking& b, Rows from, std::int64_t count, std::int64_t depth,
                 std::int64_t panel, std::int64_t panel_step, void* to) {
  constexpr std::int64_t kPoints = 64, kSegments = 16;
  Point points[kPoints];
  Segment segments[kSegments];
  if (depth == 0) return;
  const std::int64_t panels = ceil_div(depth, panel);
  for (std::int64_t p0 = 0; p0 < panels; p0 += kSegments) {
    const std::int64_t many = std::min(kSegments, panels - p0);
    for (std::int64_t p = 0; p < many; ++p) {
      const std::int64_t first = (p0 + p) * panel;
      segments[p] = {.offset = first,
                     .dest = (p0 + p) * panel_step,
                     .count = static_cast<std::int32_t>(std::min(panel, depth - first)),
                     .phase = 0,
                     .h = 0,
                     .w = 0,
                     .last_h = 0,
                     .last_w = 0};
    }
    for (std::int64_t r0 = 0; r0 < count; r0 += kPoints) {
      const std::int64_t rows = std::min(kPoints, count - r0);
      for (std::int64_t r = 0; r < rows; ++r) points[r] = {(r0 + r) * from.ld, 0, 0};
      GatherArgs args{};
      args.points = points;
      args.point_count = rows;
      args.segments = segments;
      args.segment_count = many;
      args.step = args.every = 1;
      args.source = from.at;
      args.dest = static_cast<std::byte*>(to) + r0 * panel * gathered_bytes(b);
      args.ld = panel;
      b.kernels->gather[static_cast<int>(convert_of(b))](args);
    }
  }
}

Rows row_of(const AttentionBlocking& b, Rows rows, std::int64_t row) {
  const auto bytes = static_cast<std::int64_t>(size_of(b.shape.dtype));
  return {static_cast<const std::byte*>(rows.at) + row * rows.ld * bytes, rows.ld};
}
Packed element_of(const AttentionBlocking& b, Packed to, std::int64_t element) {
  return {static_cast<std::byte*>(to.at) + element * b.element_bytes, to.part};
}

/// Where they lie, or widened to `spare` [count, depth].
Rows rows_in_f32(const AttentionBlocking& b, Rows from, std::int64_t count, std::int64_t depth,
                 float* spare) {
  if (b.shape.dtype == DType::f32) return from;
  gather_rows(b, from, count, depth, depth, 0, spare);
  return {spare, depth};
}

bool split_rows(const AttentionBlocking& b, Rows from, std::int64_t rows, std::int64_t cols,
                Packed to, std::int64_t ld) {
  return b.kernels->split_rows({static_cast<const float*>(from.at), from.ld, rows, cols,
                                static_cast<std::uint16_t*>(to.at), ld, to.part, b.parts});
}
/// Of rows [rows, width].
bool split_panel(const AttentionBlocking& b, const float* from, std::int64_t rows, Packed to) {
  return b.kernels->split_panel(
      {from, b.width, rows, b.width, static_cast<std::uint16_t*>(to.at), 0, to.part, b.parts});
}

void zero(void* at, std::int64_t bytes) { std::memset(at, 0, static_cast<std::size_t>(bytes)); }

/// pack_rows of what is split: a panel and some rows at a time, through f32 with zeros.
bool split_row_panels(const AttentionBlocking& b, Rows from, std::int64_t count,
                      std::int64_t padded_count, std::int64_t depth, float* spare, Packed to) {
  bool finite = true;
  const auto element = static_cast<std::int64_t>(size_of(b.shape.dtype));
  for (std::int64_t c = 0; c < depth; c += b.width) {
    const std::int64_t columns = std::min(b.width, depth - c);
    for (std::int64_t r = 0; r < padded_count; r += b.width) {
      const std::int64_t rows = std::clamp<std::int64_t>(count - r, 0, b.width);
      Rows part = row_of(b, from, r);
      part.at = static_cast<const std::byte*>(part.at) + c * element;
      zero(spare, b.width * b.width * 4);
      gather_rows(b, part, rows, columns, b.width, 0, spare);
      finite &= split_panel(b, spare, b.width, element_of(b, to, c * padded_count + r * b.width));
    }
  }
  return finite;
}

/// What the mask's elements from `at` on, a step apart, add to scores.
void mask_row(const AttentionMask& m, const void* mask, std::int64_t at, std::int64_t count,
              float* to) {
  const auto each = [&]<class T>(const T* from, auto value) {
    if (m.key == 0) return void(std::fill_n(to, count, value(from[at])));
    for (std::int64_t j = 0; j < count; ++j) to[j] = value(from[at + j * m.key]);
  };
  constexpr float kUnseen = -std::numeric_limits<float>::infinity();
  switch (m.dtype) {
    case DType::boolean:
      return each(static_cast<const std::uint8_t*>(mask),
                  [](std::uint8_t seen) { return seen ? 0.0f : kUnseen; });
    case DType::f32:
      return each(static_cast<const float*>(mask), [](float x) { return x; });
    case DType::bf16:
      return each(static_cast<const std::uint16_t*>(mask), bf16_value);
    default:
      for (std::int64_t j = 0; j < count; ++j) {
        to[j] = static_cast<float>(number_at(mask, m.dtype, at + j * m.key));
      }
  }
}

}  // namespace

double number_at(const void* numbers, DType dtype, std::int64_t i) {
  switch (dtype) {
    case DType::f32:
      return static_cast<const float*>(numbers)[i];
    case DType::f16:
      return f16_value(static_cast<const std::uint16_t*>(numbers)[i]);
    case DType::bf16:
      return bf16_value(static_cast<const std::uint16_t*>(numbers)[i]);
    default:
      return static_cast<const double*>(numbers)[i];
  }
}

void seen_keys(const AttentionShape& s, const void* documents, std::int64_t batch,
               std::int64_t first, std::int64_t count, std::int32_t* lo, std::int32_t* hi) {
  std::fill_n(lo, count, 0);
  std::fill_n(hi, count, static_cast<std::int32_t>(s.keys));
  for (std::int64_t n = 0; n < s.documents; ++n) {
    const std::int64_t at = batch * s.documents_batch + n;
    const std::int64_t o = s.wide_documents ? static_cast<const std::int64_t*>(documents)[at]
                                            : static_cast<const std::int32_t*>(documents)[at];
    if (o <= 0 || o >= s.keys) continue;
    const std::int64_t cut = std::clamp<std::int64_t>(o - first, 0, count);
    const auto edge = static_cast<std::int32_t>(o);
    // Marked at the first query it counts for; spread below.
    if (cut < count) lo[cut] = std::max(lo[cut], edge);
    if (cut > 0) hi[cut - 1] = std::min(hi[cut - 1], edge);
  }
  for (std::int64_t i = 1; i < count; ++i) lo[i] = std::max(lo[i], lo[i - 1]);
  for (std::int64_t i = count - 1; i > 0; --i) hi[i - 1] = std::min(hi[i - 1], hi[i]);
  const auto bounded = [&](std::int64_t key) {
    return static_cast<std::int32_t>(std::clamp<std::int64_t>(key, 0, s.keys));
  };
  for (std::int64_t r = 0; r < count; ++r) {
    const std::int64_t at = first + r + s.offset;
    if (s.causal) hi[r] = std::min(hi[r], bounded(at + 1));
    if (s.window > 0) {
      lo[r] = std::max(lo[r], bounded(at - s.window + 1));
      if (!s.causal) hi[r] = std::min(hi[r], bounded(at + s.window));
    }
  }
}

AttentionBlocking::AttentionBlocking(const AttentionShape& given, const Kernels& on,
                                     const AttentionLanes& passes)
    : shape(given) {
  use(on, passes);
  key_block = kKeyBlock;
  query_block = shape.backward ? kBackwardQueryBlock : kQueryBlock;
  while (query_block > 64 && shape.batch * shape.heads * query_blocks() < kFewTasks) {
    query_block /= 2;
  }
  const std::int64_t unit = std::max(width, kPairDepth);
  query_block = std::min(query_block, round_up(std::max<std::int64_t>(shape.queries, 1), unit));
  const std::int64_t heads = std::max<std::int64_t>(shape.batch * shape.kv_heads, 1);
  const std::int64_t wanted = std::clamp<std::int64_t>(ceil_div(kFewHeads, heads), 1, kMostChunks);
  chunk = std::max(round_up(ceil_div(shape.keys, wanted), key_block), kLeastChunk);
  biased = shape.mask.present || shape.slopes || !(shape.scale > 0);
  constexpr double kLog2E = std::numbers::log2e;
  factor = static_cast<float>(biased ? kLog2E : shape.scale * kLog2E);
  to_scores = biased ? 1 : static_cast<float>(shape.scale);
}

void AttentionBlocking::use(const Kernels& on, const AttentionLanes& passes) {
  kernels = &on;
  lanes = &passes;
  tile = &on.shapes[0];
  pairs = on.pairs;
  parts = pairs ? parts_of(shape.dtype) : 1;
  width = tile->nr;
  element_bytes = pairs ? 2 : 4;
  depth = pairs ? round_up(shape.depth, kPairDepth) : shape.depth;
  value_depth = pairs ? round_up(shape.value_depth, kPairDepth) : shape.value_depth;
}

std::int64_t AttentionBlocking::chunks() const {
  return std::max<std::int64_t>(ceil_div(shape.keys, chunk), 1);
}

std::int64_t AttentionBlocking::query_blocks() const {
  return ceil_div(shape.queries, query_block);
}

bool multiplied_in_place(const AttentionBlocking& b, std::int64_t depth, std::int64_t padded) {
  if (b.parts > 1) return false;
  return b.pairs ? depth == padded : b.shape.dtype == DType::f32;
}

Packed take_packed(const AttentionBlocking& b, ScratchParts& parts, std::int64_t elements) {
  elements = round_up(elements, 32);
  return {parts.take_bytes(elements * b.parts * b.element_bytes), elements};
}

std::int64_t spare_elements(const AttentionBlocking& b) {
  // Rows of a block of keys in f32, and they or a tile of scores transposed.
  const std::int64_t rows = std::max(b.key_block, b.width);
  return 2 * rows * std::max({b.width, b.depth, b.value_depth});
}

bool multiplied_rows(const AttentionBlocking& b, Rows from, std::int64_t count, std::int64_t depth,
                     std::int64_t padded, float* spare, Packed to, Left& left) {
  if (multiplied_in_place(b, depth, padded)) {
    left = {from.at, from.ld, 0};
    return true;
  }
  left = {to.at, padded, to.part};
  if (b.parts == 1) {
    if (depth < padded) zero(to.at, count * padded * b.element_bytes);
    gather_rows(b, from, count, depth, padded, 0, to.at);  // a panel, of which `depth` are there
    return true;
  }
  bool finite = true;
  for (std::int64_t r = 0; r < count; r += b.key_block) {
    const std::int64_t rows = std::min(b.key_block, count - r);
    finite &= split_rows(b, rows_in_f32(b, row_of(b, from, r), rows, depth, spare), rows, depth,
                         element_of(b, to, r * padded), padded);
  }
  return finite;
}

bool pack_columns(const AttentionBlocking& b, Rows from, std::int64_t count, std::int64_t depth,
                  std::int64_t padded, float* spare, Packed to) {
  const bool in_place = multiplied_in_place(b, depth, padded) && (!b.pairs || from.ld % 2 == 0);
  bool finite = true;
  for (std::int64_t r = 0; r < count; r += b.width) {
    const std::int64_t rows = std::min(b.width, count - r);
    const Packed dest = element_of(b, to, r * padded);
    Rows part = row_of(b, from, r);
    if (b.parts > 1) {
      float* turned = spare + b.key_block * depth;
      part = rows_in_f32(b, part, rows, depth, spare);
      b.kernels->transpose32(part.at, part.ld, rows, depth, turned, b.width, b.width);
      finite &= split_panel(b, turned, depth, dest);
      continue;
    }
    if (!in_place) {
      if (depth < padded) zero(spare, rows * padded * b.element_bytes);
      gather_rows(b, part, rows, depth, padded, 0, spare);
      part = {spare, padded};
    }
    const std::int64_t words = b.pairs ? padded / 2 : padded, per_word = b.pairs ? 2 : 1;
    b.kernels->transpose32(part.at, part.ld / per_word, rows, words, dest.at, b.width, b.width);
  }
  return finite;
}

bool pack_rows(const AttentionBlocking& b, Rows from, std::int64_t count, std::int64_t padded_count,
               std::int64_t depth, void* weaving, float* spare, Packed to) {
  const std::int64_t panels = ceil_div(depth, b.width), step = padded_count * b.width;
  if (b.parts > 1) return split_row_panels(b, from, count, padded_count, depth, spare, to);
  void* gathered = b.pairs ? weaving : to.at;
  if (count < padded_count || depth % b.width != 0) {
    zero(gathered, panels * step * b.element_bytes);
  }
  gather_rows(b, from, count, depth, b.width, step, gathered);
  for (std::int64_t p = 0; b.pairs && p < panels; ++p) {
    const std::int64_t at = p * step * b.element_bytes;
    b.kernels->weave16(static_cast<std::byte*>(weaving) + at, padded_count, b.width,
                       static_cast<std::byte*>(to.at) + at);
  }
  return true;
}

bool transpose_rows(const AttentionBlocking& b, Rows from, std::int64_t count, std::int64_t depth,
                    float* spare, Packed to, std::int64_t ld) {
  if (b.parts > 1) {
    float* turned = spare + b.key_block * depth;
    const Rows rows = rows_in_f32(b, from, count, depth, spare);
    b.kernels->transpose32(rows.at, rows.ld, count, depth, turned, b.key_block, ld);
    return split_rows(b, {turned, b.key_block}, depth, ld, to, ld);
  }
  if (count < ld) zero(to.at, depth * ld * 2);
  b.kernels->transpose16(from.at, from.ld, depth, count, to.at, ld);
  return true;
}

bool split_tile(const AttentionBlocking& b, const float* tile, std::int64_t rows, Packed to) {
  return split_panel(b, tile, rows, to);
}

bool split_tile_rows(const AttentionBlocking& b, const float* tile, std::int64_t rows, Packed to,
                     std::int64_t ld) {
  return split_rows(b, {tile, b.width}, rows, b.width, to, ld);
}

void multiply(const AttentionBlocking& b, const Product& p) {
  BlockArgs args{};
  args.rows = p.rows;
  args.cols = p.cols;
  args.k = p.k;
  args.a = p.a;
  args.row_step = p.a_row;
  args.k_step = p.a_k;
  args.b = p.b;
  args.panel_step = p.panel_step;
  args.c = p.c;
  args.ldc = p.ldc;
  args.add = p.add;
  args.padded = true;
  args.parts = b.parts;
  args.next = p.next;
  args.a_part = p.a_part;
  args.b_part = p.b_part;
  b.tile->block(args);
}

void clear_tile(const AttentionBlocking& b, float* tile) {
  std::fill_n(tile, std::min(b.key_block, b.shape.keys) * b.width, 0.0f);
}

void mask_tile(const AttentionBlocking& b, const AttentionOperands& operands,
               const ScoreTile& place, float* spare, float* to) {
  const AttentionMask& m = b.shape.mask;
  const std::int64_t begin =
      m.batch[static_cast<std::size_t>(place.batch)] + place.head * m.head + place.key * m.key;
  if (m.row == 0) {  // every query's is the same
    mask_row(m, operands.mask, begin, place.keys, spare);
    for (std::int64_t j = 0; j < place.keys; ++j) std::fill_n(to + j * b.width, b.width, spare[j]);
    return;
  }
  for (std::int64_t q = 0; q < place.queries; ++q) {
    mask_row(m, operands.mask, begin + (place.query + q) * m.row, place.keys,
             spare + q * place.keys);
  }
  b.kernels->transpose32(spare, place.keys, place.queries, place.keys, to, b.width, b.width);
}

void keep_tile(const AttentionBlocking& b, const AttentionOperands& operands,
               const ScoreTile& place, float* to) {
  constexpr std::int64_t kTile = 16, kDraws = 32, kHalf = 8;  // see pair_bits
  const AttentionShape& s = b.shape;
  const RandomKey key{static_cast<std::uint64_t>(operands.key[0]),
                      static_cast<std::uint64_t>(operands.key[1]), s.stream};
  const std::int64_t head = place.batch * s.heads + place.head;
  std::uint32_t words[4][kDraws];
  for (std::int64_t q0 = place.query / kTile; q0 * kTile < place.query + b.width; ++q0) {
    const std::int64_t column = q0 * kTile - place.query;
    for (std::int64_t k0 = place.key / kTile; k0 * kTile < place.key + place.keys; ++k0) {
      const std::int64_t tile =
          (head * ceil_div(s.queries, kTile) + q0) * ceil_div(s.keys, kTile) + k0;
      lane_kernels().random_words(key, static_cast<std::uint64_t>(tile * kDraws), kDraws, words[0],
                                  words[1], words[2], words[3]);
      b.lanes->keep({.words = words[0],
                     .threshold = pair_threshold(s.dropout),
                     .kept = static_cast<float>(1 / (1 - s.dropout)),
                     .first_half = column < 0 ? 1 : 0,
                     .end_half = column + kHalf < b.width ? 2 : 1,
                     .to = to + (k0 * kTile - place.key) * b.width + column,
                     .width = b.width});
    }
  }
}

void finish_scores(const AttentionBlocking& b, const AttentionOperands& operands,
                   const ScoreTile& place, const std::int32_t* lo, const std::int32_t* hi,
                   float* scores, float* mask, float* spare) {
  const AttentionShape& s = b.shape;
  if (b.biased) {
    if (s.mask.present) mask_tile(b, operands, place, spare, mask);
    b.lanes->bias({.scores = scores,
                   .rows = place.keys,
                   .width = b.width,
                   .scale = static_cast<float>(s.scale),
                   .mask = s.mask.present ? mask : nullptr,
                   .slope = s.slopes ? static_cast<float>(
                                           number_at(operands.slopes, s.slopes_dtype, place.head))
                                     : 0,
                   .first_distance = static_cast<float>(place.query + s.offset - place.key)});
  }
  const auto unseen = [&](std::int64_t from, std::int64_t to) {
    from = std::clamp<std::int64_t>(from - place.key, 0, place.keys);
    to = std::clamp<std::int64_t>(to - place.key, 0, place.keys);
    if (from >= to) return;
    b.lanes->unseen({.scores = scores + from * b.width,
                     .rows = to - from,
                     .width = b.width,
                     .first_key = static_cast<std::int32_t>(place.key + from),
                     .lo = lo,
                     .hi = hi});
  };
  const std::int64_t all_from = lo[b.width - 1], all_to = hi[0];  // what every query sees
  if (all_from >= all_to) return unseen(place.key, place.key + place.keys);
  unseen(place.key, all_from);
  unseen(all_to, place.key + place.keys);
}

KeyRange seen_by_panel(const AttentionBlocking& b, const std::int32_t* lo, const std::int32_t* hi,
                       std::int64_t key, std::int64_t keys) {
  std::int64_t from = std::max<std::int64_t>(lo[0] - key, 0);
  const std::int64_t to = std::min<std::int64_t>(hi[b.width - 1] - key, keys);
  if (b.pairs || b.shape.dropout > 0) from -= from % kPairDepth;  // draws are of tiles
  return {key + from, std::max<std::int64_t>(to - from, 0)};
}

void block_bounds(const AttentionBlocking& b, const AttentionOperands& operands, std::int64_t batch,
                  std::int64_t query, std::int64_t queries, std::int32_t* lo, std::int32_t* hi) {
  seen_keys(b.shape, operands.documents, batch, query, queries, lo, hi);
  for (std::int64_t i = queries; i < round_up(queries, b.width); ++i) {
    lo[i] = lo[queries - 1];
    hi[i] = hi[queries - 1];
  }
}

void store_rows(const AttentionBlocking& b, const float* from, std::int64_t ld, std::int64_t count,
                std::int64_t depth, void* to, std::int64_t row) {
  const DType dtype = b.shape.dtype;
  const StoreRow store = dtype == DType::f32    ? b.kernels->store_f32
                         : dtype == DType::bf16 ? b.kernels->store_bf16
                                                : b.kernels->store_f16;
  const std::int64_t row_bytes = row * static_cast<std::int64_t>(size_of(dtype));
  for (std::int64_t r = 0; r < count; ++r) {
    store(from + r * ld, depth, static_cast<std::byte*>(to) + r * row_bytes, 1);
  }
}

void store_columns(const AttentionBlocking& b, float* columns, std::int64_t depth,
                   std::int64_t count, const float* by, float* spare, void* to, std::int64_t row) {
  b.lanes->multiply_rows(columns, depth, b.width, by);
  b.kernels->transpose32(columns, b.width, depth, count, spare, depth, depth);
  store_rows(b, spare, depth, count, depth, to, row);
}

}  // namespace plait::cpu
