// Matching an epilogue, statement by statement.
#include "backends/cuda/fused.h"

#include <cstdlib>

#include "base/at.h"
#include "base/text.h"

namespace plait::cuda {
namespace {

using loop::KernelOperand;
using loop::Let;
using loop::ScalarOp;

/// A formula that is one operation on two operands: which, and the operands' numbers.
struct Pair {
  ScalarOp op;
  int a, b;
};

std::optional<Pair> pair_of(const Let& let) {
  const loop::Tape tape = loop::flatten(let.body);
  if (tape.steps.size() != 3) return std::nullopt;
  const auto& [x, y, last] = std::tie(tape.steps[0], tape.steps[1], tape.steps[2]);
  if (x.op != ScalarOp::kLoad || y.op != ScalarOp::kLoad) return std::nullopt;
  return Pair{last.op, tape.steps[at(last.a)].load, tape.steps[at(last.b)].load};
}

/// max(x, 0) of the statement `from`.
bool is_relu(const Let& let, int from) {
  if (let.operands.size() != 1 || let.operands[0].kind != KernelOperand::kLet) return false;
  if (let.operands[0].let != from || !let.operands[0].guards.empty()) return false;
  const loop::Tape tape = loop::flatten(let.body);
  if (tape.steps.size() != 3 || tape.steps[2].op != ScalarOp::kMax) return false;
  const auto is_zero = [&](int i) {
    return tape.steps[at(i)].op == ScalarOp::kConst && tape.steps[at(i)].constant == 0;
  };
  const auto is_value = [&](int i) { return tape.steps[at(i)].op == ScalarOp::kLoad; };
  const loop::Tape::Step& last = tape.steps[2];
  return (is_value(last.a) && is_zero(last.b)) || (is_zero(last.a) && is_value(last.b));
}

class Matching {
 public:
  Matching(const loop::Contraction& c, const loop::Kernel& k) : c_(c), k_(k) {}

  std::optional<Fused> run() {
    if (k_.stores.size() != 1 || k_.inner.size() != 1 || k_.lets.empty()) return std::nullopt;
    const loop::KernelStore& store = k_.stores[0];
    if (store.let + 1 != static_cast<int>(k_.lets.size())) return std::nullopt;
    out_.dtype = k_.buffers[at(store.buffer)].dtype;
    const bool widens = out_.dtype == DType::f32 && is_half(c_.dtype);
    if (out_.dtype != c_.dtype && !widens) return std::nullopt;
    for (const Let& let : k_.lets) {
      if (let.dtype != out_.dtype || let.reduce != loop::Reduce::kNone || !let.index.empty() ||
          let.compute != DType::f32) {
        return std::nullopt;
      }
    }
    out_.result = store.buffer;
    std::size_t next = 0;
    if (!begin(next)) return std::nullopt;
    if (next < k_.lets.size() &&
        add(k_.lets[next], KernelOperand::kLet, static_cast<int>(next) - 1))
      ++next;
    if (next < k_.lets.size() && is_relu(k_.lets[next], static_cast<int>(next) - 1)) {
      out_.relu = true;
      ++next;
    }
    if (next != k_.lets.size()) return std::nullopt;
    return out_;
  }

 private:
  /// The first statement: the tile alone, or with a vector or tensor added.
  bool begin(std::size_t& next) {
    const Let& first = k_.lets[0];
    next = 1;
    if (first.operands.size() == 1) {
      return first.operands[0].kind == KernelOperand::kTile &&
             loop::flatten(first.body).steps.size() == 1;
    }
    return add(first, KernelOperand::kTile, 0);
  }

  /// value + load, where the value is the tile or the statement `from`.
  bool add(const Let& let, KernelOperand::Kind kind, int from) {
    if (let.operands.size() != 2) return false;
    const std::optional<Pair> pair = pair_of(let);
    if (!pair || pair->op != ScalarOp::kAdd || pair->a == pair->b) return false;
    for (int which : {pair->a, pair->b}) {
      const KernelOperand& value = let.operands[at(which)];
      const KernelOperand& load = let.operands[at(pair->a + pair->b - which)];
      const bool is_value = value.kind == kind && value.guards.empty() &&
                            (kind == KernelOperand::kTile || value.let == from);
      if (!is_value || load.kind != KernelOperand::kLoad || !load.guards.empty()) continue;
      return take(load.load);
    }
    return false;
  }

  bool take(const loop::KernelLoad& load) {
    if (k_.buffers[at(load.buffer)].dtype != out_.dtype) return false;
    if (load.offset == loop::symbol_of(k_.inner[0]) && out_.bias < 0 && out_.residual < 0) {
      out_.bias = load.buffer;
      return true;
    }
    if (load.offset == k_.stores[0].offset && out_.residual < 0) {
      out_.residual = load.buffer;
      return true;
    }
    return false;
  }

  const loop::Contraction& c_;
  const loop::Kernel& k_;
  Fused out_;
};

}  // namespace

std::optional<Fused> find_fused(const loop::Contraction& c, const loop::Kernel& epilogue) {
  return Matching(c, epilogue).run();
}

LibraryEpilogue epilogue_of(const std::optional<Fused>& f) {
  if (!f) return {};
  return {f->bias >= 0, f->residual >= 0, f->relu};
}

std::string to_text(const LibraryVariant& v) {
  if (v.separate_epilogue) return str(v.id, " separate ", name_of(*v.separate_epilogue));
  if (!v.fused) return v.id;
  const Fused& f = *v.fused;
  return str(v.id, " bias ", f.bias, " residual ", f.residual, " relu ", f.relu ? 1 : 0, " result ",
             f.result, " in ", name_of(f.dtype));
}

LibraryVariant library_variant(const std::string& text) {
  const std::vector<std::string> words = split(text, ' ');
  const auto number = [&](std::size_t i) { return std::atoi(words[i].c_str()); };
  if (words.size() == 3) return {words[0], std::nullopt, dtype_named(words[2])};
  if (words.size() == 11) {
    const DType dtype = dtype_named(words[10]).value_or(DType::f32);
    return {words[0], Fused{number(2), number(4), number(6) != 0, number(8), dtype}};
  }
  return {text};
}

}  // namespace plait::cuda
