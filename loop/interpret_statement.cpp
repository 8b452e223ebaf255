// Statements of a kernel: operands, formulas, rounding, reductions.
#include <cmath>
#include <cstring>
#include <limits>

#include "base/at.h"
#include "base/convert.h"
#include "loop/kernel_interpreter.h"

namespace plait::loop {
namespace {

/// f(T()) with the type that a statement computes in.
template <class F>
auto in_type(DType compute, F f) {
  if (compute == DType::f64) return f(double());
  if (compute == DType::f32) return f(float());
  check(compute == DType::i64, "a kernel computes in ", compute);
  return f(std::int64_t());
}

template <class T>
T as(const HeldValue& v, DType held) {
  return is_float(held) ? convert<T>(v.real) : convert<T>(v.whole);
}

template <class T>
HeldValue held(T x) {
  if constexpr (std::integral<T>) {
    return {0, static_cast<std::int64_t>(x)};
  } else {
    return {static_cast<double>(x), 0};
  }
}

/// What stands for an element where a guard fails: a number of the type that its dtype computes in.
HeldValue other(DType dtype, double otherwise) {
  if (dtype == DType::boolean) return {0, otherwise != 0};
  return in_type(compute_type(dtype), [&]<class T>(T) { return held(convert<T>(otherwise)); });
}

}  // namespace

HeldValue HeldBuffer::load(std::int64_t i) const {
  return visit_dtype(dtype, [&]<class T>(TypeTag<T>) {
    T x;
    std::memcpy(&x, bytes.data() + at(i) * sizeof(T), sizeof(T));
    return held(x);
  });
}

void HeldBuffer::store(std::int64_t i, const HeldValue& value) const {
  visit_dtype(dtype, [&]<class T>(TypeTag<T>) {
    const T x = as<T>(value, dtype);
    std::memcpy(bytes.data() + at(i) * sizeof(T), &x, sizeof(T));
  });
}

void KernelInterpreter::statement(int i) {
  const Let& let = k_.lets[at(i)];
  Statement& s = statements_[at(i)];
  for (std::size_t j = 0; j < let.operands.size(); ++j) {
    s.values[j] = operand(i, static_cast<int>(j));
  }
  in_type(let.compute, [&]<class T>(T) {
    const T value = computed<T>(i, s.body, T(0));
    if (let.column) {
      add(i, columns_[at(i)][let.level == Level::kInner ? at(point_) : 0], value);
    } else if (let.reduce != Reduce::kNone) {
      add(i, sums_[at(i)], value);
    } else {
      values_[at(i)] = rounded(i, value);
    }
  });
  if (!let.index.empty()) {
    std::int64_t& index = values_[at(i)].whole;
    if (index < 0 || index >= s.index_extent) {
      faults_.index = true;
      index = 0;
    }
    slots_[s.index_slot] = index;
  }
  if (let.kept) kept_[at(i)][at(point_)] = values_[at(i)];
}

/// What an operand is held as.
DType KernelInterpreter::held_as(const KernelOperand& o) const {
  switch (o.kind) {
    case KernelOperand::kLet:
      return k_.lets[at(o.let)].dtype;
    case KernelOperand::kLoad:
      return buffers_[at(o.load.buffer)].dtype;
    case KernelOperand::kTile:
      return tile_dtype_;
    case KernelOperand::kNumber:
      break;
  }
  return DType::f64;
}

HeldValue KernelInterpreter::operand(int let, int number) {
  const KernelOperand& o = k_.lets[at(let)].operands[at(number)];
  const Operand& compiled = statements_[at(let)].operands[at(number)];
  for (const BoundGuard& g : compiled.guards) {
    const std::int64_t index = g.index.eval(slots_);
    if (index < g.lo.eval(slots_) || index >= g.hi.eval(slots_)) {
      return other(held_as(o), o.otherwise);
    }
  }
  switch (o.kind) {
    case KernelOperand::kNumber:
      return {o.number, 0};
    case KernelOperand::kTile:
      return tile_;
    case KernelOperand::kLet:
      return value_of(let, o.let);
    case KernelOperand::kLoad:
      break;
  }
  const HeldBuffer& b = buffers_[at(o.load.buffer)];
  const std::int64_t element = compiled.offset.eval(slots_);
  if (element < 0 || element >= b.count()) outside(let, "reads", o.load.buffer, element);
  return b.load(element);
}

/// Another statement's value, as known where `reader` stands.
HeldValue KernelInterpreter::value_of(int reader, int let) const {
  const Let &from = k_.lets[at(let)], &to = k_.lets[at(reader)];
  const bool of_point = from.level == Level::kInner && from.reduce == Reduce::kNone;
  if (of_point && from.stage != to.stage) {
    check(from.kept, run_.name, ": v", reader, " reads v", let, " of stage ", from.stage,
          ", which is not kept");
    return kept_[at(let)][at(point_)];
  }
  const bool later = from.reduce != Reduce::kNone && from.stage >= to.stage;
  check(!later && !from.column && !(in_columns_ && from.level != Level::kCall), run_.name, ": v",
        reader, " reads v", let, ", which is not known there");
  return values_[at(let)];
}

void KernelInterpreter::store(std::size_t number) {
  const KernelStore& s = k_.stores[number];
  const HeldBuffer& b = buffers_[at(s.buffer)];
  check(b.written && b.dtype == k_.lets[at(s.let)].dtype, run_.name, ": v", s.let, ", of ",
        k_.lets[at(s.let)].dtype, ", cannot be stored in b", s.buffer, ", of ", b.dtype,
        b.written ? "" : ", which is not written");
  const std::int64_t element = store_offsets_[number].eval(slots_);
  if (element < 0 || element >= b.count()) outside(s.let, "is stored in", s.buffer, element);
  b.store(element, values_[at(s.let)]);
}

void KernelInterpreter::outside(int let, const char* does, int buffer, std::int64_t element) const {
  std::string at_point;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    at_point += str(i == 0 ? " at " : ", ", names_[i], " = ", slots_[i]);
  }
  throw Bug(str(run_.name, ": v", let, " ", does, " b", buffer, "[", element, "] of ",
                buffers_[at(buffer)].count(), " elements", at_point));
}

