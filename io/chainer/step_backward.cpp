// The backward half of a step: gradients through the nodes of each operation's forward, added up
// where several operations read one variable.
#include <algorithm>

#include "base/at.h"
#include "base/error.h"
#include "io/chainer/step.h"
#include "ops/arithmetic.h"

namespace plait::io::chainer {

void Step::backward() {
  for (int i : links_.backward_order) add_backward(i);
}

ir::ValueId Step::gradient_of(int variable, const Origin& origin) {
  std::vector<ir::ValueId>& parts = contributions_[at(variable)];
  b_.set_path(origin.path);
  b_.set_source(origin.source);
  if (parts.empty()) {
    const bool end = links_.maker[at(variable)] >= 0 && readers_[at(variable)] == 0;
    if (variables_[at(variable)].parameter ||
        !is_float(b_.graph().type(value_of(variable)).dtype)) {
      return ir::kNone;
    }
    if (!end && gradient_makers_[at(variable)] == 0) {
      notes_.push_back(str("nothing makes the gradient of variable ",
                           record_.variables[at(variable)].id, ", which is read: taken as 0"));
    }
    const ir::Type type = b_.graph().type(value_of(variable));
    parts.push_back(b_.full(end ? 1 : 0, type.dtype, type.shape).id());
  }
  while (parts.size() > 1) {
    const bool last = parts.size() == 2;
    const std::string name = last ? b_.graph().fresh_name("d_" + name_of(variable)) : "";
    const Tensor sum =
        b_.add(ops::add, {b_.value(parts[0]), b_.value(parts[1])}, {}, origin.source, {name})[0];
    parts.erase(parts.begin());
    parts[0] = sum.id();
  }
  b_.set_source({});
  b_.set_path("");
  return parts[0];
}

void Step::add_backward(int index) {
  const Operation& op = record_.operations[at(index)];
  // Gradients of what is fed are nobody's: neither states nor operations read them.
  std::vector<int> wanted;
  for (int v : op.outputs) {
    const bool fed = links_.maker[at(v)] < 0 && !variables_[at(v)].parameter;
    if (fed || !is_float(b_.graph().type(value_of(v)).dtype)) continue;
    if (std::find(wanted.begin(), wanted.end(), v) == wanted.end()) wanted.push_back(v);
  }
  if (wanted.empty()) return;
  nodes_[at(index)].first = b_.graph().nodes.size();
  if (!add_gradients(index, op, wanted)) add_opaque_backward(op, wanted);
  nodes_[at(index)].end = b_.graph().nodes.size();
}

bool Step::add_gradients(int index, const Operation& op, const std::vector<int>& wanted) {
  const int forward = links_.forward_of[at(index)];
  if (forward < 0) {
    note(op, "belongs to no forward operation: what it reads and makes is of several");
    return false;
  }
  if (opaque_[at(forward)]) return false;
  const Origin origin = origin_of(op);
  std::vector<Cotangent> cotangents;
  for (const Input& in : op.inputs) {
    if (in.tag != Tag::kGradient) continue;
    const ir::ValueId gradient = gradient_of(in.variable, origin);
    if (gradient != ir::kNone) cotangents.push_back({values_[at(in.variable)], gradient});
  }
  if (cotangents.empty()) return false;
  std::vector<ir::ValueId> wrt;
  std::vector<std::string> names;
  for (int v : wanted) {
    wrt.push_back(value_of(v));
    names.push_back(gradient_makers_[at(v)] > 1 ? "" : "d_" + name_of(v));
  }
  try {
    const std::vector<ir::ValueId> found =
        gradients_through(b_.graph(), nodes_[at(forward)], cotangents, wrt, names, origin);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      contributions_[at(wanted[i])].push_back(found[i]);
    }
  } catch (const UserError& e) {
    note(op, str("has no gradient: ", e.what()));
    return false;
  }
  return true;
}

}  // namespace plait::io::chainer
