// What the log says, typed, in its own words: configuration, the module tree, the traced ops, the
// compile passes, the plan's memory, the annotated tree with every operator, and the training lines.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/dtype.h"
#include "base/shape.h"
#include "ir/place.h"

namespace plait::io::oneflow {

/// Where something stands in the document. Not part of what it says: comparisons ignore it.
struct LineNumber {
  std::int64_t number = 0;
  bool operator==(const LineNumber&) const { return true; }
};
struct FileName {
  std::string text;
  bool operator==(const FileName&) const { return true; }
};

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

// --- layouts ----------------------------------------------------------------------------------

struct Placement {
  std::string device;  // `cuda`
  std::vector<int> ranks;
  Sizes mesh;  // sizes of the axes; {ranks.size()} for a plain list
  bool operator==(const Placement&) const = default;
};

using Layouts = std::vector<ir::Layout>;  // one per mesh axis

// --- traced ops -------------------------------------------------------------------------------

/// `at_int64: 3`, `at_shape { dim: 8 }`: how the log calls it, and what it holds.
struct Attribute {
  std::string key, kind;
  std::variant<bool, std::int64_t, double, std::string, DType, Sizes, std::vector<double>,
               std::vector<std::string>>
      value;
  bool operator==(const Attribute&) const = default;
};

/// The tensors of one named operand or result: `<op>/<out>_<i>`.
struct Port {
  std::string key;
  std::vector<std::string> tensors;
  bool operator==(const Port&) const = default;
};

struct Blob {
  Sizes shape;
  DType dtype = DType::f32;
  Layouts layouts;
  bool operator==(const Blob&) const = default;
};

enum class OpKind { kInput, kVariable, kOutput, kUser };

struct TracedOp {
  OpKind kind = OpKind::kUser;
  std::string name, device, loc;
  std::int64_t scope = 0;
  std::string type;                  // op_type_name of a user op
  std::vector<Port> inputs, outputs;  // in the order of input_order and output_order
  std::vector<Attribute> attributes;
  std::optional<Blob> blob;  // of inputs, variables and outputs
  LineNumber line;
  bool operator==(const TracedOp&) const = default;
};

// --- tensors, modules and operators as the tree writes them -------------------------------------

struct TensorNote {
  enum Kind { kInput, kOutput, kParameter, kBuffer } kind = kInput;
  std::string name;
  Placement placement;
  Blob blob;
  std::vector<std::string> remarks;  // `is_lazy='True'`, `grad_fn=<add_n_backward>`
  LineNumber line;
  bool operator==(const TensorNote&) const = default;
};

struct ModuleNote {
  std::string name, type;  // `model.emb`, `VocabEmbedding(num_embeddings=6064)`
  bool operator==(const ModuleNote&) const = default;
};

struct Operand {
  std::string tensor;
  Blob blob;
  int list = 0;       // operands of one bracketed list share a number; 0: not in a list
  bool bare = false;  // written without parentheses of its own, as ops of the system are
  bool operator==(const Operand&) const = default;
};

struct Operator {
  std::string name;
  std::vector<Operand> inputs, outputs;
  std::string attributes;  // as text; only in trees of ours
  Placement placement;
  LineNumber line;
  bool operator==(const Operator&) const = default;

  /// The full name of an output: `out` of `w` is `w/out`.
  std::string tensor_of(const Operand& output) const;
};

struct ConfigNote {
  std::string text;
  bool operator==(const ConfigNote&) const = default;
};

/// A line of the annotated tree, `depth` modules down.
struct TreeLine {
  int depth = 0;
  std::variant<ConfigNote, ModuleNote, TensorNote, Operator> what;
  bool operator==(const TreeLine&) const = default;
};

struct Tree {
  std::string name, type;  // `(GRAPH:name:type): (`
  std::vector<TreeLine> lines;
  LineNumber line;
  bool operator==(const Tree&) const = default;
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
  std::vector<TensorNote> tensors;      // while tracing
  std::vector<ModuleNote> module_notes;  // while tracing
  std::vector<std::string> half_ops;     // what mixed precision runs in half
  std::vector<Pass> passes;
  std::optional<double> build_seconds, compile_seconds, plan_seconds;
  std::vector<RankMemory> memory;
  std::vector<MemoryBlock> blocks;
  std::optional<Tree> tree;
  std::vector<TrainLine> training;
  std::vector<std::string> ending;  // a signal, a failed check
  std::vector<std::string> missing;  // sections that the log does not have, a phrase each
  bool operator==(const Record&) const = default;

  /// The operators of the tree, in its order.
  std::vector<const Operator*> operators() const;
};

}  // namespace plait::io::oneflow
