// The forward half of a step, and its end: fetches.
#include "io/chainer/step.h"

#include "base/at.h"
#include "base/error.h"
#include "io/chainer/functions.h"
#include "ops/initializers.h"

namespace plait::io::chainer {
namespace {

constexpr std::size_t kMaxNotes = 50;

/// A guess by its named sizes: rows first; of an image, also its height and width.
Shape named_shape(const Sizes& guess, const NamedSizes& sizes) {
  Shape shape = shape_of(guess);
  if (guess.size() > 1) shape[0] = sizes.named("batch", guess[0]);
  if (guess.size() != 4) return shape;
  for (std::size_t axis : {2, 3}) {
    const Dim image = sizes.named("image", guess[axis]);
    shape[axis] =
        image.is_const() ? sizes.named(axis == 2 ? "height" : "width", guess[axis]) : image;
  }
  return shape;
}

}  // namespace

Step::Step(const Record& record, const Links& links, const Assumptions& assumptions,
           NamedSizes sizes)
    : record_(record),
      links_(links),
      sizes_(std::move(sizes)),
      real_(assumptions.real),
      variables_(record.variables.size()),
      values_(record.variables.size(), ir::kNone),
      nodes_(record.operations.size()),
      opaque_(record.operations.size(), false),
      gradient_makers_(record.variables.size(), 0),
      readers_(record.variables.size(), 0),
      contributions_(record.variables.size()) {
  std::vector<bool> flows(record.variables.size(), false);  // its gradient is read
  for (std::size_t v = 0; v < variables_.size(); ++v) {
    variables_[v].parameter = record.variables[v].is_parameter();
  }
  for (const auto& [v, guess] : assumptions.feeds) {
    variables_[at(v)].guess = named_shape(guess, sizes_);
  }
  for (const Operation& op : record.operations) {
    for (const Input& in : op.inputs) {
      if (in.tag == Tag::kGradient) flows[at(in.variable)] = true;
      if (in.tag == Tag::kArray) ++readers_[at(in.variable)];
    }
    if (!op.backward) continue;
    for (int v : op.outputs) ++gradient_makers_[at(v)];
  }
  const bool trains = !links.backward_order.empty();
  for (int i : links.forward_order) {
    for (int v : record.operations[at(i)].outputs) {
      const bool starts = trains ? flows[at(v)] && gradient_makers_[at(v)] == 0 : true;
      if (starts && readers_[at(v)] == 0) loss_ = v;
    }
  }
}

std::string Step::name_of(int variable) const {
  const Variable& v = record_.variables[at(variable)];
  return v.name == "_" ? str("v", v.id) : v.name;
}

/// `/predictor/conv1_1/W` is a parameter of `predictor.conv1_1`.
Origin Step::origin_of(const Operation& op) const {
  Origin origin{"", {record_.file, op.line}};
  for (const Input& in : op.inputs) {
    const Variable& v = record_.variables[at(in.variable)];
    if (!v.is_parameter() || (op.backward && in.tag != Tag::kInput)) continue;
    for (char c : v.name.substr(1, std::max<std::size_t>(v.name.rfind('/'), 1) - 1)) {
      origin.path += c == '/' ? '.' : c;
    }
    break;
  }
  return origin;
}

void Step::note(const Operation& op, const std::string& what) {
  if (notes_.size() > kMaxNotes) return;
  if (notes_.size() == kMaxNotes) {
    notes_.push_back("more operations are left out of these notes");
    return;
  }
  notes_.push_back(
      str("line ", op.line, ": ", op.backward ? "the backward of " : "", op.function, " ", what));
}

std::int64_t Step::rows() const {
  for (ir::ValueId feed : b_.graph().feeds) {
    const Shape& shape = b_.graph().type(feed).shape;
    if (shape.size() > 1) return evaluate(shape[0], sizes_.numbers);
  }
  return 0;
}

ir::ValueId Step::resolve(int variable, const Resolved& as) {
  Known& known = variables_[at(variable)];
  known.type = as.type;
  ir::Graph& graph = b_.graph();
  const std::string name = graph.fresh_name(name_of(variable));
  if (known.parameter) {
    values_[at(variable)] = graph.add_state({name, as.type, ir::Role::kParam, as.init});
  } else {
    values_[at(variable)] = graph.add_feed(name, as.type);
  }
  return values_[at(variable)];
}

ir::ValueId Step::value_of(int variable) {
  if (values_[at(variable)] != ir::kNone) return values_[at(variable)];
  const Known& known = variables_[at(variable)];
  const std::int64_t bytes = record_.variables[at(variable)].bytes;
  const auto size = static_cast<std::int64_t>(size_of(real_));
  ir::Type type{real_, {bytes / size}};
  if (known.guess && evaluate(element_count(*known.guess), sizes_.numbers) * size == bytes) {
    type.shape = *known.guess;
  }
  if (bytes % size != 0) type = {DType::u8, {bytes}};
  return resolve(variable, {type, init::zeros()});
}

std::int64_t Step::forward(int enough) {
  std::int64_t built = 0;
  for (int i : links_.forward_order) {
    if (misfits_ >= enough) break;
    add_forward(i);
    ++built;
  }
  return built;
}

void Step::add_forward(int index) {
  const Operation& op = record_.operations[at(index)];
  nodes_[at(index)].first = b_.graph().nodes.size();
  const std::string why = add_known(index, op);
  if (!why.empty()) {
    opaque_[at(index)] = true;
    add_opaque_forward(op);
    note(op, why);
  }
  nodes_[at(index)].end = b_.graph().nodes.size();
}

std::string Step::add_known(int index, const Operation& op) {
  const Function* function = find_function(op.function);
  if (!function) return "is no function that Plait has";
  const bool draws = op.function == "Dropout";
  Call call(record_, op, variables_, sizes_, real_, draws ? b_.next_stream() : 0);
  std::string why;
  std::vector<Tensor> ys;
  try {
    ys = function->build(call);
    if (ys.size() != op.outputs.size()) {
      why = str("makes ", op.outputs.size(), " results, not ", ys.size());
    }
    for (std::size_t i = 0; why.empty() && i < ys.size(); ++i) {
      const std::int64_t bytes = call.number(ys[i].type().bytes());
      if (bytes == call.out_bytes(static_cast<int>(i))) continue;
      why = str("makes ", call.out_bytes(static_cast<int>(i)), " bytes, ", ys[i].type(), " has ",
                bytes);
    }
  } catch (const UserError& e) {
    why = e.what();
  }
  for (int v : call.asked()) {
    if (asked_set_.insert(v).second) asked_.push_back(v);
  }
  if (!why.empty()) {
    ++misfits_;
    return "does not fit: " + why;
  }
  commit(call, index, ys);
  return "";
}

void Step::commit(Call& call, int index, const std::vector<Tensor>& ys) {
  const Operation& op = record_.operations[at(index)];
  for (const Input& in : op.inputs) {  // in the order of the document, for the order of feeds
    const auto it = call.resolved().find(in.variable);
    if (it != call.resolved().end() && values_[at(in.variable)] == ir::kNone) {
      resolve(in.variable, it->second);
    }
  }
  const ir::Graph& from = call.b.graph();
  std::vector<ir::ValueId> values(from.values.size(), ir::kNone);
  for (const auto& [variable, value] : call.operands()) values[at(value)] = values_[at(variable)];
  if (call.key_value() != ir::kNone) {
    b_.set_source(origin_of(op).source);
    values[at(call.key_value())] = b_.random_key().id();
    b_.set_source({});
    nodes_[at(index)].first = b_.graph().nodes.size();
  }
  std::map<ir::ValueId, std::string> names;
  for (std::size_t i = 0; i < ys.size(); ++i) names.emplace(ys[i].id(), name_of(op.outputs[i]));
  splice(from, 0, b_.graph(), values, origin_of(op), names);
  for (std::size_t i = 0; i < ys.size(); ++i) {
    const ir::ValueId value = values[at(ys[i].id())];
    values_[at(op.outputs[i])] = value;
    variables_[at(op.outputs[i])].type = b_.graph().type(value);
  }
}

ir::Graph Step::take() {
  if (loss_ >= 0) {
    const bool scalar = b_.graph().type(value_of(loss_)).shape.empty();
    b_.fetch(scalar ? "loss" : name_of(loss_), b_.value(value_of(loss_)));
  }
  for (std::size_t i = 0; i < record_.variables.size(); ++i) {
    const int v = static_cast<int>(i);
    if (v == loss_) continue;
    if (variables_[i].parameter) {
      value_of(v);
      const ir::ValueId gradient = gradient_of(v, {});
      if (gradient != ir::kNone) b_.fetch("d_" + name_of(v), b_.value(gradient));
    } else if (links_.maker[i] >= 0 && readers_[i] == 0) {
      b_.fetch(name_of(v), b_.value(value_of(v)));
    } else if (links_.maker[i] < 0 && values_[i] == ir::kNone) {
      notes_.push_back(str("line ", record_.variables[i].line, ": nothing reads ", name_of(v),
                           ", which is fed"));
    }
  }
  return b_.take();
}

}  // namespace plait::io::chainer
