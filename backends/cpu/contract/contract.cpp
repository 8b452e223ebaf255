// Packing the right operand ahead, and walking the tiles of a task.
#include "backends/cpu/contract/contract.h"

#include <algorithm>
#include <cstring>

#include "backends/cpu/contract/blocking.h"

namespace plait::cpu {
namespace {

/// What one task works with.
struct Task {
  const Blocking& b;
  const std::byte* left;
  const std::byte* right;
  const std::byte* packed;
  void* c;
  TileSink sink;
  const void* context;
  std::byte* scratch;
  bool turned_sink;
  std::int64_t gathered = -1, packed_inside = -1;  // which block the scratch holds

  float* tile() const { return reinterpret_cast<float*>(scratch + b.tile_at); }
};

/// The left operand of one block, as the kernel reads it.
void set_left(Task& task, const TilePlace& t, std::int64_t k_block, BlockArgs& args) {
  const Blocking& b = task.b;
  if (b.in_place) {
    const std::int64_t at = b.left.origin.offset + b.left.batch.offset(t.batch) +
                            t.row0 * b.row_step + k_block * b.kc * b.k_step;
    args.a = task.left + at * static_cast<std::int64_t>(size_of(b.dtype));
    args.row_step = b.row_step;
    args.k_step = b.k_step;
    return;
  }
  const std::int64_t key = (t.batch * b.row_tiles + t.row0 / b.mc) * b.k_blocks + k_block;
  if (task.gathered != key) {
    gather_left(b, task.left, t.batch, t.row0, t.rows, k_block, task.scratch);
    task.gathered = key;
  }
  args.a = task.scratch;
  args.row_step = b.left_ld;
  args.k_step = 1;
}

void set_right(Task& task, const TilePlace& t, std::int64_t k_block, BlockArgs& args) {
  const Blocking& b = task.b;
  args.panel_step = b.k_padded(k_block) * b.shape->nr;
  if (b.ahead) {
    const std::int64_t matrix = b.packed_batch.offset(t.batch);
    const std::int64_t before = k_block * b.kc * b.packed_cols + t.col0 * b.k_padded(k_block);
    args.b = task.packed + matrix * b.parts * b.packed_part_bytes() + before * b.element_bytes;
    return;
  }
  const std::int64_t key = (t.batch * b.col_tiles + t.col0 / b.nc) * b.k_blocks + k_block;
  std::byte* dest = task.scratch + b.right_at;
  args.b = dest;
  if (task.packed_inside == key) return;
  Point origin;
  points(b.right.batch, t.batch, 1, b.right.origin, &origin);
  for (int i = 0; i < b.parts; ++i) {
    pack_right(b, i, task.right, origin, t.col0, t.cols, k_block, dest + i * b.right_part_bytes,
               args.panel_step);
  }
  task.packed_inside = key;
}

/// Every product of the parts: one, or high and low of both operands.
void multiply(const Task& task, BlockArgs args) {
  const Blocking& b = task.b;
  const std::byte* left = static_cast<const std::byte*>(args.a);
  const std::byte* right = static_cast<const std::byte*>(args.b);
  const std::int64_t right_part = b.ahead ? b.packed_part_bytes() : b.right_part_bytes;
  for (int i = 0; i < b.parts; ++i) {
    for (int j = 0; j < b.parts; ++j) {
      args.a = left + i * b.left_part_bytes;
      args.b = right + j * right_part;
      b.shape->block(args);
      args.add = true;
    }
  }
}

void run_tile(Task& task, const TilePlace& t) {
  const Blocking& b = task.b;
  const bool direct = b.direct && task.sink == nullptr;
  BlockArgs args{};
  args.rows = t.rows;
  args.cols = t.cols;
  args.c = task.tile();
  args.ldc = b.tile_ld;
  args.padded = !direct;
  if (direct) {
    args.c = static_cast<float*>(task.c) + b.c0 + b.c_batch.offset(t.batch) +
             t.row0 * b.c_rows.inner().step + t.col0;
    args.ldc = b.c_rows.inner().step;
  }
  for (std::int64_t block = 0; block < b.k_blocks; ++block) {
    args.k = b.k_padded(block);
    args.add = block > 0;
    set_left(task, t, block, args);
    set_right(task, t, block, args);
    multiply(task, args);
  }
  if (direct) return;
  if (b.k_blocks == 0) {
    std::memset(args.c, 0, static_cast<std::size_t>(t.rows * b.tile_ld) * sizeof(float));
  }
  finish_tile(b, t, args.c, reinterpret_cast<float*>(task.scratch + b.turned_at), task.c, task.sink,
              task.context, task.turned_sink);
}

}  // namespace

Contract::Contract(const Problem& problem, const Variant& variant) {
  const Decision decision = accepts(problem, variant);
  check(decision.yes, "contraction cannot use ", to_text(variant), ": ", decision.why);
  blocking_ = std::make_unique<const Blocking>(problem, variant, kernels_of(variant.isa));
}

Contract::Contract(const Blocking& blocking)
    : blocking_(std::make_unique<const Blocking>(blocking)) {}

Contract::~Contract() = default;
Contract::Contract(Contract&&) noexcept = default;
Contract& Contract::operator=(Contract&&) noexcept = default;

const std::string& Contract::id() const { return blocking_->id; }
const Variant& Contract::variant() const { return blocking_->variant; }
std::int64_t Contract::scratch_bytes() const { return blocking_->scratch_bytes; }
std::int64_t Contract::pack_tasks() const { return blocking_->pack_tasks; }
std::int64_t Contract::tasks() const { return blocking_->tasks; }

std::int64_t Contract::packed_bytes() const {
  const Blocking& b = *blocking_;
  return b.ahead ? b.packed_matrices * b.parts * b.packed_part_bytes() : 0;
}

void Contract::pack(std::int64_t task, const void* source, void* packed) const {
  const Blocking& b = *blocking_;
  const std::int64_t nr = b.shape->nr, panels = b.packed_cols / nr;
  const std::int64_t first = task * b.panels_per_task;
  const std::int64_t last = std::min(first + b.panels_per_task, panels * b.packed_matrices);
  for (std::int64_t p = first; p < last;) {
    const std::int64_t matrix = p / panels, panel = p % panels;
    const std::int64_t count = std::min(last - p, panels - panel);
    const Point origin{b.right.origin.offset + b.packed_source.offset(matrix), 0, 0};
    for (int i = 0; i < b.parts; ++i) {
      std::byte* dest =
          static_cast<std::byte*>(packed) + (matrix * b.parts + i) * b.packed_part_bytes();
      for (std::int64_t block = 0; block < b.k_blocks; ++block) {
        const std::int64_t step = b.k_padded(block) * nr;
        const std::int64_t at = block * b.kc * b.packed_cols + panel * step;
        pack_right(b, i, source, origin, panel * nr, std::min(count * nr, b.cols - panel * nr),
                   block, dest + at * b.element_bytes, step);
      }
    }
    p += count;
  }
}

void Contract::run(std::int64_t index, const void* a, const void* b_data, const void* packed,
                   void* c, TileSink sink, const void* context, void* scratch, bool turned) const {
  const Blocking& b = *blocking_;
  check(!turned || b.variant.swapped, "a turned sink wants a swapped variant");
  const void* left = b.variant.swapped ? b_data : a;
  const void* right = b.variant.swapped ? a : b_data;
  Task task{b,
            static_cast<const std::byte*>(left),
            static_cast<const std::byte*>(right),
            static_cast<const std::byte*>(packed),
            c,
            sink,
            context,
            static_cast<std::byte*>(scratch),
            turned};
  b.kernels->begin();
  const std::int64_t first = index * b.tiles_per_task;
  const std::int64_t last = std::min(first + b.tiles_per_task, b.tiles);
  for (std::int64_t i = first; i < last; ++i) {
    // What was copied inside the task stays while the other side moves.
    const std::int64_t inner = b.ahead ? b.col_tiles : b.row_tiles;
    const std::int64_t outer = b.ahead ? b.row_tiles : b.col_tiles;
    const std::int64_t x = i % inner, y = i / inner % outer;
    const std::int64_t row0 = (b.ahead ? y : x) * b.mc, col0 = (b.ahead ? x : y) * b.nc;
    run_tile(task, {i / (inner * outer), row0, std::min(b.mc, b.rows - row0), col0,
                    std::min(b.nc, b.cols - col0)});
  }
  b.kernels->end();
}

}  // namespace plait::cpu
