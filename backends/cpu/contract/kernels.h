// What an instruction set offers the contraction engine: tiles of products, and moving operands
// into the order the tiles read. Plain data and function pointers only, since the files behind it
// are compiled for one instruction set each and must not share inline code with the others.
#pragma once

#include <cstdint>

namespace plait::cpu {

/// Where one index of the slow side lies: elements from the origin, and image coordinates.
struct Point {
  std::int64_t offset;
  std::int32_t h, w;
};

/// A stretch of the fast side: `count` elements a fixed step apart, the first at `offset`.
struct Segment {
  std::int64_t offset;
  std::int64_t dest;  // of the first, in the gathered block
  std::int32_t count;
  std::int32_t phase;  // steps already taken of the `every` after which the coordinates move
  std::int32_t h, w;   // coordinates of the first
  std::int32_t last_h, last_w;  // and of the last
};

/// dest[point * ld + segment.dest + i] = convert(source[point.offset + segment.offset + i * step]),
/// or 0 where the image coordinates are outside.
struct GatherArgs {
  const Point* points;
  std::int64_t point_count;
  const Segment* segments;
  std::int64_t segment_count;
  std::int64_t step;         // elements between neighbours of a segment
  std::int32_t every, h, w;  // coordinates move by (h, w) each `every` steps
  bool guarded;
  std::int64_t height, width;
  const void* source;
  void* dest;
  std::int64_t ld;
};

/// What a gather does to an element.
enum class Convert { kF32, kBf16ToF32, kF16ToF32, kBf16 };
inline constexpr int kConverts = 4;

/// source[row * ld + col] as bf16 whose sum it is, each part `part_step` elements behind the one
/// before. In the order of the left operand rows are rows of it and columns are k: dest[row *
/// dest_ld + ..], with zeros to the next kPairDepth. In that of a panel rows are k and columns
/// those of the panel, all of them.
struct SplitArgs {
  const float* source;
  std::int64_t ld, rows, cols;
  std::uint16_t* dest;
  std::int64_t dest_ld, part_step;
  int parts;  // 2 or 3
};
/// False: something is not finite or rounds to what is not, and its parts say nothing.
using Split = bool (*)(const SplitArgs&);
inline constexpr int kMostParts = 3;

/// Products of parts that make one product: of two parts all, of three those that count.
constexpr int products_of_parts(int parts) { return parts == 1 ? 1 : parts == 2 ? 4 : 6; }

/// Rows of memory that are read next, each of some lines of 64 bytes; no rows: nothing is known.
struct Ahead {
  const void* at;
  std::int64_t rows, row_bytes, lines;
};

/// c[rows, cols] (+)= a[rows, k] * b[cols, k], where b lies in panels: [cols / nr][k][nr], or in
/// pairs [cols / nr][k / 2][nr][2] of 16-bit elements, and the last panel is filled with zeros.
struct BlockArgs {
  std::int64_t rows, cols, k;
  const void* a;
  std::int64_t row_step, k_step;  // of a, elements
  const std::int64_t* k_at;  // where each kPairDepth of k lies in a row of a; null: as k_step says
  const void* b;
  std::int64_t panel_step;  // elements from one panel to the next
  float* c;
  std::int64_t ldc;
  bool add;
  bool padded;  // c may be written up to the end of the last panel
  int parts;    // of each operand, whose products are summed; 1 unless its tiles know of more
  std::int64_t a_part, b_part;  // elements from one part to the next
  Ahead next;
};

struct TileShape {
  int mr, nr;
  void (*block)(const BlockArgs&);
};

/// Rounds one row of a finished tile to the dtype: dest[i * step] = tile[i].
using StoreRow = void (*)(const float* tile, std::int64_t count, void* dest, std::int64_t step);
using Gather = void (*)(const GatherArgs&);

/// Winograd's transforms: pixels (or taps) by their addresses, numbers to dest, a plane apart.
struct PixelArgs {
  const float* pixels[36];
  std::int64_t channels;  // a multiple of the lanes
  float* dest;
  std::int64_t plane;
  std::int64_t panel, panel_step;  // of the channels in dest, for a row of a weight gradient
};

/// The way back: `rows` x `wide` of the results, each of `cols` numbers.
struct ResultArgs {
  const float* sums;
  std::int64_t plane, cols;
  float* dest;
  std::int64_t row_step, step;
  std::int64_t rows, wide;
};

struct WinogradKernels {
  int lanes;
  void (*pixels)(const PixelArgs&);
  void (*taps)(const PixelArgs&);
  void (*results)(const ResultArgs&);
  void (*pixel_row[6])(const PixelArgs&);
  void (*tap_row[6])(const PixelArgs&);
  void (*weight_results)(const ResultArgs&);
};

struct Kernels {
  const TileShape* shapes;
  int shape_count;
  bool pairs;   // operands stay 16 bits wide, b in pairs along k; k is a multiple of kPairDepth
  bool slides;  // its blocks know of BlockArgs::k_at
  Gather gather[kConverts];
  StoreRow store_f32, store_bf16, store_f16;
  Split split_rows, split_panel;  // null: nothing is split
  /// dest[col * dest_ld + row] = source[row * ld + col] of 32-bit elements, and zeros for the rows
  /// from `rows` to `fill`.
  void (*transpose32)(const void* source, std::int64_t ld, std::int64_t rows, std::int64_t cols,
                      void* dest, std::int64_t dest_ld, std::int64_t fill);
  /// dest[row * ld + col] = source[col * rows_ld + row] of 16-bit elements.
  void (*transpose16)(const void* source, std::int64_t rows_ld, std::int64_t rows,
                      std::int64_t cols, void* dest, std::int64_t ld);
  /// dest[k / 2][col][k % 2] = source[k][col] of 16-bit elements, nr columns.
  void (*weave16)(const void* source, std::int64_t k, std::int64_t nr, void* dest);
  /// Of rows of `cols` numbers, `ld` from one to the next.
  bool (*all_finite)(const float* numbers, std::int64_t rows, std::int64_t cols, std::int64_t ld);
  void (*begin)();  // round every task
  void (*end)();
  const WinogradKernels* winograd;  // null: it has none
};

inline constexpr std::int64_t kPairDepth = 32;

const Kernels& portable_kernels();
const Kernels& avx2_kernels();
const Kernels& avx512_kernels();
const Kernels& avx512bf16_kernels();
const Kernels& amx_kernels();

}  // namespace plait::cpu
