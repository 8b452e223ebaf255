// What the log says, typed, in its own words: configuration, the module tree, the traced ops, the
// compile passes, the plan's memory, the annotated tree with every operator, and the training
// lines.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/oneflow/ops.h"

namespace plait::io::oneflow {

/// The time of a log line: `I20220824 02:43:24.093247`.
struct Stamp {
  std::int64_t date = 0;          // 20220824
  std::int64_t microseconds = 0;  // since midnight
  bool operator==(const Stamp&) const = default;
};
/// Over midnight too; not over two.
double seconds_between(const Stamp& start, const Stamp& finish);

// --- configuration and data -------------------------------------------------------------------

struct Config {
  std::optional<std::int64_t> rank, world_size;  // of the process that wrote the log
  std::string file;                              // of the configuration
  std::vector<std::string> lines;                // its text
  std::optional<std::int64_t> train_iter;
  bool operator==(const Config&) const = default;

  /// The last value given to `name` in the text (`train.amp.enabled` -> `True`); empty if none.
  std::string setting(const std::string& name) const;
};

struct Data {
  std::int64_t tokens = 0, unique = 0;
  bool operator==(const Data&) const = default;
};

/// A line of the printed model: `(ln1): LayerNorm((1024,), eps=1e-05)` below `depth` others.
struct Module {
  int depth = 0;
  std::string name;  // empty for the outermost
  std::string type;  // `LayerNorm`
  std::string arguments;
  bool operator==(const Module&) const = default;
};

// --- compiling, memory, training, the end -------------------------------------------------------

struct Pass {
  std::int64_t number = 0;
  std::string name;
  Stamp start;
  std::optional<Stamp> finish;  // missing where the log ends before it
  bool operator==(const Pass&) const = default;
};

/// Sizes are as printed; the log calls the unit MiB.
struct RankMemory {
  std::int64_t rank = 0, device = 0;
  double total = 0;
  std::int64_t chunk_id = 0, chunk_blocks = 0;
  double chunk = 0;
  double unshared = 0;
  std::int64_t unshared_blocks = 0;
  double states = 0;
  std::int64_t state_blocks = 0;
  bool operator==(const RankMemory&) const = default;
};

struct MemoryBlock {
  std::int64_t device = 0, chunk = 0, id = 0, tensors = 0;
  double size = 0;
  bool operator==(const MemoryBlock&) const = default;
};

struct TrainLine {
  std::string time, eta;  // `08/24 02:43:44`, `0:26:36`
  std::int64_t iteration = 0, iterations = 0, samples = 0;
  std::optional<double> loss;  // none where it is not a finite number
  double seconds = 0, data_seconds = 0, throughput = 0, lr = 0;
  bool operator==(const TrainLine&) const = default;
};

struct Record {
  FileName file;
  std::string graph;  // `GraphBase_0`; empty when the log names none
  Config config;
  std::vector<Data> data;
  std::vector<Module> modules;
  std::vector<TracedOp> ops;
  std::vector<TensorNote> tensors;       // while tracing
  std::vector<ModuleNote> module_notes;  // while tracing
  std::vector<std::string> half_ops;     // what mixed precision runs in half
  std::vector<Pass> passes;
  std::optional<double> build_seconds, compile_seconds, plan_seconds;
  std::vector<RankMemory> memory;
  std::vector<MemoryBlock> blocks;
  std::optional<Tree> tree;
  std::vector<TrainLine> training;
  std::vector<std::string> ending;   // a signal, a failed check
  std::vector<std::string> missing;  // sections that the log does not have, a phrase each
  bool operator==(const Record&) const = default;

  /// The operators of the tree, in its order.
  std::vector<const Operator*> operators() const;
};

}  // namespace plait::io::oneflow
