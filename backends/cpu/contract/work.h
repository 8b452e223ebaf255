// What a Contract is made of: a way of computing with everything decided, as pack tasks and run
// tasks. The blocked products (blocking.h) are one, Winograd's convolutions (winograd.h) two more.
#pragma once

#include <memory>
#include <string>

#include "backends/cpu/contract/contract.h"
#include "backends/cpu/contract/kernels.h"

namespace plait::cpu {

/// The memory of one call: the operands, C or a sink, what was packed and this thread's scratch.
struct Operands {
  const void *a = nullptr, *b = nullptr;
  void* packed = nullptr;
  void* scratch = nullptr;
  void* c = nullptr;
  TileSink sink = nullptr;
  const void* context = nullptr;
  bool transposed = false;  // the sink wants n as the rows
};

class Work {
 public:
  virtual ~Work() = default;
  virtual void pack(std::int64_t task, const Operands& operands) const = 0;
  virtual void run(std::int64_t task, const Operands& operands) const = 0;

  std::string id;
  Variant variant;
  std::int64_t scratch_bytes = 0, packed_bytes = 0, pack_tasks = 0, tasks = 0;
};

std::unique_ptr<const Work> make_blocked(const Problem& problem, const Variant& variant,
                                         const Kernels& kernels);

}  // namespace plait::cpu
