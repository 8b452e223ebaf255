// What nodes of ours are one op of the format: looking back from a value through the nodes that
// made it. Matching only; what is written is decided in from_graph.cpp.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "ir/graph.h"
#include "ops/op.h"

namespace plait::io::aicf {

/// A matched pattern: the nodes that it covers, the last one included.
struct Match {
  std::vector<ir::NodeId> nodes;
};

class Patterns {
 public:
  explicit Patterns(const ir::Graph& graph) : g_(graph) {}

  /// x, w, bias or kNone: linear, or a product with w transposed.
  struct Layer : Match {
    ir::ValueId x, w, bias, y;
  };
  std::optional<Layer> layer(ir::NodeId node) const;

  /// where(saved > 0, dy, 0).
  struct ReluBwd : Match {
    ir::ValueId dy, saved;
  };
  std::optional<ReluBwd> relu_bwd(ir::NodeId node) const;

  /// (pred - target) * scale, halves widened before and rounded behind.
  struct MseGrad : Match {
    ir::ValueId pred, target;
    double scale;
    bool by_default;  // 2 / elements, as the format computes it when nothing is said
  };
  std::optional<MseGrad> mse_grad(ir::NodeId node) const;

  /// dy * w or dy^T * x, told apart by `transposed`.
  struct Product : Match {
    ir::ValueId dy, other, result;
    bool transposed;
  };
  std::optional<Product> product(ir::NodeId node) const;

  /// Sums over the rows of dy, as [n].
  struct RowSum : Match {
    ir::ValueId dy, result;
  };
  std::optional<RowSum> row_sum(ir::NodeId node) const;

  /// A state plus one.
  struct Increment : Match {
    ir::ValueId step;
  };
  std::optional<Increment> increment(ir::NodeId node) const;

  /// 1 / (1 - beta^step), rounded behind.
  struct Correction : Match {
    ir::ValueId step;
    double beta;
  };
  std::optional<Correction> correction(ir::ValueId value) const;

  /// Adam with its corrections as scalars, written out: what AdamStep means where no adam_update
  /// can say it. Ends at the next value of p.
  struct Adam : Match {
    ir::ValueId p, g, m, v, bc1, bc2;
    ir::ValueId next_m, next_v;  // before they are rounded
    double lr, beta1, beta2, eps;
  };
  std::optional<Adam> adam(ir::NodeId node) const;

  /// What a counter is before casts and reshapes, which are added to `covered`.
  ir::ValueId bare_count(ir::ValueId value, Match& covered) const;
  /// The number that a scalar is: a constant, or a state that starts as one and never changes.
  std::optional<double> number(ir::ValueId value, Match& covered) const;

 private:
  const ir::Node* maker(ir::ValueId value, const Op& op) const;
  /// The operand of a cast; the value itself when no cast made it.
  ir::ValueId before_cast(ir::ValueId value, Match& covered) const;
  /// The operands of the node that made the value, where it is of this op, two of them; covers it.
  std::optional<std::pair<ir::ValueId, ir::ValueId>> pair(ir::ValueId value, const Op& op,
                                                          Match& covered) const;
  /// A value times a constant.
  struct Scaled {
    ir::ValueId value;
    double by;
  };
  std::optional<Scaled> scaled(ir::ValueId value, Match& covered) const;
  /// old * beta + change * (1 - beta).
  struct Average {
    ir::ValueId old, change;
    double beta;
  };
  std::optional<Average> average(ir::ValueId value, Match& covered) const;
  /// The number that constants make of a scalar, in at most `depth` steps.
  std::optional<double> constant(ir::ValueId value, Match& covered, int depth = 4) const;

  const ir::Graph& g_;
};

}  // namespace plait::io::aicf
