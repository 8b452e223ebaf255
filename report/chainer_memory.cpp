// Lifetimes of arrays and gradients over the operations of a step.
#include "report/chainer_memory.h"

#include <algorithm>

#include "base/at.h"
#include "base/error.h"

namespace plait::report {
namespace {

using io::chainer::Input;
using io::chainer::Links;
using io::chainer::Operation;
using io::chainer::Record;
using io::chainer::Tag;

bool is_view(const Operation& op) {
  return op.outputs.size() == 1 && op.inputs.size() == 1 &&
         (op.function == "Reshape" || op.function == "Squeeze" || op.function == "ExpandDims");
}

class Lifetimes {
 public:
  Lifetimes(const Record& record, const Links& links, const StepRules& rules,
            std::int64_t element_bytes)
      : record_(record), links_(links), rules_(rules), element_bytes_(element_bytes) {
    const std::size_t n = record.variables.size();
    array_.resize(n);
    gradient_.resize(n);
    readers_.resize(n);
    gradient_makers_.assign(n, 0);
    for (std::size_t v = 0; v < n; ++v) {
      array_[v] = static_cast<int>(v);
      gradient_[v] = static_cast<int>(n + v);
    }
    buffers_.resize(3 * n);  // arrays, gradients, positions of maxima
    for (std::size_t i = 0; i < record.operations.size(); ++i) {
      const Operation& op = record.operations[i];
      for (const Input& in : op.inputs) {
        if (!op.backward) readers_[at(in.variable)].push_back(static_cast<int>(i));
      }
      if (!op.backward) continue;
      for (int v : op.outputs) ++gradient_makers_[at(v)];
    }
    share();
  }

  std::vector<Buffer> run() {
    std::int64_t step = 0;
    for (int i : links_.forward_order) forward(record_.operations[at(i)], step++);
    for (int i : links_.backward_order) backward(i, step++);
    if (rules_.keep_arrays) {
      for (std::size_t v = 0; v < record_.variables.size(); ++v) {
        if (buffers_[v].bytes > 0) buffers_[v].last = std::max<std::int64_t>(step - 1, 0);
      }
    }
    std::vector<Buffer> out;
    for (Buffer& b : buffers_) {
      if (!b.name.empty()) out.push_back(std::move(b));
    }
    return out;
  }

 private:
  bool is_relu_in_place(const Operation& op) const {
    if (!rules_.saves_less || op.function != "ReLU" || op.inputs.size() != 1) return false;
    const int x = op.inputs[0].variable;
    const int maker = links_.maker[at(x)];
    if (maker < 0 || readers_[at(x)].size() != 1 || op.outputs.size() != 1) return false;
    const auto& kept = record_.operations[at(maker)].retained_outputs;
    return !kept || kept->empty();
  }

  /// Views, and what is in place, lie in the memory of what they are made from.
  void share() {
    for (int i : links_.forward_order) {
      const Operation& op = record_.operations[at(i)];
      if (!(rules_.views && is_view(op)) && !is_relu_in_place(op)) continue;
      array_[at(op.outputs[0])] = array_[at(op.inputs[0].variable)];
    }
    for (auto it = links_.forward_order.rbegin(); it != links_.forward_order.rend(); ++it) {
      const Operation& op = record_.operations[at(*it)];
      if (!(rules_.views && is_view(op)) && !is_relu_in_place(op)) continue;
      const int x = op.inputs[0].variable;
      if (gradient_makers_[at(x)] == 1) gradient_[at(x)] = gradient_[at(op.outputs[0])];
    }
  }

  const io::chainer::Variable& variable(int v) const { return record_.variables[at(v)]; }

  void touch(int buffer, std::string name, std::int64_t bytes, std::int64_t step) {
    Buffer& b = buffers_[at(buffer)];
    if (b.name.empty()) {
      b = {std::move(name), bytes, step, step};
    } else {
      b.bytes = std::max(b.bytes, bytes);
      b.last = step;
    }
  }

  std::string label(int v) const {
    const auto& var = variable(v);
    return var.name == "_" ? str("v", var.id) : var.name;
  }

  void array(int v, std::int64_t step) {
    if (!variable(v).is_parameter()) touch(array_[at(v)], label(v), variable(v).bytes, step);
  }

  void gradient(int v, std::int64_t step) {
    if (variable(v).is_parameter() || links_.maker[at(v)] < 0) return;
    touch(gradient_[at(v)], "d_" + label(v), variable(v).bytes, step);
  }

  bool saves_position(const Operation& op) const {
    return rules_.saves_less && op.function == "MaxPooling2D" && op.outputs.size() == 1;
  }

  void position(const Operation& op, std::int64_t step) {
    const int y = op.outputs[0];
    touch(static_cast<int>(2 * record_.variables.size()) + y, "argmax of " + label(y),
          variable(y).bytes / element_bytes_, step);
  }

  void forward(const Operation& op, std::int64_t step) {
    for (const Input& in : op.inputs) array(in.variable, step);
    for (int v : op.outputs) array(v, step);
    if (saves_position(op)) position(op, step);
  }

  void backward(int index, std::int64_t step) {
    const Operation& op = record_.operations[at(index)];
    for (const Input& in : op.inputs) {
      if (in.tag == Tag::kGradient) gradient(in.variable, step);
    }
    for (int v : op.outputs) gradient(v, step);
    const int forward = links_.forward_of[at(index)];
    if (forward >= 0 && !rules_.trust_tags) {
      retained(record_.operations[at(forward)], step);
      return;
    }
    for (const Input& in : op.inputs) {
      if (in.tag != Tag::kGradient) array(in.variable, step);
    }
  }

  void retained(const Operation& op, std::int64_t step) {
    if (saves_position(op)) {
      position(op, step);
      return;
    }
    for (std::int64_t i : op.retained_inputs.value_or(std::vector<std::int64_t>())) {
      array(op.inputs[static_cast<std::size_t>(i)].variable, step);
    }
    for (std::int64_t i : op.retained_outputs.value_or(std::vector<std::int64_t>())) {
      const int y = op.outputs[static_cast<std::size_t>(i)];
      const std::vector<int>& readers = readers_[at(y)];
      const auto pools = [&](int r) { return saves_position(record_.operations[at(r)]); };
      if (is_relu_in_place(op) && !readers.empty() &&
          std::all_of(readers.begin(), readers.end(), pools)) {
        for (int r : readers) array(record_.operations[at(r)].outputs[0], step);
      } else {
        array(y, step);
      }
    }
  }

  const Record& record_;
  const Links& links_;
  const StepRules& rules_;
  std::int64_t element_bytes_;
  std::vector<int> array_, gradient_;  // per variable, its buffer
  std::vector<std::vector<int>> readers_;
  std::vector<int> gradient_makers_;
  std::vector<Buffer> buffers_;
};

}  // namespace

std::vector<Buffer> step_buffers(const Record& record, const Links& links, const StepRules& rules,
                                 std::int64_t element_bytes) {
  return Lifetimes(record, links, rules, element_bytes).run();
}

}  // namespace plait::report
