// cuDNN's plans: of an engine, or of the engine that an id names. Of the latter equal convolutions
// share one, for as long as any of them lives: making a plan takes long.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backends/cuda/library/calls.h"
#include "backends/cuda/library/dnn_graph.h"

namespace plait::cuda {

struct DnnPlan {
  Descriptor plan;
  std::int64_t workspace = 0;  // bytes
  std::string text;            // of its engine
};

/// dnn_handle, or RunError with the reason.
DnnHandle must_have_handle();

/// RunError in cuDNN's words when the engine makes none.
DnnPlan make_dnn_plan(const DnnApi& api, cudnnHandle_t handle, const DnnEngine& engine);

/// A graph, and the plan that an id names for it.
struct NamedPlan {
  DnnHandle handle;  // that both are made with, and that runs them
  DnnGraph graph;
  DnnPlan plan;
};

/// The plan that the problem's variant names, made or shared. RunError in cuDNN's words.
std::shared_ptr<const NamedPlan> named_plan(const DnnApi& api, const DnnWish& wish);

/// Those of many at once, on several threads, each of which calls `enter` first. What cannot be
/// made is left out: named_plan tells why.
std::vector<std::shared_ptr<const NamedPlan>> named_plans(const DnnApi& api,
                                                          const std::vector<DnnWish>& wishes,
                                                          const std::function<void()>& enter);

}  // namespace plait::cuda
