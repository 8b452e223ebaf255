// Applies the rules node by node, forwards. A rule looks at a node and at what makes its operands,
// which no rule moves any more; so one walk, with each node tried until it rests, is a fixed point.
#include "passes/simplify.h"

#include "ir/rewrite.h"
#include "ops/table.h"
#include "passes/node_text.h"

namespace plait {
namespace {

constexpr int kMostFirings = 1000;  // at one node; rules that undo each other are a bug

class Simplifier {
 public:
  Simplifier(const ir::Graph& graph, DecisionLog& log)
      : graph_(graph), log_(log), rewriter_(graph), rules_(all_rules()) {}

  ir::Graph run() {
    for (const ir::Node& node : graph_.nodes) {
      if (node.opaque) {
        rewriter_.keep(node);
      } else {
        visit(node);
      }
    }
    return rewriter_.finish();
  }

 private:
  void visit(const ir::Node& old) {
    ir::Node node = rewriter_.carried(old);
    std::vector<ir::Type> types;
    for (ir::ValueId id : old.outputs) types.push_back(graph_.type(id));
    for (int fired = 0; auto replacement = first_that_fires(old, node, types); ++fired) {
      check(fired < kMostFirings, "rules turn in circles at ", describe(graph_, old));
      if (const auto* value = std::get_if<ir::ValueId>(&*replacement)) {
        rewriter_.replace(old.outputs[0], *value);
        return;
      }
      node = std::get<ir::Node>(std::move(*replacement));
    }
    rewriter_.put(old.outputs, std::move(node));
  }

  std::optional<Replacement> first_that_fires(const ir::Node& old, const ir::Node& node,
                                              const std::vector<ir::Type>& types) {
    const Match match{rewriter_.graph(), op_named(node.op), node, types};
    for (const Rule* rule : rules_) {
      std::optional<Replacement> replacement = rule->apply(match);
      if (!replacement || !may_stand(*rule, *replacement, types)) continue;
      const auto* value = std::get_if<ir::ValueId>(&*replacement);
      const ir::Graph& graph = rewriter_.graph();
      log_.push_back({"simplify", describe(graph_, old), std::string(rule->name),
                      str(node_text(graph, node), " becomes ",
                          value ? value_text(graph, *value)
                                : node_text(graph, std::get<ir::Node>(*replacement)))});
      return replacement;
    }
    return std::nullopt;
  }

  bool may_stand(const Rule& rule, const Replacement& replacement,
                 const std::vector<ir::Type>& types) const {
    check(types.size() == 1, rule.name, " replaces a node of ", types.size(), " results");
    const auto* value = std::get_if<ir::ValueId>(&replacement);
    if (!value) return types[0].place.empty();
    const ir::Type& type = rewriter_.graph().type(*value);
    check(type.dtype == types[0].dtype && type.shape == types[0].shape, rule.name, " replaces ",
          types[0], " by ", type);
    return type == types[0];
  }

  const ir::Graph& graph_;
  DecisionLog& log_;
  ir::Rewriter rewriter_;
  std::vector<const Rule*> rules_;
};

}  // namespace

std::vector<const Rule*> all_rules() {
  std::vector<const Rule*> rules;
  for (const auto family :
       {cast_rules(), arithmetic_rules(), choice_rules(), move_rules(), piece_rules()}) {
    for (const Rule& rule : family) rules.push_back(&rule);
  }
  return rules;
}

ir::Graph simplify(const ir::Graph& graph, DecisionLog& log) {
  return Simplifier(graph, log).run();
}

}  // namespace plait
