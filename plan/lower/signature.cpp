// Signatures of groups.
#include "plan/lower/signature.h"

#include <algorithm>
#include <unordered_map>

#include "base/at.h"

namespace plait::plan {
namespace {

class Writer {
 public:
  Writer(const PlanContext& context, const Group& group)
      : s_(context), group_(group), id_(s_.grouping.group_of[at(group.nodes.front())]) {}

  Signature run() {
    put(static_cast<int>(group_.type));
    for (std::size_t p = 0; p < group_.space.size(); ++p) {
      out_.text += str(group_.space[p].text(), group_.inner[p] ? "i " : "r ");
    }
    put(group_.split);
    for (ir::NodeId n : group_.nodes) node(n);
    return std::move(out_);
  }

 private:
  void put(int number) { out_.text += str(number, ' '); }

  void node(ir::NodeId n) {
    out_.text += str("\nnode ", s_.facts.number(at(n)), ' ');
    put(static_cast<int>(s_.grouping.directions[at(n)]));
    for (int place : s_.grouping.places[at(n)]) put(place);
    operands(n);
    for (ir::ValueId v : s_.graph.node(n).outputs) value(v);
  }

  void operands(ir::NodeId n) {
    for (ir::ValueId v : s_.graph.node(n).inputs) value(v);
    out_.text += "; ";
  }

  void value(ir::ValueId v) {
    if (v == ir::kNone) return put(-1);
    const auto [it, added] = number_.emplace(v, static_cast<int>(out_.values.size()));
    put(it->second);
    if (!added) return;
    out_.values.push_back(v);
    out_.text += str(type_text(s_.graph.type(v)), ' ');
    for (int axis : s_.layouts.at(v)) put(axis);
    const ir::NodeId by = s_.graph.value(v).producer;
    if (is_constant(s_, v)) {
      out_.text += "constant ";
      if (by != ir::kNone && s_.graph.type(v).elements().is(1)) content(by);
    } else if (by != ir::kNone && s_.grouping.group_of[at(by)] == id_) {
      put(s_.grouping.stored[at(v)]);
    } else if (by != ir::kNone && s_.grouping.is_virtual(by)) {
      out_.text += str("(", s_.facts.number(at(by)), ' ');
      operands(by);
      out_.text += ") ";
    }
  }

  /// A single number stands in the kernel.
  void content(ir::NodeId n) {
    for (const auto& [name, attr] : s_.graph.node(n).attrs) out_.text += attr_text(attr) + ' ';
  }

  const PlanContext& s_;
  const Group& group_;
  int id_;
  Signature out_;
  std::unordered_map<ir::ValueId, int> number_;
};

}  // namespace

Signature signature_of(const PlanContext& context, const Group& group) {
  return Writer(context, group).run();
}

bool is_constant(const PlanContext& context, ir::ValueId value) {
  const ir::NodeId by = context.graph.value(value).producer;
  if (by != ir::kNone) return context.facts[at(by)].kind == Kind::kConstant;
  const std::string& name = context.graph.value(value).name;
  if (!context.graph.find_state(name)) return false;
  return !context.advanced.count(value);
}

}  // namespace plait::plan
