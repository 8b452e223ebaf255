// Printing kernels. What equals its default is left out.
#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "base/at.h"
#include "base/symbols.h"
#include "base/text.h"
#include "loop/kernel_text.h"

namespace plait::loop {
namespace {

constexpr std::size_t kLineWidth = 100;

bool is_plus_zero(double x) { return x == 0 && !std::signbit(x); }

/// The text of one formula: what it shares gets a name, before the formula itself.
class Formula {
 public:
  /// `bindings` collects `t0 = ..`.
  explicit Formula(std::vector<std::string>& bindings) : bindings_(bindings) {}

  std::string text(const Expr& e) {
    uses_.clear();
    names_.clear();
    count(e.node());
    return node_text(e.node());
  }

 private:
  void count(const ExprNode& n) {
    if (++uses_[&n] > 1) return;
    for (const auto& a : n.args) count(*a);
  }

  std::string node_text(const ExprNode& n) {
    if (uses_.at(&n) == 1) return plain_text(n);
    const auto known = names_.find(&n);
    if (known != names_.end()) return known->second;
    const std::string value = plain_text(n);  // names what it shares itself
    const std::string name = str("t", next_++);
    bindings_.push_back(str(name, " = ", value));
    return names_[&n] = name;
  }

  std::string plain_text(const ExprNode& n) {
    switch (n.op) {
      case ScalarOp::kLoad:
        return str("x", n.load);
      case ScalarOp::kConst:
        return real_text(n.constant);
      case ScalarOp::kIndex:
        return "[" + n.index.text() + "]";
      case ScalarOp::kAcc:
        return "acc";
      default:
        break;
    }
    std::vector<std::string> args;
    for (const auto& a : n.args) args.push_back(node_text(*a));
    return str(info(n.op).name, "(", join(args, ","), ")");
  }

  std::vector<std::string>& bindings_;
  std::unordered_map<const ExprNode*, int> uses_;
  std::unordered_map<const ExprNode*, std::string> names_;
  int next_ = 0;
};

std::string element_text(int buffer, const Dim& offset) {
  return str("b", buffer, "[", offset.text(), "]");
}

std::string operand_text(const KernelOperand& o) {
  std::string out;
  switch (o.kind) {
    case KernelOperand::kLet:
      out = str("v", o.let);
      break;
    case KernelOperand::kLoad:
      out = element_text(o.load.buffer, o.load.offset);
      break;
    case KernelOperand::kTile:
      out = "tile";
      break;
    case KernelOperand::kNumber:
      out = real_text(o.number);
  }
  for (const Guard& g : o.guards) {
    out += str(&g == o.guards.data() ? " if " : " and ", g.lo.text(), " <= ", g.index.text(), " < ",
               g.hi.text());
  }
  if (!is_plus_zero(o.otherwise)) out += " else " + real_text(o.otherwise);
  return out;
}

std::string let_text(const Let& let, std::size_t number) {
  std::string out =
      str("  ", name_of(let.level), let.kept ? " kept v" : " v", number, ": ", let.dtype);
  if (let.compute != compute_type(let.dtype)) out += str(" in ", let.compute);
  if (!let.index.empty()) out += str(" as ", let.index, ": ", let.index_extent.text());
  out += " = ";
  if (let.column) out += "column ";
  if (let.reduce != Reduce::kNone) out += str(name_of(let.reduce), " of ");
  std::vector<std::string> bindings;
  for (std::size_t i = 0; i < let.operands.size(); ++i) {
    bindings.push_back(str("x", i, " = ", operand_text(let.operands[i])));
  }
  Formula formula(bindings);
  out += formula.text(let.body);
  if (let.finish) out += " then " + formula.text(let.finish);
  if (bindings.empty()) return out + "\n";
  out += " with";
  const std::string in_line = out + " " + join(bindings, ", ");
  if (in_line.size() <= kLineWidth) return in_line + "\n";
  return out + "\n      " + join(bindings, ",\n      ") + "\n";
}

std::string indices_text(std::string_view word, const std::vector<KernelIndex>& indices,
                         std::size_t first, std::size_t last) {
  if (first == last) return "";
  std::vector<std::string> parts;
  for (std::size_t i = first; i < last; ++i) {
    parts.push_back(str(indices[i].symbol, ": ", indices[i].extent.text()));
  }
  return str(" ", word, "(", join(parts, ", "), ")");
}

std::string header_text(const Kernel& k) {
  const std::size_t batch = at(k.batch_rows);
  check(k.batch_rows >= 0 && batch <= k.rows.size(), "a kernel of ", k.rows.size(), " rows has ",
        k.batch_rows, " of its batch");
  std::string out = k.open ? "open " : "";
  out += k.epilogue ? "epilogue" : "kernel";
  out += indices_text("batch", k.rows, 0, batch);
  out += indices_text("rows", k.rows, batch, k.rows.size());
  out += indices_text("inner", k.inner, 0, k.inner.size());
  int stages = 1;
  for (const Let& let : k.lets) stages = std::max(stages, let.stage + 1);
  return out + (k.stages == stages ? "" : str(" stages ", k.stages)) + " {\n";
}

/// Of sizes that are no indices.
class SymbolSet {
 public:
  void add(const Dim& d) { d.collect_symbols(all_); }
  void add(const Expr& e) {
    if (!e) return;
    for (const Tape::Step& s : flatten(e).steps) add(s.index);
  }
  std::string text() {
    std::erase_if(all_, [](const auto& s) { return s.first.starts_with('$'); });
    const std::string lines = symbols_text(all_);
    return lines.empty() ? "" : lines + "\n";
  }

 private:
  std::map<std::string, Dim> all_;
};

std::string symbols_of(const Kernel& k) {
  SymbolSet symbols;
  for (const auto* list : {&k.rows, &k.inner}) {
    for (const KernelIndex& x : *list) symbols.add(x.extent);
  }
  for (const Let& let : k.lets) {
    for (const KernelOperand& o : let.operands) {
      symbols.add(o.load.offset);
      for (const Guard& g : o.guards) {
        for (const Dim* d : {&g.index, &g.lo, &g.hi}) symbols.add(*d);
      }
    }
    symbols.add(let.index_extent);
    symbols.add(let.body);
    symbols.add(let.finish);
  }
  for (const KernelStore& s : k.stores) symbols.add(s.offset);
  return symbols.text();
}

}  // namespace

std::string print(const Kernel& k) {
  std::string out = symbols_of(k) + header_text(k);
  for (std::size_t b = 0; b < k.buffers.size(); ++b) {
    out += str("  b", b, ": ", k.buffers[b].dtype, k.buffers[b].written ? " written\n" : "\n");
  }
  int stage = 0;
  for (std::size_t i = 0; i < k.lets.size(); ++i) {
    const Let& let = k.lets[i];
    if (let.stage != stage) out += str("  stage ", let.stage, "\n");
    stage = let.stage;
    out += let_text(let, i);
  }
  for (const KernelStore& s : k.stores) {
    out += str("  ", element_text(s.buffer, s.offset), " = v", s.let, "\n");
  }
  return out + "}\n";
}

}  // namespace plait::loop
