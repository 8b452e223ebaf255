// One node of the document as nodes of a graph: what each op means in Plait's ops.
#pragma once

#include <string>
#include <vector>

#include "io/aicf/record.h"
#include "ops/builder.h"

namespace plait::io::aicf {

struct Step {
  Builder& b;
  const Node& node;
  std::vector<Tensor> in;          // contents of the cells it reads
  std::vector<std::string> names;  // for its results
  std::vector<ir::Type> types;     // of its results, as the document says
  ir::Source source{};             // its line
  Tensor count{};                  // AdamStep: the step, i64[], where BiasCorr's betas are its own
};

/// The results of the node. UserError `[op] ...` when they do not have the types that the document
/// says.
std::vector<Tensor> step_results(const Step& step);

/// One result of BiasCorr, 0 or 1: 1 / (1 - beta^step).
Tensor bias_correction(const Step& step, int output);

/// A counter as adam_update wants it: i64[].
Tensor as_count(const Tensor& step);

}  // namespace plait::io::aicf
