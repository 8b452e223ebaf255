// What the log's plan costs one process: its share of every tensor, how long each is needed, what
// changing layouts costs, and the matrix products that all processes repeat.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "io/oneflow/final.h"
#include "io/oneflow/record.h"
#include "report/memory.h"

namespace plait::report {

/// Bytes that one process holds of a tensor: split axes are divided, rounded up.
std::int64_t share_bytes(const io::oneflow::Blob& blob, const io::oneflow::Placement& placement);

struct OneflowPlan {
  /// The tensors of one process on its accelerator, states left out, over the order of execution;
  /// what a change of layout makes is a buffer too. Views own nothing.
  std::vector<Buffer> buffers;
  std::int64_t state_bytes = 0;
};
/// For the lowest rank of the placements on `device`.
OneflowPlan plan_of(const io::oneflow::Record& record,
                    const std::vector<const io::oneflow::Operator*>& order,
                    const std::vector<io::oneflow::HiddenInput>& hidden, const std::string& device);

/// A tensor that is read in another layout than it is made in.
struct Reboxing {
  std::string tensor;
  std::string from, to;                 // `S(0)`, `B`
  std::string name;                     // `all-gather`
  std::int64_t bytes = 0;               // of the whole tensor
  const io::oneflow::Operator* reader;  // the first
};
std::vector<Reboxing> reboxings(const std::vector<const io::oneflow::Operator*>& order);

/// A matrix product of the tree.
struct Product {
  const io::oneflow::Operator* op;
  std::string type;
  std::int64_t operations = 0;
  bool replicated = false;  // several ranks, and every operand and result whole on each
};
std::vector<Product> products_of(const io::oneflow::Record& record,
                                 const std::vector<const io::oneflow::Operator*>& order);

/// Whether several ranks do the same: every operand and result is whole on each.
bool is_replicated(const io::oneflow::Operator& op);

/// Types of the operators, by name.
std::map<std::string, std::string> types_of(const io::oneflow::Record& record);

}  // namespace plait::report
