// Operators of MegEngine as nodes of a graph: what the rules work with. A rule is the meaning of
// one type of operator; types without a rule become opaque nodes.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "io/import.h"
#include "io/megengine/index.h"
#include "ops/builder.h"

namespace plait::io::megengine {

/// The `param` of a footprint by key; UserError at its JSON path where a value is of another kind.
class Params {
 public:
  Params(const Record& record, const Operator& op, const Footprint* footprint);
  /// Whether the document says the parameters at all.
  bool known() const { return json_ != nullptr; }
  const Json* find(std::string_view key) const;
  std::string text(std::string_view key, std::string_view missing) const;
  std::int64_t integer(std::string_view key, std::int64_t missing) const;
  double real(std::string_view key, double missing) const;
  bool boolean(std::string_view key, bool missing) const;
  const Json& json() const { return *json_; }

 private:
  [[noreturn]] void expected(std::string_view key, std::string_view what) const;
  const Json* json_ = nullptr;
  std::string path_;
};

/// Which sizes of the feeds get names.
struct Naming {
  bool batch = false;
  std::int64_t image = 0;  // the smallest image that must do; 0: it gets no name
};

/// Operators, by place in the record, that do not do what their rule says, and why.
using Misfits = std::map<int, std::string>;

/// A graph under construction, with what is known of each var.
struct Translation {
  Translation(const Index& index, Naming naming, const Misfits& misfits);

  const Index& index;
  Naming naming;
  const Misfits& misfits;    // become opaque nodes
  Misfits* found = nullptr;  // where further ones go; null: they are a UserError
  Import import;
  DimBindings bindings;  // of import, as of now
  Builder b;
  std::vector<Tensor> values;   // by var; empty where none is made
  std::vector<int> op_of_node;  // by node: the operator that it stands for

  /// The value of a var; of what the host makes only constants, feeds and known numbers have one.
  Tensor value_of(int var);
  /// A new name for what the document calls so.
  std::vector<std::string> names_for(int var);
  /// `sizes` with names, where a reshape of `from` explains them.
  Shape reshaped(const Tensor& from, const Sizes& sizes) const;
};

/// One operator of the sequence.
struct Call {
  Translation& t;
  const Operator& op;
  int at;
  Params params;
  std::vector<int> results;  // vars of its outputs, scratch left out
  int result;                // the one that a rule computes; -1 for none

  int count() const { return static_cast<int>(op.inputs.size()); }
  /// UserError when the operator has no such input.
  Tensor in(int i) const;
  /// The numbers of input i, where they are known without running.
  std::optional<std::vector<std::int64_t>> numbers(int i) const;
  /// The recorded shape of the result; UserError when there is none.
  Sizes recorded() const;
  std::optional<DType> recorded_dtype() const;
  /// A node with the name of the result.
  Tensor last(const Op& op, const std::vector<Tensor>& operands, ir::Attrs attrs = {}) const;
  template <ir::AttrStruct A>
  Tensor last(const Op& op, const std::vector<Tensor>& operands, const A& attrs) const {
    return last(op, operands, ir::encode(attrs));
  }
};

/// The result, or nothing where the operator says something that Plait cannot.
using Rule = std::optional<Tensor> (*)(Call& call);
/// Null for a type without one.
Rule rule_for(std::string_view type);

// The rules by family.
std::optional<Tensor> elemwise(Call& c);
std::optional<Tensor> convolution(Call& c);
std::optional<Tensor> conv_bias(Call& c);
std::optional<Tensor> conv_input_grad(Call& c);
std::optional<Tensor> conv_weight_grad(Call& c);
std::optional<Tensor> pooling(Call& c);
std::optional<Tensor> adaptive_pooling(Call& c);
std::optional<Tensor> batch_norm(Call& c);
/// What x is multiplied by in a hard swish: clip(x + 3, 0, 6) / 6.
Tensor hard_gate(const Tensor& x);

/// The Plait op that is one mode of Elemwise by itself, and back; null where there is none.
const Op* op_of_mode(std::string_view mode);
std::string_view mode_of_op(const Op& op);

/// A node that cannot run, with the types that were recorded.
void add_opaque(Call& c);
/// Whether the operator reads or makes a var of a dtype that Plait lacks.
bool touches_foreign(const Index& index, const Operator& op);
/// Why nodes of the graph cannot run and what stands for the dtypes that Plait lacks.
void add_opaque_notes(Translation& t);

/// An op of Plait's own table, as our writer prints it: all its outputs.
std::vector<Tensor> own_op(Call& c, const Op& op);
/// How a state of ours was written into its operator's `extra`.
void read_state_extra(const Operator& op, const std::string& file, ir::State& state);

}  // namespace plait::io::megengine
