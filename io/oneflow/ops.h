// The ops of the log, typed, in its own words: as they were traced, and as the operators, tensors
// and modules of the annotated tree.
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
  std::string type;                   // op_type_name of a user op
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

}  // namespace plait::io::oneflow
