// Builder: a graph under construction. Infers types as nodes are added, remembers the module path
// and the line of source. Not movable: tensors point to it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "ops/op.h"
#include "ops/tensor.h"

namespace plait {

class Builder {
 public:
  explicit Builder(std::string graph_name);
  /// Continues a graph that exists.
  explicit Builder(ir::Graph graph);
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  Tensor feed(std::string name, DType dtype, Shape shape);
  /// The content of a state before the step; declared on first use.
  Tensor state(const ir::State& state);
  Tensor constant(const Array& value);
  /// One number; UserError where `dtype` cannot hold it.
  Tensor constant(double value, DType dtype);
  /// A tensor filled with one number.
  Tensor full(double value, DType dtype, const Shape& shape);
  Tensor value(ir::ValueId id) { return {this, id}; }

  void next(const std::string& state, const Tensor& value);
  void fetch(std::string name, const Tensor& value);

  /// Appends a node: checks operand count, dtypes and attributes, infers types. UserError as
  /// `[op] ...` when they do not fit.
  std::vector<Tensor> add(const Op& op, const std::vector<Tensor>& operands, ir::Attrs attrs,
                          ir::Source source = {}, std::vector<std::string> names = {});
  /// The same with an op by name; UserError with the nearest name when there is none.
  std::vector<Tensor> add(std::string_view op, const std::vector<Tensor>& operands,
                          ir::Attrs attrs = {});
  /// An op that Plait lacks, with the types it was said to have.
  std::vector<Tensor> add_opaque(std::string name, const std::vector<Tensor>& operands,
                                 ir::Attrs attrs, const std::vector<ir::Type>& types);

  const ir::Graph& graph() const { return graph_; }
  ir::Graph& graph() { return graph_; }
  /// The finished graph; the builder is empty afterwards.
  ir::Graph take() { return std::move(graph_); }

  /// While set, nodes get this source instead of the caller's line: a gradient's nodes point to
  /// the line that made the forward node, or nowhere if it has none.
  void set_source(std::optional<ir::Source> source) { source_ = std::move(source); }
  const std::string& path() const { return path_; }
  void set_path(std::string path) { path_ = std::move(path); }
  /// The key of random ops: state `rng` = (seed, step), advanced once per run.
  Tensor random_key();
  /// A number for a random node's `stream`, unique in this graph.
  std::int64_t next_stream();

 private:
  ir::Graph graph_;
  std::string path_;
  std::optional<ir::Source> source_;
  std::int64_t streams_ = 0;
};

/// Nodes made while a Scope lives stand under `path.name`.
class Scope {
 public:
  Scope(Builder& b, const std::string& name) : builder_(b), outer_(b.path()) {
    if (!name.empty()) b.set_path(outer_.empty() ? name : outer_ + "." + name);
  }
  ~Scope() { builder_.set_path(outer_); }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  Builder& builder_;
  std::string outer_;
};

/// The name of the state that keys random ops: i64[2] = (seed, step).
inline constexpr std::string_view kRandomState = "rng";

}  // namespace plait