template <class T>
T KernelInterpreter::scalar(ScalarOp op, T a, T b, T c) {
  if constexpr (std::same_as<T, float>) {
    return run_.scalars.f32(op, a, b, c);
  } else if constexpr (std::same_as<T, double>) {
    return run_.scalars.f64(op, a, b, c);
  } else {
    const bool divides = op == ScalarOp::kFloorDiv || op == ScalarOp::kMod;
    if (divides && b == 0) {
      faults_.division = true;
      return 0;
    }
    return apply_integer(op, a, b, c);
  }
}

template <class T>
T KernelInterpreter::computed(int let, const Formula& formula, T acc) {
  const Let& l = k_.lets[at(let)];
  const Statement& statement = statements_[at(let)];
  auto& registers = std::get<std::vector<T>>(registers_);
  const std::size_t steps = formula.tape.steps.size();
  if (registers.size() < steps) registers.resize(steps);
  for (std::size_t i = 0; i < steps; ++i) {
    const Tape::Step& s = formula.tape.steps[i];
    switch (s.op) {
      case ScalarOp::kLoad:
        registers[i] = as<T>(statement.values[at(s.load)], held_as(l.operands[at(s.load)]));
        break;
      case ScalarOp::kConst:
        registers[i] = convert<T>(s.constant);
        break;
      case ScalarOp::kIndex:
        registers[i] = static_cast<T>(formula.indices[i].eval(slots_));
        break;
      case ScalarOp::kAcc:
        registers[i] = acc;
        break;
      default:
        registers[i] = scalar<T>(s.op, registers[at(s.a)], registers[at(s.b)], registers[at(s.c)]);
    }
  }
  return registers[steps - 1];
}

template <class T>
HeldValue KernelInterpreter::rounded(int let, T value) {
  const DType dtype = k_.lets[at(let)].dtype;
  if constexpr (std::floating_point<T>) {
    if (run_.rounded && is_float(dtype)) {
      value = convert<T>(run_.rounded(let, static_cast<double>(value)));
    }
  }
  return visit_dtype(dtype, [&]<class To>(TypeTag<To>) { return held(convert<To>(value)); });
}

// --- reductions ----------------------------------------------------------------------------------

KernelInterpreter::Sum KernelInterpreter::first_of(const Let& let) {
  Sum s;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  using Whole = std::numeric_limits<std::int64_t>;
  switch (let.reduce) {
    case Reduce::kProd:
      s.real = 1;
      s.whole = 1;
      break;
    case Reduce::kMax:
      s.real = -infinity;
      s.whole = Whole::min();
      break;
    case Reduce::kMin:
      s.real = infinity;
      s.whole = Whole::max();
      break;
    case Reduce::kSum:
    case Reduce::kNone:
      break;
  }
  return s;
}

template <class T>
void KernelInterpreter::add(int let, Sum& sum, T term) {
  constexpr ScalarOp kOps[] = {ScalarOp::kConst, ScalarOp::kAdd, ScalarOp::kMax, ScalarOp::kMin,
                               ScalarOp::kMul};
  const ScalarOp op = kOps[at(static_cast<int>(k_.lets[at(let)].reduce))];
  ++sum.terms;
  if constexpr (std::integral<T>) {
    sum.whole = apply_integer(op, sum.whole, term, 0);
  } else {
    sum.real = static_cast<double>(scalar<T>(op, static_cast<T>(sum.real), term, T(0)));
    sum.size += std::abs(static_cast<double>(term));
  }
}

void KernelInterpreter::close_block(Sum& sum) {
  sum.total += sum.real;
  sum.real = 0;
}

HeldValue KernelInterpreter::finished(int i, Sum& sum) {
  const Let& let = k_.lets[at(i)];
  Statement& s = statements_[at(i)];
  if (s.blocked) {
    close_block(sum);
    sum.real = static_cast<double>(static_cast<float>(sum.total));
  }
  const bool adds = let.reduce == Reduce::kSum || let.reduce == Reduce::kProd;
  if (adds && run_.reduced && let.compute != DType::i64) {
    if (let.reduce == Reduce::kProd) sum.size = std::abs(sum.real);
    sum.real = run_.reduced({i, sum.real, sum.terms, sum.size});
  }
  return in_type(let.compute, [&]<class T>(T) {
    T value{};
    if constexpr (std::integral<T>) {
      value = sum.whole;
    } else {
      value = static_cast<T>(sum.real);
    }
    if (s.finish) {
      for (const Tape::Step& step : s.finish->tape.steps) {
        if (step.op == ScalarOp::kLoad) s.values[at(step.load)] = operand(i, step.load);
      }
      value = computed<T>(i, *s.finish, value);
    }
    return rounded(i, value);
  });
}

}  // namespace plait::loop
