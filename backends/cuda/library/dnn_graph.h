// A convolution with what follows it as cuDNN's operation graph, and the engines that run it.
#pragma once

#include <string>
#include <vector>

#include "backends/cuda/library/calls.h"
#include "backends/cuda/library/descriptor.h"

namespace plait::cuda {

/// What a plan's addresses are given by: A, B, C of the contraction, the epilogue's two.
enum DnnOperand : std::int64_t {
  kOperandA = 1,
  kOperandB,
  kOperandC,
  kOperandBias,
  kOperandResidual
};

struct DnnGraph {
  std::vector<Descriptor> pieces;  // tensors and operations that the graph is made of
  Descriptor graph;
};

DnnGraph make_dnn_graph(const DnnApi& api, cudnnHandle_t handle, const Convolution& convolution,
                        const LibraryProblem& problem);

/// An engine with its settings.
struct DnnEngine {
  Descriptor config;
  std::string text;  // engine, then pairs of setting and value: see words_text
};

/// Those that the options allow, in cuDNN's order, the sure ones behind the fast ones.
std::vector<DnnEngine> find_engines(const DnnApi& api, const DnnGraph& graph,
                                    const LibraryProblem& problem);
/// The one that a text names.
DnnEngine engine_from(const DnnApi& api, const DnnGraph& graph, const std::string& text);

}  // namespace plait::cuda
