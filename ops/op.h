// What an op is: one value that holds every fact about it. The families (ops/*.h) define these
// values; everything else (reference, passes, planning, tests, `plait ops`) reads them from here.
#pragma once

#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "loop/nest.h"
#include "ops/tensor.h"

namespace plait {

/// A short list with its storage inside, so that an Op can be a compile-time constant.
template <class T, int N>
struct FixedList {
  T items[N]{};
  int count = 0;
  constexpr FixedList() = default;
  constexpr FixedList(std::initializer_list<T> list) {
    for (const T& t : list) items[count++] = t;
  }
  constexpr const T* begin() const { return items; }
  constexpr const T* end() const { return items + count; }
  constexpr int size() const { return count; }
  constexpr bool empty() const { return count == 0; }
  constexpr const T& operator[](int i) const { return items[i]; }
};

/// Mixed precision: white always half, gray half between whites, clear follows its neighbours,
/// black never.
enum class Colour { kWhite, kGray, kClear, kBlack };
std::string_view colour_name(Colour colour);

enum Traits : unsigned {
  kPlain = 0,
  kElementwise = 1,  // same index in all operands; operands broadcast
  kView = 2,         // the result can share its operand's memory: no bytes of its own
  kRandom = 4,       // draws numbers, keyed by its operand `key` and its attribute `stream`
  kNoFlow = 16,      // nothing flows back through it, by design
  kWideGrad = 8,     // its gradient takes several steps: in f32 for halves, rounded once
  kOpGrad = 32,      // the gradient of this composite is one op, which takes halves as they are
};

/// A node as its op sees it: types and attributes, no graph.
struct NodeView {
  const Op& op;
  std::vector<const ir::Type*> inputs;  // null for an operand that is left out
  std::vector<ir::Type> outputs;        // empty while they are being inferred
  const ir::Attrs& attrs;
  std::string where;  // for messages: the node, its path and source, or empty

  bool has(int i) const { return i < count() && inputs[static_cast<std::size_t>(i)]; }
  int count() const { return static_cast<int>(inputs.size()); }
  const ir::Type& in(int i) const;
  const ir::Type& out(int i = 0) const { return outputs[static_cast<std::size_t>(i)]; }
  template <ir::AttrStruct A>
  A as() const;

  /// UserError `[op] parts (where). hint`.
  template <class... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    raise(str(parts...), "");
  }
  template <class... Parts>
  [[noreturn]] void fail_hint(std::string_view hint, const Parts&... parts) const {
    raise(str(parts...), hint);
  }
  [[noreturn]] void raise(const std::string& message, std::string_view hint) const;
  /// `x is f32[2,3], w is f32[4]`: operands by name, for messages.
  std::string operand_text() const;
};

/// The operands of a scalar formula, with the node's attributes.
struct In {
  const NodeView& node;
  loop::Expr operator[](int i) const { return loop::Expr::load(i); }
  template <ir::AttrStruct A>
  A as() const {
    return node.as<A>();
  }
};

using Grads = std::vector<Tensor>;  // one per operand; empty tensors where there is none

/// What a gradient rule works with. Reading a value records it, so that what a rule says it saves
/// can be checked; types are free.
class GradCtx {
 public:
  GradCtx(Builder& builder, const NodeView& view, std::vector<Tensor> inputs,
          std::vector<Tensor> outputs, std::vector<Tensor> cotangents, std::vector<bool> wanted,
          bool wide)
      : b(builder),
        node(view),
        inputs_(std::move(inputs)),
        outputs_(std::move(outputs)),
        cotangents_(std::move(cotangents)),
        wanted_(std::move(wanted)),
        wide_(wide) {}

  Builder& b;
  const NodeView& node;

  Tensor in(int i = 0);
  Tensor out(int i = 0);
  /// The gradient of output i; zeros where nothing flows back into it.
  Tensor dy(int i = 0);
  bool has_dy(int i) const { return static_cast<bool>(cotangents_[static_cast<std::size_t>(i)]); }
  bool wants(int i) const { return wanted_[static_cast<std::size_t>(i)]; }
  const ir::Type& type(int i = 0) const { return node.in(i); }
  template <ir::AttrStruct A>
  A as() const {
    return node.as<A>();
  }
  /// A value computed beside the forward node and kept for the backward (a mask, an argmax). What
  /// was read so far is taken to be what it is made from.
  Tensor save(std::string_view name, Tensor value);

  /// What the rule keeps from the forward: what it saved by name and what it read afterwards.
  const std::set<std::string>& reads() const { return reads_; }

