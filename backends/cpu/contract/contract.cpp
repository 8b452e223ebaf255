// Packing the right operand ahead, and walking the tiles of a task.
#include "backends/cpu/contract/contract.h"

#include <algorithm>
#include <cstring>

#include "backends/cpu/contract/blocking.h"
#include "backends/cpu/contract/definition.h"
#include "backends/cpu/contract/sliding.h"
#include "backends/cpu/contract/winograd.h"
#include "backends/cpu/contract/work.h"

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
  const Definition* definition;                    // of a guarded problem
  std::int64_t gathered = -1, packed_inside = -1;  // which block the scratch holds,
  bool left_finite = true, right_finite = true;    // and whether its parts mean what they should

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
    task.left_finite = gather_left(b, task.left, t.batch, t.row0, t.rows, k_block, task.scratch);
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
    args.b = packed_block(b, task.packed, t.batch, t.col0, k_block);
    return;
  }
  const std::int64_t key = (t.batch * b.col_tiles + t.col0 / b.nc) * b.k_blocks + k_block;
  std::byte* dest = task.scratch + b.right_at;
  args.b = dest;
  if (task.packed_inside == key) return;
  Point origin;
  points(b.right.batch, t.batch, 1, b.right.origin, &origin);
  task.right_finite =
      pack_right(b, task.right, origin, t.col0, t.cols, k_block, dest, args.panel_step);
  task.packed_inside = key;
}

/// The rows of the left operand that a block reads, where they lie one after the other.
Ahead rows_of(const Task& task, const TilePlace& t, std::int64_t k_block) {
  const Blocking& b = task.b;
  if (!b.in_place || b.k_step != 1) return {};
  const std::int64_t bytes = static_cast<std::int64_t>(size_of(b.dtype));
  const std::int64_t at =
      b.left.origin.offset + b.left.batch.offset(t.batch) + t.row0 * b.row_step + k_block * b.kc;
  return {task.left + at * bytes, t.rows, b.row_step * bytes,
          (b.k_size(k_block) * bytes + 63) / 64};
}

/// What comes behind a block of a tile: its next block, or the first of the `next` tile.
Ahead ahead_of(const Task& task, const TilePlace& t, std::int64_t k_block, const TilePlace& next) {
  if (k_block + 1 < task.b.k_blocks) return rows_of(task, t, k_block + 1);
  if (next.row0 == t.row0 && next.batch == t.batch) return {};
  return rows_of(task, next, 0);
}

/// The first block of a task has nobody to ask for it: all at once, up to what a cache takes.
void ask_for(const Ahead& rows) {
  constexpr std::int64_t kMost = 1024;
  const char* row = static_cast<const char*>(rows.at);
  for (std::int64_t i = 0; i < rows.rows && i * rows.lines < kMost; ++i, row += rows.row_bytes) {
    for (std::int64_t line = 0; line < rows.lines; ++line)
      __builtin_prefetch(row + line * 64, 0, 2);
  }
}

/// What padding has made NaN, as it is defined.
void leave_out_padding(const Task& task, const TilePlace& t, float* tile, std::int64_t ld) {
  if (task.definition == nullptr) return;
  const std::int64_t rows1 = t.row0 + t.rows, cols1 = t.col0 + t.cols;
  if (task.b.variant.swapped) {
    task.definition->mend_border({t.batch, t.col0, cols1, t.row0, rows1, tile, 1, ld}, task.right,
                                 task.left);
  } else {
    task.definition->mend_border({t.batch, t.row0, rows1, t.col0, cols1, tile, ld, 1}, task.left,
                                 task.right);
  }
}

