// Reverse-mode differentiation: graph in, graph out. Gradients are ordinary nodes, so that they can
// be differentiated again.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ops/builder.h"

namespace plait {

struct DifferentiateOptions {
  /// Per op name, the `saves` of the gradient rule to use instead of the first.
  std::map<std::string, std::string, std::less<>> rules;
};

/// Appends the gradient of sum(y * cotangent) with respect to each of `wrt`; zeros where nothing
/// depends on it. UserError names the node on the way that has no gradient.
std::vector<Tensor> gradients(const std::vector<Tensor>& ys, const std::vector<Tensor>& cotangents,
                              const std::vector<Tensor>& wrt,
                              const DifferentiateOptions& options = {});

/// What flows back from one value.
struct GradientFlow {
  std::vector<Tensor> grads;   // one per `wrt`; none where no gradient reaches
  std::vector<bool> received;  // by the ids of values before: a gradient reached it
};
/// Appends the gradient of sum(y * cotangent) as gradients() does, but no zeros.
GradientFlow gradient_flow(const Tensor& y, const Tensor& cotangent, const std::vector<Tensor>& wrt,
                           const DifferentiateOptions& options = {});

/// UserError unless it is a float scalar.
void check_loss(const Tensor& loss);

/// The same as gradients() for a scalar loss, with cotangent 1.
std::vector<Tensor> grad(const Tensor& loss, const std::vector<Tensor>& wrt,
                         const DifferentiateOptions& options = {});

/// The pass: fetches `d_NAME` for every trained state, of the graph's first fetch, a float scalar.
ir::Graph differentiate(const ir::Graph& graph);

}  // namespace plait
