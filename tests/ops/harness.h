// The op harness: every op of the table on every sample of its entry. Forward against an oracle in
// double precision; each gradient rule against central differences and by the dot-product test;
// what a rule saves; the gradient's own gradient; symbolic sizes. An op needs no test of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ops/samples.h"
#include "tests/ops/oracle.h"

namespace plait {

/// What an op computes, in double precision, by its entry's `exact` or the oracle of its family;
/// nothing when it has neither (the harness fails then).
std::optional<std::vector<Array>> oracle_result(const NodeView& node,
                                                const std::vector<const Array*>& inputs);

/// The dtypes that a sample's f32 stands for: all floats the op takes, or f32 alone when the sample
/// has no float operand.
std::vector<DType> float_dtypes(const Op& op, const Sample& sample);

/// Runs a graph whose values are all numbers; feeds in order, all fetches out.
std::vector<Array> run_graph(const ir::Graph& graph, const std::vector<Array>& feeds);

/// Largest |a-b| / max(1, |b|) over two arrays; NaN equals NaN, and infinities equal themselves.
/// Infinity when shapes differ or only one is NaN.
double largest_error(const Array& a, const Array& b);

/// How far a result of this dtype may be from double precision: rounding once to the dtype, and
/// the f32 steps inside a formula.
double tolerance(DType dtype);

/// f(x) = sum over float outputs of <c_k, y_k> for a sample, with fixed random cotangents c: its
/// gradient by a rule, in f64.
struct GradientCase {
  ir::Graph forward;            // fetches: the scalar f
  ir::Graph backward;           // fetches: gradient per differentiable feed
  ir::Graph second;             // fetches: <d, gradients>, and their gradients; empty when none
  std::vector<int> wrt;         // which feeds
  std::set<std::string> reads;  // what the rule read
  std::string no_second;        // why there is no gradient of the gradient
};

/// Nothing when no float output depends on a float operand.
std::optional<GradientCase> gradient_case(const Op& op, const Sample& sample, const GradRule& rule);

/// The backward graph alone with floats of dtype `real`; the cotangents are exact in
/// every dtype. Nothing as above.
std::optional<ir::Graph> backward_graph(const Op& op, const Sample& sample, const GradRule& rule,
                                        DType real);

}  // namespace plait
