// The annotated tree as a graph: every operator that was left after the passes, with layouts,
// dtypes and placements, in an order that can be executed. It cannot be run: its nodes are opaque.
#pragma once

#include "io/import.h"
#include "io/oneflow/names.h"
#include "io/oneflow/record.h"
#include "io/oneflow/sizes.h"

namespace plait::io::oneflow {

/// The graph `final`. Shapes follow the named sizes where `traced` (may be null) has them. Adds
/// notes to `import`. UserError when operators wait for each other.
ir::Graph final_graph(const Record& record, const Names& names, const NamedSizes& sizes,
                      const ir::Graph* traced, Import& import);

/// What a name says about the type of an operator that was not traced.
std::string type_by_name(const Operator& op);

/// A sum that a pass fused into the op before it: the tree does not show that op's third operand.
struct HiddenInput {
  const Operator* op;  // what makes the sum now
  std::string tensor;  // what it adds
  std::string sum;     // the traced add_n that is gone
};
std::vector<HiddenInput> hidden_inputs(const Record& record);

/// The operators in an order of execution: as their names number them, others where they are first
/// possible or needed.
std::vector<const Operator*> execution_order(const Record& record,
                                             const std::vector<HiddenInput>& hidden);

}  // namespace plait::io::oneflow
