// cuDNN's plans: of an engine, or of the engine that an id names. Of the latter equal convolutions
// share one, for as long as any of them lives: making a plan takes long.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

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

/// All that a plan depends on: two wishes with one key share one.
std::string plan_key(const DnnWish& wish);

/// The plan that the problem's variant names, made or shared. RunError in cuDNN's words. A thread
/// that makes plans beside others has a handle of its `own`: no two threads may use one.
std::shared_ptr<const NamedPlan> named_plan(const DnnApi& api, const DnnWish& wish,
                                            const DnnHandle& own = nullptr);

}  // namespace plait::cuda
