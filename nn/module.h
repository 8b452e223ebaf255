// Modules with named parameters, as a user writes a network. A module owns its parameters' names
// and initial values; calling it appends its nodes to the graph of its operands, under its path.
#pragma once

#include <deque>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ops/builder.h"
#include "ops/initializers.h"

namespace plait::nn {

class Parameter;

/// A node of the tree of modules. Members register with `this`; the tree must not move.
class Module {
 public:
  /// A root; `dtype` is that of all parameters below.
  explicit Module(DType dtype = DType::f32) : dtype_(dtype) {}
  /// A child under `parent.name`.
  Module(Module* parent, const std::string& name);
  virtual ~Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  const std::string& path() const { return path_; }
  DType dtype() const { return dtype_; }
  bool training() const { return root_->training_; }
  /// Of the whole tree: dropout draws and batch norms use and update statistics when true.
  void train(bool on = true) { root_->training_ = on; }

  /// Trained parameters of this module and those below, in order of declaration.
  std::vector<Parameter*> parameters();

 private:
  friend class Parameter;
  Module* root_ = this;
  std::string path_;
  DType dtype_;
  bool training_ = true;
  std::vector<std::pair<Module*, Parameter*>> members_;  // one of the two
  std::set<std::string> names_;                          // a root's: of all parameters below
};

/// A state with a name in the tree: a trained parameter, or a buffer such as a running mean.
class Parameter {
 public:
  /// UserError when the tree has one of this name. Its dtype is the tree's unless given.
  Parameter(Module* owner, const std::string& name, Shape shape, ir::Init init,
            ir::Role role = ir::Role::kParam, std::optional<DType> dtype = {});
  Parameter(const Parameter&) = delete;
  Parameter& operator=(const Parameter&) = delete;

  const ir::State& state() const { return state_; }
  const std::string& name() const { return state_.name; }
  /// Its value before the step, in a graph.
  Tensor in(Builder& b) const { return b.state(state_); }
  /// In the graph of `x`.
  Tensor in(const Tensor& x) const { return x.builder().state(state_); }

 private:
  ir::State state_;
};

/// Gives a module its call: net(x) runs net.forward(x) under the module's path.
template <class Self>
class ModuleOf : public Module {
 public:
  using Module::Module;
  template <class... Rest>
  auto operator()(const Tensor& x, Rest&&... rest) {
    struct At {
      Builder& b;
      std::string outer;
      ~At() { b.set_path(outer); }
    } at{x.builder(), x.builder().path()};
    at.b.set_path(path());
    return static_cast<Self*>(this)->forward(x, std::forward<Rest>(rest)...);
  }
};

/// Children of one kind under `parent.name`, called 0, 1, 2...
template <class T>
class ModuleList : public Module {
 public:
  using Module::Module;
  /// Appends T(this, number, args...).
  template <class... Args>
  T& add(Args&&... args) {
    return items_.emplace_back(this, std::to_string(items_.size()), std::forward<Args>(args)...);
  }
  std::size_t size() const { return items_.size(); }
  T& operator[](std::size_t i) { return items_[i]; }
  auto begin() { return items_.begin(); }
  auto end() { return items_.end(); }

 private:
  std::deque<T> items_;  // which does not move them
};

}  // namespace plait::nn
