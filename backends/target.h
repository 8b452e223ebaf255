// The half of the seam that planning sees: what a backend offers, the code of calls as text, and
// the choice of an implementation with its reasons. It needs no device.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/device_model.h"
#include "base/error.h"
#include "ir/graph.h"
#include "loop/contraction.h"
#include "loop/kernel.h"
#include "ops/op.h"
#include "program/program.h"

namespace plait {

using program::Function;
using program::HandCall;
using program::LoopCall;
using program::ProductCall;
using program::TuningResults;

/// What a call is expected to take, without a step's own time, and what it is bound by.
struct Predicted {
  double seconds = 0;
  std::string bound;  // products, memory, cache, operations, or `measured`
};

/// An implementation that was chosen, and those it was chosen over.
struct Choice {
  std::string kernel;                 // id: every step of a program carries one
  std::string variant;                // what the code needs to know to build it again
  std::string why;                    // for the decision log
  std::int64_t shared_bytes = 0;      // workspace of the step
  std::int64_t thread_bytes = 0;      // workspace per thread
  std::int64_t persistent_bytes = 0;  // packed weights, for as long as the program lives
  bool generated = false;             // as loops
  bool fused = false;                 // does what the epilogue does: none is printed
  /// The product is left in the workspace as this dtype, placed as the result would be; the
  /// epilogue is a kernel of its own that reads it there.
  std::optional<DType> separate_epilogue{};
  bool epilogue_along_m = false;  // an epilogue had better run along m: see Part::epilogue_along_m
  Predicted predicted{};
};

/// What a call does, at the end of its symbols' ranges: what its seconds are computed from.
struct Work {
  double operations = 0;  // of a contraction or a hand kernel; loops say theirs themselves
  double bytes = 0;       // of what it reads and writes, each value once
};

/// What choices are made by, besides rules.
struct Tuning {
  bool measure = false;   // time the candidates
  TuningResults given{};  // of the planning that is repeated
  TuningResults used{};   // those that choices were made by
};

/// Printed code of one kernel, with the call that runs it.
struct PrintedLoop {
  LoopCall call;           // arguments are filled in by the caller
  std::string text;        // of the function or functions
  std::string schedule{};  // how its points are dealt out, for the decision log
};

/// Products of one shape, bare or each with a kernel behind it, as one launch: how a call is
/// printed, how many make one launch, and the workspace of each.
struct GroupedLaunch {
  PrintedLoop print;
  int most = 0;
  std::int64_t shared_bytes = 0;
  Predicted predicted{};  // of each of them
};

class Runtime;  // backends/runtime.h

class Target {
 public:
  virtual ~Target() = default;
  virtual std::string_view name() const = 0;
  /// What the code depends on besides the program: instruction sets, compiler.
  virtual std::string identity() const = 0;
  /// The build of the code that plans for it, where it is no part of the program.
  virtual std::string build() const { return ""; }
  virtual int threads() const = 0;
  /// What costs are computed from.
  virtual const DeviceModel& device() const = 0;
  /// Streams that its steps may run on, at most.
  virtual int streams() const { return 1; }
  /// Programs are the graph as it is: a step per node, by hand, composites whole; states are
  /// replaced together, behind the last of them.
  virtual bool is_node_by_node() const { return false; }
  /// Whether it has a kernel for an op that is not loops.
  virtual Decision has_hand(const std::string& op) const = 0;
  /// Whether it runs this composite whole; why not, where it has a kernel that cannot.
  virtual Decision keeps(const NodeView&) const { return Decision::forbid(""); }

  /// `fixed`: sizes that are numbers stand in the text.
  virtual PrintedLoop print(const loop::Kernel& kernel, bool fixed) const = 0;
  /// `variant` is that of a choice that said `generated`; empty: the first that serves.
  virtual PrintedLoop print(const loop::Contraction& contraction, const loop::Kernel* epilogue,
                            bool fixed, const std::string& variant) const = 0;

  /// `largest` binds every symbol to the end of its range. What follows the contraction is
  /// `epilogue`; null: the product is the result.
  virtual Choice choose(const loop::Contraction& contraction, const loop::Kernel* epilogue,
                        bool b_constant, const Work& work, const DimBindings& largest,
                        Tuning& tuning) const = 0;
  virtual Choice choose(const LoopCall& call, const Work& work,
                        const DimBindings& largest) const = 0;
  /// For a part that is the whole product, bare, or whose product is left apart; nothing where one
  /// launch of several is no faster.
  virtual std::optional<GroupedLaunch> grouped_launch(const ProductCall::Part&, bool /*bare*/,
                                                      const DimBindings&) const {
    return std::nullopt;
  }
  virtual Choice choose(const HandCall& call, const Work& work,
                        const DimBindings& largest) const = 0;

  /// Adds the texts that a placed program needs besides those of its loops: hand kernels, the one
  /// function of a small program. Behind it, loading compiles and binds and prints nothing.
  virtual void add_code(program::Program&) const {}

  /// The half that runs what is planned here. UserError when this machine has no such device.
  virtual std::unique_ptr<Runtime> open() const = 0;
  /// Its device with the rates that were measured on it, and no others: at the first call, then
  /// kept. Nothing where the processor computes.
  virtual std::optional<DeviceModel> measured() const { return std::nullopt; }
  /// How products of f32 multiply, as DeviceModel names it.
  virtual std::string f32_products() const { return "f32"; }
};

}  // namespace plait
