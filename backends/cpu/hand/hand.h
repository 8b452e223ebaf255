// Hand kernels: the ops that are no loop nest (scans, scatters, random draws, argmax), written out
// for the CPU. One table, looked up by op; a kernel is made for a node whose sizes are numbers.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "ops/op.h"

namespace plait::cpu {

/// What a kernel may write besides its outputs, 64-byte aligned: the running thread's scratch, and
/// the step's workspace, which all tasks share.
struct HandMemory {
  void *scratch, *shared;
};

/// A node's kernel for fixed sizes. run() and finish() may be called for different tasks from
/// several threads at once; they allocate nothing, and the tasks write disjoint parts of the
/// outputs and of the shared workspace.
class HandKernel {
 public:
  virtual ~HandKernel() = default;

  /// By sizes only, never by thread count. 0 when there is nothing to write.
  virtual std::int64_t tasks() const = 0;

  virtual std::int64_t scratch_bytes() const { return 0; }
  virtual std::int64_t shared_bytes() const { return 0; }

  /// inputs, outputs: row-major buffers in the node's order; null for an operand left out or an
  /// output nobody reads. Outputs never alias inputs. Returns null, or what is wrong (an index out
  /// of range) in the reference's words; the text stays as it is until this thread's next run().
  virtual const char* run(std::int64_t task, const void* const* inputs, void* const* outputs,
                          const HandMemory& memory) const noexcept = 0;

  /// Tasks that begin when all of run() have ended.
  virtual std::int64_t finish_tasks() const { return 0; }
  virtual void finish(std::int64_t /*task*/, const void* const* /*inputs*/,
                      void* const* /*outputs*/, const HandMemory& /*memory*/) const noexcept {}
};

struct HandEntry {
  std::string_view op;
  std::string_view id;  // the kernel id a step carries
  std::unique_ptr<HandKernel> (*make)(const NodeView& node);
};

/// Null when the op has no hand kernel.
const HandEntry* find_hand(std::string_view op);

}  // namespace plait::cpu
