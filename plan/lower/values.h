// The values of a kernel: a node's formula at an index becomes a let, what the formula reads a
// load, a number or another let. Each is made once per index and stage.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "plan/lower/frame.h"

namespace plait::plan {

class KernelValues {
 public:
  using Guards = std::vector<loop::Guard>;

  explicit KernelValues(KernelFrame& frame) : frame_(frame) {}

  /// The element of a value at an index, as known in a stage. Where `guards` fail its value is of
  /// no account, but nothing is read.
  loop::KernelOperand value_of(ir::ValueId v, const std::vector<Dim>& index, int stage,
                               const Guards& guards);
  /// A reduction of the group, or one of its taps.
  loop::KernelOperand reduction(ir::NodeId n, const DimBindings& tap = {});

 private:
  /// Of those around a value, the guards that keep a load at this index in its buffer.
  Guards guards_of(const std::vector<Dim>& index, const Guards& guards) const;
  std::optional<double> scalar_of(ir::NodeId n) const;
  /// f64 if any takes part, f32 if any float does, else i64.
  DType compute_of(ir::NodeId n) const;
  loop::KernelOperand operand(ir::NodeId n, const loop::Access& a, const DimBindings& by, int stage,
                              const Guards& outer);
  bool is_never(const loop::KernelOperand& o) const;
  Dim loaded(ir::NodeId n, const loop::LoadedIndex& l, const DimBindings& by, int stage,
             const Guards& outer);
  Dim symbol_of_index(int let) const;
  DimBindings with_loaded(ir::NodeId n, const DimBindings& by, int stage, const Guards& outer);
  /// A node's value at an index: its formula, or its window written out.
  int point(ir::NodeId n, const std::vector<Dim>& index, int stage, const Guards& guards);
  /// Only the loads that `e` reads; `renumbered_` is `e` over them.
  void add_operands_of(ir::NodeId n, const loop::Expr& e, const DimBindings& by, int stage,
                       const Guards& guards, loop::Let& let);
  /// A product that is summed. One that lies on padding is left out, as on the reference: infinity
  /// times the zero of the padding would be NaN.
  loop::KernelOperand term(ir::NodeId n, const DimBindings& by, int stage, const Guards& outer);
  /// A sum of few products, one statement after the other, so that several go on side by side.
  int window_of_products(ir::NodeId n, const DimBindings& by, const Guards& guards, loop::Let let);
  int once(const loop::KernelOperand& o, DType dtype, int stage, const std::string& key);

  KernelFrame& frame_;
  std::map<std::string, int> made_;
  std::map<std::string, int> reductions_;
  loop::Expr renumbered_;
  int indices_ = 0;
};

}  // namespace plait::plan