/// False: nothing was written, since an operand that is split is not finite.
bool run_tile(Task& task, const TilePlace& t, const TilePlace& next) {
  const Blocking& b = task.b;
  const bool direct = b.direct && task.sink == nullptr;
  BlockArgs args{};
  args.rows = t.rows;
  args.cols = t.cols;
  args.c = task.tile();
  args.ldc = b.tile_ld;
  args.padded = !direct;
  args.parts = b.parts;
  args.a_part = b.left_part_step();
  args.b_part = b.right_part_step();
  if (direct) {
    args.c = static_cast<float*>(task.c) + b.c0 + b.c_batch.offset(t.batch) +
             t.row0 * b.c_rows.inner().step + t.col0;
    args.ldc = b.c_rows.inner().step;
  }
  for (std::int64_t block = 0; block < b.k_blocks; ++block) {
    args.k = b.k_padded(block);
    args.add = (b.long_sums ? block % kGroupBlocks : block) > 0;
    args.next = ahead_of(task, t, block, next);
    set_left(task, t, block, args);
    set_right(task, t, block, args);
    if (!task.left_finite || !task.right_finite) return false;
    b.shape->block(args);
    if (b.long_sums) {
      end_block(block, b.k_blocks, t.rows, t.cols, args.c, args.ldc,
                reinterpret_cast<double*>(task.scratch + b.totals_at), b.nc);
    }
  }
  leave_out_padding(task, t, args.c, args.ldc);
  if (direct) return true;
  if (b.k_blocks == 0) {
    std::memset(args.c, 0, static_cast<std::size_t>(t.rows * b.tile_ld) * sizeof(float));
  }
  finish_tile(b, t, args.c, reinterpret_cast<float*>(task.scratch + b.turned_at), task.c, task.sink,
              task.context, task.turned_sink);
  return true;
}

/// The same tiles without splitting: what of infinity and NaN comes out is no sum of products of
/// parts.
Variant unsplit(const Blocking& b) {
  const Isa isa = std::min(detect_isa(), Isa::kAvx512);
  const TileShape& shape = kernels_of(isa).shapes[0];
  return {.isa = isa,
          .mr = shape.mr,
          .nr = shape.nr,
          .kc = b.variant.kc,
          .mc = b.mc,
          .nc = b.nc,
          .swapped = b.variant.swapped,
          .inside = true};
}

class Blocked : public Work {
 public:
  Blocked(const Problem& problem, const Blocking& blocking) : b_(blocking) {
    if (problem.guarded) definition_ = std::make_unique<Definition>(problem, *b_.kernels);
    id = b_.id;
    variant = b_.variant;
    scratch_bytes = b_.scratch_bytes;
    packed_bytes = flags_at() + (b_.parts > 1 ? round_up(b_.pack_tasks, 64) : 0);
    pack_tasks = b_.pack_tasks;
    tasks = b_.tasks;
    if (b_.parts == 1) return;
    const Variant plain = unsplit(b_);
    exact_ = std::make_unique<Blocking>(problem, plain, kernels_of(plain.isa));
    scratch_bytes = std::max(scratch_bytes, exact_->scratch_bytes);
  }

  void pack(std::int64_t task, const Operands& o) const override {
    const bool finite = pack_ahead(b_, task, o.b, o.packed);
    if (b_.parts > 1) static_cast<char*>(o.packed)[flags_at() + task] = finite ? 1 : 0;
  }

  void run(std::int64_t index, const Operands& o) const override {
    check(!o.transposed || variant.swapped || b_.store_turned,
          "a transposed sink, and C lies along n");
    const void* left = variant.swapped ? o.b : o.a;
    const void* right = variant.swapped ? o.a : o.b;
    const auto task_of = [&](const Blocking& b) {
      return Task{b,
                  static_cast<const std::byte*>(left),
                  static_cast<const std::byte*>(right),
                  static_cast<const std::byte*>(o.packed),
                  o.c,
                  o.sink,
                  o.context,
                  static_cast<std::byte*>(o.scratch),
                  o.transposed,
                  definition_.get()};
    };
    Task task = task_of(b_);
    task.right_finite = packed_is_finite(o.packed);
    b_.kernels->begin();
    const std::int64_t first = index * b_.tiles_per_task;
    const std::int64_t last = std::min(first + b_.tiles_per_task, b_.tiles);
    TilePlace place = tile_at(first);
    ask_for(rows_of(task, place, 0));
    for (std::int64_t i = first; i < last; ++i) {
      const TilePlace next = i + 1 < last ? tile_at(i + 1) : place;
      if (!run_tile(task, place, next)) {
        Task exact = task_of(*exact_);
        run_tile(exact, place, place);
        task.gathered = task.packed_inside = -1;
      }
      place = next;
    }
    b_.kernels->end();
  }

