// Lower: a group of nodes as a loop kernel. The nodes' nests are put into each other: what a node
// reads inside its group is a value of the kernel, what it reads elsewhere is a load.
#pragma once

#include <unordered_set>
#include <vector>

#include "loop/contraction.h"
#include "loop/kernel.h"
#include "plan/group/group.h"

namespace plait::plan {

/// Everything lowering looks at; it changes none of it.
struct PlanContext {
  const ir::Graph& graph;
  const Facts& facts;
  const Layouts& layouts;
  const Grouping& grouping;
  const std::unordered_set<ir::ValueId>& advanced;  // states that the graph gives a next value
};

struct Lowered {
  loop::Kernel kernel;
  std::vector<ir::ValueId> values;  // per buffer of the kernel
  bool interleaved = false;         // of a join: its rows and those of others take turns in memory
};

/// A loop group; or a contraction's group as plain loops, for what no other kernel takes.
Lowered lower_loops(const PlanContext& context, const Group& group);
/// The same for a group that begins with a join: a kernel for each operand that has elements, one
/// in any case.
std::vector<Lowered> lower_pieces(const PlanContext& context, const Group& group);

/// One contraction, or one phase of it, and the names under which its indices are known.
struct ContractPart {
  loop::Contraction contraction;
  std::vector<loop::KernelIndex> batch, m, n;  // as the contraction's axes; n has one
  std::vector<Dim> at;                         // index of each position of the group's space
};

/// A group's contraction as data.
struct Contracted {
  Decision fits = Decision::allow();                        // why not, when it is not affine
  ir::ValueId a = ir::kNone, b = ir::kNone, c = ir::kNone;  // buffers' values
  std::vector<ContractPart> parts;
};
Contracted contraction_of(const PlanContext& context, const Group& group);

/// What follows the products of one part. `along_m`: its rows are n and its inner index is m.
Lowered lower_epilogue(const PlanContext& context, const Group& group, const ContractPart& part,
                       bool along_m);
/// The same as a kernel of its own, which reads the product where the contraction's result would
/// lie, as `dtype`: its first buffer, whose value is kNone.
Lowered lower_separate_epilogue(const PlanContext& context, const Group& group,
                                const ContractPart& part, DType dtype);
/// Whether a contraction's group computes nothing but the product.
bool is_bare(const PlanContext& context, const Group& group);

}  // namespace plait::plan