 private:
  std::vector<Tensor> inputs_, outputs_, cotangents_;
  std::vector<bool> wanted_;
  bool wide_;  // hand out halves widened
  std::set<std::string> reads_, saved_;
};

/// One way to differentiate an op, by what it keeps from the forward: operand and output names, or
/// names given to GradCtx::save, separated by commas; empty when it keeps nothing.
struct GradRule {
  std::string_view saves;
  Grads (*grads)(GradCtx&) = nullptr;
};

/// Inputs and outputs as arrays, for ops that are not one nest (scans, scatters, random).
struct EvalCtx {
  const NodeView& node;
  std::vector<const Array*> inputs;
  std::vector<Array>& outputs;
  bool has(int i) const { return node.has(i); }
  const Array& in(int i) const { return *inputs[static_cast<std::size_t>(i)]; }
  Array& out(int i = 0) { return outputs[static_cast<std::size_t>(i)]; }
  template <ir::AttrStruct A>
  A as() const {
    return node.as<A>();
  }
};

/// What an op's decomposition is given: the operands as tensors of a graph under construction.
struct DecomposeCtx {
  Builder& b;
  const NodeView& node;
  std::vector<Tensor> inputs;
  bool has(int i) const {
    return i < static_cast<int>(inputs.size()) && inputs[static_cast<std::size_t>(i)];
  }
  Tensor in(int i = 0) const { return inputs[static_cast<std::size_t>(i)]; }
  template <ir::AttrStruct A>
  A as() const {
    return node.as<A>();
  }
};

struct Op {
  std::string_view name;
  FixedList<std::string_view, 12> inputs{};     // `bias?` may be left out; a last `xs...` repeats
  FixedList<std::string_view, 8> outputs{"y"};  // a last `ys...` repeats
  DTypeSet dtypes = kAnyDType;                  // of the first operand, or of the result if none
  unsigned traits = kPlain;
  const ir::AttrSchema* attrs = &ir::kSchema<ir::NoAttrs>;
  std::vector<ir::Type> (*infer)(const NodeView&) = nullptr;

  // What it computes: exactly one of these.
  loop::Expr (*scalar)(In) = nullptr;             // elementwise formula
  loop::Nest (*nest)(const NodeView&) = nullptr;  // index map, body and reduction
  // Smaller ops. Halves are widened before and the results rounded after, here and for `grads`.
  std::vector<Tensor> (*decompose)(DecomposeCtx&) = nullptr;
  void (*eval)(EvalCtx&) = nullptr;  // neither: written out

  FixedList<GradRule, 3> grads{};  // the first is the default; empty: no gradient
  Colour colour = Colour::kBlack;
  // For eval ops, and where counting the nest's points would be wrong; others are counted.
  Dim (*operations)(const NodeView&) = nullptr;
  std::string_view samples{};                                        // see ops/samples.h
  double (*exact)(const double* x, const NodeView& node) = nullptr;  // elementwise, independently
  std::string_view doc{};                                            // one line for people

  // Calling an op appends a node to the graph of its operands.
  template <ir::AttrStruct A = ir::NoAttrs>
  Tensor operator()(Operand x, const A& a = {}) const {
    return call({x}, ir::encode(a), attrs == &ir::kSchema<A>)[0];
  }
  template <ir::AttrStruct A = ir::NoAttrs>
  Tensor operator()(Operand x, Operand y, const A& a = {}) const {
    return call({x, y}, ir::encode(a), attrs == &ir::kSchema<A>)[0];
  }
  template <ir::AttrStruct A = ir::NoAttrs>
  Tensor operator()(Operand x, Operand y, Operand z, const A& a = {}) const {
    return call({x, y, z}, ir::encode(a), attrs == &ir::kSchema<A>)[0];
  }
  /// Any number of operands, all outputs.
  template <ir::AttrStruct A = ir::NoAttrs>
  std::vector<Tensor> all(const std::vector<Operand>& operands, const A& a = {}) const {
    return call(operands, ir::encode(a), attrs == &ir::kSchema<A>);
  }
  /// For ops without operands (constants, random numbers with a shape).
  template <ir::AttrStruct A = ir::NoAttrs>
  Tensor make(Builder& b, const A& a = {}) const {
    return call_in(b, {}, ir::encode(a), attrs == &ir::kSchema<A>)[0];
  }

 private:
  std::vector<Tensor> call(const std::vector<Operand>&, ir::Attrs, bool schema_matches) const;
  std::vector<Tensor> call_in(Builder&, const std::vector<Operand>&, ir::Attrs, bool) const;
};

template <ir::AttrStruct A>
A NodeView::as() const {
  return ir::decode<A>(attrs, op.name);
}

}  // namespace plait
