// Scalar expressions: construction, counting, flattening, text.
#include "loop/expr.h"

#include <unordered_map>

#include "base/text.h"

namespace plait::loop {

Expr::Expr(double constant)
    : node_(std::make_shared<ExprNode>(ExprNode{ScalarOp::kConst, constant, 0, 0, {}})) {}

Expr::Expr(ScalarOp op, std::vector<Expr> args) {
  check(static_cast<int>(args.size()) == info(op).arity, "scalar operation ", info(op).name,
        " takes ", info(op).arity, " operands, given ", args.size());
  auto node = std::make_shared<ExprNode>(ExprNode{op, 0, 0, 0, {}});
  for (const Expr& a : args) {
    check(static_cast<bool>(a), "an operand of ", info(op).name, " is empty");
    node->args.push_back(a.node_);
  }
  node_ = std::move(node);
}

Expr Expr::load(int which) {
  Expr e;
  e.node_ = std::make_shared<ExprNode>(ExprNode{ScalarOp::kLoad, 0, which, 0, {}});
  return e;
}

Expr Expr::of(std::shared_ptr<const ExprNode> node) {
  Expr e;
  e.node_ = std::move(node);
  return e;
}

Expr Expr::index(Dim index) {
  Expr e;
  e.node_ = std::make_shared<ExprNode>(ExprNode{ScalarOp::kIndex, 0, 0, std::move(index), {}});
  return e;
}

Expr Expr::acc() {
  Expr e;
  e.node_ = std::make_shared<ExprNode>(ExprNode{ScalarOp::kAcc, 0, 0, 0, {}});
  return e;
}

namespace {

int flatten_into(const ExprNode* node, Tape& tape, std::unordered_map<const ExprNode*, int>& seen) {
  if (const auto it = seen.find(node); it != seen.end()) return it->second;
  Tape::Step step{node->op, 0, 0, 0, node->constant, node->load, node->index};
  int* const slots[] = {&step.a, &step.b, &step.c};
  for (std::size_t i = 0; i < node->args.size(); ++i) {
    *slots[i] = flatten_into(node->args[i].get(), tape, seen);
  }
  tape.steps.push_back(std::move(step));
  return seen[node] = static_cast<int>(tape.steps.size()) - 1;
}

std::string node_text(const ExprNode& n) {
  switch (n.op) {
    case ScalarOp::kLoad:
      return "x" + std::to_string(n.load);
    case ScalarOp::kConst:
      return real_text(n.constant);
    case ScalarOp::kIndex:
      return "[" + n.index.text() + "]";
    case ScalarOp::kAcc:
      return "acc";
    default:
      break;
  }
  std::string out = std::string(info(n.op).name) + "(";
  for (std::size_t i = 0; i < n.args.size(); ++i) out += (i ? "," : "") + node_text(*n.args[i]);
  return out + ")";
}

}  // namespace

Tape flatten(const Expr& e) {
  Tape tape;
  std::unordered_map<const ExprNode*, int> seen;
  flatten_into(e.pointer().get(), tape, seen);
  return tape;
}

int operation_count(const Expr& e) {
  int n = 0;
  for (const Tape::Step& s : flatten(e).steps) n += info(s.op).arity > 0 ? 1 : 0;
  return n;
}

std::string text(const Expr& e) { return e ? node_text(e.node()) : ""; }

}  // namespace plait::loop
