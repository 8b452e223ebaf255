// Everything that is decided about a contraction before it runs: which operand gives the rows and
// which the columns, how each is walked, what is copied and when, and how the work is cut.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "backends/cpu/contract/contract.h"
#include "backends/cpu/contract/kernels.h"
#include "backends/cpu/contract/sizes.h"
#include "backends/cpu/contract/walk.h"

namespace plait::cpu {

/// One operand of the product as the engine sees it.
struct Side {
  Walk index, k, batch;  // index: the rows of the left operand, the columns of the right one
  Point origin{0, 0, 0};
  bool guarded = false;
  std::int64_t height = 0, width = 0;
  bool along_k = false;  // memory is read in runs along k, not along the index
};

/// Sizes are in the engine's own roles: the left operand has `rows`, the right one `cols`.
struct Blocking {
  Blocking(const Problem& problem, const Variant& variant, const Kernels& kernels);

  /// Cuts the result into tiles of at most these sizes, and those into tasks.
  void cut(std::int64_t rows_most, std::int64_t cols_most);

  Variant variant;
  const Kernels* kernels;
  const TileShape* shape;
  DType dtype;
  std::string id;
  std::int64_t batch = 1, rows = 1, cols = 1, depth = 1;
  Side left, right;
  Walk c_batch, c_rows, c_cols;
  std::int64_t c0 = 0;

  bool in_place = false;                  // the left operand is read where it lies,
  std::int64_t row_step = 0, k_step = 0;  // with these steps
  bool ahead = false;         // the right operand is packed by pack(), once for all tasks
  bool direct = false;        // without a sink, blocks are summed in C itself
  bool store_turned = false;  // C is contiguous along the rows: turn the tile before it is stored
  int parts = 1;              // numbers kept per element: 2 when an f16 is split, 3 for an f32
  std::int64_t element_bytes = 4;  // of a gathered or packed element

  std::int64_t kc = 0, mc = 0, nc = 0;
  std::int64_t k_blocks = 0, row_tiles = 0, col_tiles = 0, tiles = 0;
  bool long_sums = false;
  std::int64_t tiles_per_task = 1, tasks = 0;

  Walk packed_batch;   // batch index -> which packed matrix
  Walk packed_source;  // packed matrix -> offset in B
  std::int64_t packed_matrices = 0, packed_cols = 0, packed_depth = 0;
  std::int64_t panels_per_task = 1, pack_tasks = 0;

  // Of the scratch, bytes: gathered left block, packed right block, tile, the tile transposed, what
  // is gathered before it is transposed (k by rows) or split (kSplitRows rows by k), and a long
  // sum's totals in f64, which are rarely touched.
  static constexpr std::int64_t kSplitRows = 16;
  std::int64_t left_ld = 0, tile_ld = 0, turned_ld = 0, spare_ld = 0, spare_depth = 0;
  std::int64_t left_part_bytes = 0, right_part_bytes = 0;
  std::int64_t right_at = 0, tile_at = 0, turned_at = 0, spare_at = 0, totals_at = 0;
  std::int64_t scratch_bytes = 0;

  std::int64_t k_size(std::int64_t block) const;    // of one block of k, elements
  std::int64_t k_padded(std::int64_t block) const;  // as the kernel sums it
  std::int64_t packed_part_bytes() const;           // one packed matrix, one part
  std::int64_t left_part_step() const;              // elements from one part to the next
  std::int64_t right_part_step() const;

 private:
  void count_packed(const std::vector<Axis>& batch_axes);
  void lay_out_scratch();
};

/// The operand lies as f32 in runs of its own fast side, one step apart: nothing need be gathered.
bool lies_in_runs(const Side& side, DType dtype);

/// The left block [rows, k] in the scratch: row0.. and one block of k. False: it is split, and has
/// elements that are not finite, whose parts say nothing.
bool gather_left(const Blocking& blocking, const void* source, std::int64_t batch,
                 std::int64_t row0, std::int64_t rows, std::int64_t k_block, std::byte* scratch);

/// Columns [col0, col0 + cols) of one block of k, in panels; `origin` is where the matrix begins.
/// False as above.
bool pack_right(const Blocking& blocking, const void* source, const Point& origin,
                std::int64_t col0, std::int64_t cols, std::int64_t k_block, std::byte* dest,
                std::int64_t panel_step);

/// One task of packing the right operand for all others (false as above), and where a block of it
/// lies then.
bool pack_ahead(const Blocking& blocking, std::int64_t task, const void* source, void* packed);
const std::byte* packed_block(const Blocking& blocking, const void* packed, std::int64_t batch,
                              std::int64_t col0, std::int64_t k_block);

/// The finished tile (engine's rows x columns) goes to the sink, or rounded into c.
struct TilePlace {
  std::int64_t batch, row0, rows, col0, cols;
};
void finish_tile(const Blocking& blocking, const TilePlace& place, const float* tile,
                 float* transposed, void* c, TileSink sink, const void* context, bool turned_sink);

/// A row length whose rows do not all fall into the same sets of a cache.
std::int64_t spread(std::int64_t elements, std::int64_t element_bytes);

inline constexpr std::int64_t kMostTasks = 64;  // of a contraction
/// Operations of a task that is worth waking a thread for: some tens of microseconds.
std::int64_t least_work(Isa isa, DType dtype);

/// Whether a problem's sums have so many terms that only a group of blocks of k is added up in f32,
/// and the groups in f64.
bool has_long_sums(const Problem& problem);
inline constexpr std::int64_t kGroupBlocks = 64;
/// Behind block `block` of `blocks`: the last of a group adds its sums to the totals, both rows of
/// `cols` numbers. The first group sets the totals, the last puts them in the place of its sums.
void end_block(std::int64_t block, std::int64_t blocks, std::int64_t rows, std::int64_t cols,
               float* sums, std::int64_t ld, double* totals, std::int64_t totals_ld);

/// The problem with its summed axes in the order in which they are summed.
Problem with_k_ordered(Problem problem);

const Kernels& kernels_of(Isa isa);

/// Into so many bf16 an element is split where products take nothing else.
int parts_of(DType dtype);

/// The kernels' tile of a Variant; null when there is none.
const TileShape* find_shape(const Kernels& kernels, const Variant& variant);

/// Cycles of a product in such tiles, `most` rows at a time: low and narrow ones cost more.
double product_cycles(std::int64_t rows, std::int64_t cols, std::int64_t depth, std::int64_t most,
                      const TileShape& shape, int lanes);

}  // namespace plait::cpu