 private:
  /// Behind what is packed: whether each task found finite numbers only.
  std::int64_t flags_at() const {
    return b_.ahead ? b_.packed_matrices * b_.parts * b_.packed_part_bytes() : 0;
  }
  bool packed_is_finite(const void* packed) const {
    if (b_.parts == 1 || !b_.ahead) return true;
    const char* flags = static_cast<const char*>(packed) + flags_at();
    return std::find(flags, flags + b_.pack_tasks, 0) == flags + b_.pack_tasks;
  }

  /// What was copied inside a task stays while the other side moves. Where each task has one tile,
  /// neighbours have the same of the problem's own m, as they have in the steps round this one.
  TilePlace tile_at(std::int64_t i) const {
    const bool by_rows = b_.ahead || (b_.tiles_per_task == 1 && !variant.swapped);
    const std::int64_t inner = by_rows ? b_.col_tiles : b_.row_tiles;
    const std::int64_t outer = by_rows ? b_.row_tiles : b_.col_tiles;
    const std::int64_t x = i % inner, y = i / inner % outer;
    const std::int64_t row0 = (by_rows ? y : x) * b_.mc, col0 = (by_rows ? x : y) * b_.nc;
    return {i / (inner * outer), row0, std::min(b_.mc, b_.rows - row0), col0,
            std::min(b_.nc, b_.cols - col0)};
  }

  Blocking b_;
  std::unique_ptr<const Blocking> exact_;         // where b_ splits
  std::unique_ptr<const Definition> definition_;  // where there is padding
};

}  // namespace

std::unique_ptr<const Work> make_blocked(const Problem& problem, const Variant& variant,
                                         const Kernels& kernels) {
  return std::make_unique<Blocked>(problem, Blocking(problem, variant, kernels));
}

Contract::Contract(const Problem& problem, const Variant& variant) {
  const Decision decision = accepts(problem, variant);
  check(decision.yes, "contraction cannot use ", to_text(variant), ": ", decision.why);
  const Kernels& kernels = kernels_of(variant.isa);
  work_ = variant.winograd  ? make_winograd(problem, variant, kernels)
          : variant.sliding ? make_sliding(problem, variant, kernels)
                            : make_blocked(problem, variant, kernels);
}

Contract::Contract(std::unique_ptr<const Work> work) : work_(std::move(work)) {}

Contract::~Contract() = default;
Contract::Contract(Contract&&) noexcept = default;
Contract& Contract::operator=(Contract&&) noexcept = default;

const std::string& Contract::id() const { return work_->id; }
const Variant& Contract::variant() const { return work_->variant; }
std::int64_t Contract::scratch_bytes() const { return work_->scratch_bytes; }
std::int64_t Contract::packed_bytes() const { return work_->packed_bytes; }
std::int64_t Contract::pack_tasks() const { return work_->pack_tasks; }
std::int64_t Contract::tasks() const { return work_->tasks; }

void Contract::pack(std::int64_t task, const void* a, const void* b, void* packed,
                    void* scratch) const {
  work_->pack(task, {.a = a, .b = b, .packed = packed, .scratch = scratch});
}

void Contract::run(std::int64_t task, const void* a, const void* b, const void* packed, void* c,
                   TileSink sink, const void* context, void* scratch, bool transposed) const {
  work_->run(task, {.a = a,
                    .b = b,
                    .packed = const_cast<void*>(packed),
                    .scratch = scratch,
                    .c = c,
                    .sink = sink,
                    .context = context,
                    .transposed = transposed});
}

}  // namespace plait::cpu
