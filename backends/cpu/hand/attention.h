// Attention's kernels on plain sizes, strides and pointers: what they are given, and the blocked
// forward and backward on the contraction engine's tiles. A block of keys by a panel of queries is
// in cache at a time; no T x S exists. Scores stand with keys as rows and queries as columns, so
// that each lane of a vector is a query.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/cpu/contract/contract.h"
#include "backends/cpu/contract/kernels.h"
#include "backends/cpu/hand/hand.h"
#include "base/dtype.h"
#include "ops/op.h"

namespace plait::cpu {

struct AttentionLanes;  // attention_lanes.h

/// Elements from one batch, head and row to the next; a row's elements lie together.
struct RowStrides {
  std::int64_t batch = 0, head = 0, row = 0;
};

/// Which mask is added (f32, f16, bf16, f64) or says what is seen (boolean).
struct AttentionMask {
  bool present = false;
  DType dtype = DType::boolean;
  std::vector<std::int64_t> batch;          // where each batch begins, elements
  std::int64_t head = 0, row = 0, key = 0;  // steps; 0 where it broadcasts
};

/// One attention. Rows i of q see keys j of an interval: see seen_keys.
struct AttentionShape {
  bool backward = false;
  DType dtype = DType::f32;
  std::int64_t batch = 1, heads = 1, kv_heads = 1, queries = 0, keys = 0, depth = 0,
               value_depth = 0;
  RowStrides q, k, v, y, dy, dq, dk, dv;  // lse is [batch, heads, queries]
  double scale = 1;
  bool causal = false;
  std::int64_t offset = 0, window = 0;  // window 0: none
  bool slopes = false;                  // ALiBi
  DType slopes_dtype = DType::f32, lse_dtype = DType::f32, dlse_dtype = DType::f32;
  AttentionMask mask;
  std::int64_t documents = 0, documents_batch = 0;  // offsets of documents, and a batch's step
  bool wide_documents = true;                       // i64, not i32
  double dropout = 0;
  std::uint32_t stream = 0;
};

/// What one call reads and writes; null where there is none, or nobody reads it.
struct AttentionOperands {
  const void *q = nullptr, *k = nullptr, *v = nullptr, *mask = nullptr;
  const void *slopes = nullptr, *documents = nullptr;                       // slopes: [heads]
  const std::int64_t* key = nullptr;                                        // [2]: seed, step
  const void *y = nullptr, *lse = nullptr, *dy = nullptr, *dlse = nullptr;  // of the backward
  void *y_out = nullptr, *lse_out = nullptr;
  void *dq = nullptr, *dk = nullptr, *dv = nullptr;
};

/// Those of a node of either op with sizes that are numbers, without gaps; and of a call of it,
/// where `count` operands are given.
AttentionShape attention_shape(const NodeView& node);
AttentionOperands attention_operands(bool backward, int count, const void* const* inputs,
                                     void* const* outputs);

/// Queries first .. first + count - 1 see keys [lo, hi) each; both rise with the query. An empty
/// interval may have hi < lo.
void seen_keys(const AttentionShape& shape, const void* documents, std::int64_t batch,
               std::int64_t first, std::int64_t count, std::int32_t* lo, std::int32_t* hi);

/// A number of a float dtype.
double number_at(const void* numbers, DType dtype, std::int64_t i);

/// Sizes of the blocks, by the shape and the kernels only.
struct AttentionBlocking {
  AttentionBlocking(const AttentionShape& shape, const Kernels& kernels,
                    const AttentionLanes& lanes);

  /// Other kernels for the same blocks.
  void use(const Kernels& kernels, const AttentionLanes& lanes);
  std::int64_t query_blocks() const;
  std::int64_t chunks() const;

  AttentionShape shape;
  const Kernels* kernels;
  const AttentionLanes* lanes;
  const TileShape* tile;
  bool pairs;                       // operands are bf16, or split into
  int parts;                        // so many of them
  std::int64_t width;               // of a panel of queries
  std::int64_t element_bytes;       // of an operand as it is multiplied,
  std::int64_t depth, value_depth;  // and its sizes
  std::int64_t query_block, key_block;
  std::int64_t chunk;  // keys of a task of the backward, a multiple of key_block
  bool biased;         // scores are changed before their softmax
  float factor;        // what the softmax multiplies scores by before it takes powers of 2
  float to_scores;     // what the softmax takes is multiplied by this to be scores
};

/// With the best kernels of the instruction set for the dtype, which is not f64.
AttentionBlocking attention_blocking(const AttentionShape& shape, Isa isa);

/// The node's kernel with other sizes or instructions than make_attention's.
std::unique_ptr<HandKernel> attention_kernel(const NodeView& node, AttentionBlocking blocking);

/// run is false where an operand that is split is not finite, and what it wrote says nothing: the
/// task is to be run by a blocking that splits nothing, which cuts the same tasks.
class AttentionForward {
 public:
  explicit AttentionForward(AttentionBlocking blocking) : b_(std::move(blocking)) {}
  std::int64_t tasks() const;
  std::int64_t scratch_bytes() const;
  bool run(std::int64_t task, const AttentionOperands& operands, void* scratch) const noexcept;

 private:
  AttentionBlocking b_;
};

/// Where keys are cut into chunks, all tasks come before the finishing ones, which sum dq.
class AttentionBackward {
 public:
  explicit AttentionBackward(AttentionBlocking blocking) : b_(std::move(blocking)) {}
  std::int64_t tasks() const;
  std::int64_t scratch_bytes() const;
  std::int64_t shared_bytes() const;
  bool run(std::int64_t task, const AttentionOperands& operands, void* scratch,
           void* shared) const noexcept;
  std::int64_t finish_tasks() const;
  void finish(std::int64_t task, const AttentionOperands& operands, void* shared) const noexcept;

 private:
  AttentionBlocking b_;
};

/// f64, row by row.
void attention_rows(const AttentionShape& shape, std::int64_t batch, std::int64_t head,
                    const AttentionOperands& operands, void* scratch) noexcept;
void attention_backward_rows(const AttentionShape& shape, std::int64_t batch, std::int64_t kv_head,
                             const AttentionOperands& operands, void* scratch) noexcept;

}  // namespace plait::cpu
