// One forward operation while it is made into nodes: a small graph of its own, so that what does
// not fit leaves no trace. Operands whose shape no one knows yet get it from the function that
// reads them first. UserError from anything here means: this record does not fit the function.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "io/chainer/record.h"
#include "ops/builder.h"

namespace plait::io::chainer {

/// What a feed or a parameter becomes once its shape is known.
struct Resolved {
  ir::Type type;
  ir::Init init;
};

/// A variable as a function finds it.
struct Known {
  std::optional<ir::Type> type;  // nothing while its shape is not known
  std::optional<Shape> guess;    // of a feed whose shape nothing says
  bool parameter = false;
};

/// The sizes of the document that have names: the symbols, and their numbers there.
struct NamedSizes {
  std::map<std::string, Dim> symbols;
  DimBindings numbers;
  /// The symbol of this name if it stands for n, else n.
  Dim named(const std::string& name, std::int64_t n) const;
};

class Call {
 public:
  /// `real` is the float type that bytes are counted in.
  Call(const Record& record, const Operation& op, const std::vector<Known>& variables,
       const NamedSizes& sizes, DType real, std::int64_t stream);

  Builder b{"call"};
  const Operation& op;

  int count() const { return static_cast<int>(op.inputs.size()); }
  int outputs() const { return static_cast<int>(op.outputs.size()); }
  DType real() const { return real_; }

  /// Operand i; a feed of unknown shape takes its guess, and it is noted that it was asked for.
  Tensor in(int i);
  /// The guess for operand i, noted likewise.
  std::optional<Shape> guess(int i);
  bool known(int i) const;
  bool is_parameter(int i) const {
    return variables_[static_cast<std::size_t>(variable(i))].parameter;
  }
  /// Operand i, which becomes a value of this type if its shape is not known. UserError when it has
  /// another number of bytes, or is known to be something else.
  Tensor as(int i, const Shape& shape, std::optional<DType> dtype = {}, ir::Init init = {});
  /// Operand i with the shape of operand `other`, if it is not known yet.
  Tensor like(int i, int other);
  std::int64_t bytes(int i) const;
  std::int64_t out_bytes(int i = 0) const;
  /// How many floats its bytes hold; UserError when they hold no whole number.
  std::int64_t elements(int i) const { return floats(bytes(i)); }
  std::int64_t out_elements(int i = 0) const { return floats(out_bytes(i)); }

  std::int64_t number(const Dim& dim) const { return evaluate(dim, sizes_.numbers); }
  Sizes numbers(const Shape& shape) const { return sizes_of(shape, sizes_.numbers); }
  /// The batch by its name, if that is this number.
  Dim batch(std::int64_t n) const { return sizes_.named("batch", n); }
  /// `target`, numbers of the document, as a shape over the named sizes of `from`.
  Shape reshape_of(const Shape& from, const Sizes& target) const;

  /// The key of random numbers, and the stream of this operation.
  Tensor key();
  std::int64_t stream() const { return stream_; }

  // Attributes. UserError when one is not of its kind or out of all bounds.
  bool has(std::string_view name) const;  // there and not null
  std::int64_t integer(std::string_view name, std::optional<std::int64_t> otherwise = {}) const;
  double real_number(std::string_view name, std::optional<double> otherwise = {}) const;
  bool flag(std::string_view name, bool otherwise) const;
  std::string word(std::string_view name, std::string_view otherwise) const;
  /// A list, or one number as a list of one; empty when it is null.
  Sizes list(std::string_view name) const;

  // What it turned out to need.
  const std::map<int, ir::ValueId>& operands() const { return operands_; }  // by variable
  const std::map<int, Resolved>& resolved() const { return resolved_; }     // by variable
  const std::set<int>& asked() const { return asked_; }  // variables whose guess was used
  ir::ValueId key_value() const { return key_; }

 private:
  std::int64_t floats(std::int64_t bytes) const;
  int variable(int i) const { return op.inputs[static_cast<std::size_t>(i)].variable; }
  Tensor operand(int variable, const ir::Type& type);

  const Record& record_;
  const std::vector<Known>& variables_;
  const NamedSizes& sizes_;
  DType real_;
  std::int64_t stream_;
  std::map<int, ir::ValueId> operands_;
  std::map<int, Resolved> resolved_;
  std::set<int> asked_;
  ir::ValueId key_ = ir::kNone;
};

/// The whole number of a JSON value that is one, in the bounds of sizes.
std::optional<std::int64_t> whole(const Value& value);

/// a * b of sizes; UserError when it does not fit.
std::int64_t times(std::int64_t a, std::int64_t b);

}  // namespace plait::io::chainer
