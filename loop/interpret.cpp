// Runs a nest on host arrays, obviously: points in index order, one thread. Index expressions are
// split into an affine part, stepped along the innermost loop, and a rest that is evaluated anew.
#include <algorithm>
#include <limits>

#include "loop/index_fn.h"
#include "loop/nest.h"

namespace plait::loop {
namespace {

/// An index function followed along the innermost variable.
struct Cursor {
  IndexFn fn;
  bool affine = true;  // along the innermost loop
  std::int64_t step = 0;
  std::int64_t at = 0;

  void start(const std::vector<std::int64_t>& slots) { at = fn.eval(slots); }
  void advance(const std::vector<std::int64_t>& slots) {
    if (affine) {
      at += step;
    } else {
      at = fn.eval(slots);
    }
  }
};

struct GuardCursor {
  Cursor index;
  Cursor lo, hi;
  bool holds() const { return lo.at <= index.at && index.at < hi.at; }
};

template <class T>
struct LoadCursor {
  const T* data;
  std::int64_t count;
  Cursor offset;
  std::vector<GuardCursor> guards;
  T otherwise;

  T value() const {
    for (const GuardCursor& g : guards) {
      if (!g.holds()) return otherwise;
    }
    check(offset.at >= 0 && offset.at < count, "a nest reads element ", offset.at, " of ", count);
    return data[offset.at];
  }
};

template <class T>
class Interpreter {
 public:
  Interpreter(const Nest& nest, const std::vector<const Array*>& operands, const Array& out,
              const DimBindings& bindings)
      : nest_(nest), operands_(operands), bindings_(bindings), converted_(operands.size()) {
    for (const IndexVar& v : nest.vars) {
      names_.push_back("$" + v.name);
      extents_.push_back(evaluate(v.extent, bindings));
      if (!v.reduced) ++out_rank_;
    }
    for (const LoadedIndex& l : nest.loaded) names_.push_back("$" + l.name);
    slots_.assign(names_.size(), 0);
    check(out_rank_ == out.sizes().size(), "nest of rank ", out_rank_, " writes ", type_text(out));
    inner_ = names_.size();
    if (!nest.vars.empty()) inner_ = nest.vars.size() - 1;
    for (const Access& a : nest.loads) loads_.push_back(load_cursor(a));
    for (const LoadedIndex& l : nest.loaded) {
      loaded_.push_back({access_offset(l.from), evaluate(l.extent, bindings),
                         operands[static_cast<std::size_t>(l.from.operand)]});
    }
    body_ = flatten(nest.body);
    if (nest.finish) finish_ = flatten(nest.finish);
    compile_indices(body_);
    compile_indices(finish_);
    registers_.resize(std::max(body_.steps.size(), finish_.steps.size()));
  }

  template <class Store>
  void run(Store store) {
    std::int64_t points = 1;
    for (std::size_t i = 0; i < out_rank_; ++i) points *= extents_[i];
    const bool reducing = nest_.reduce != Reduce::kNone;
    for (std::int64_t p = 0; p < points; ++p) {
      if (reducing) {
        store(p, finished(reduce()));
      } else {
        if (p == 0 || slots_[inner_index()] == 0 || out_rank_ == 0)
          start_row();
        else
          advance_row();
        store(p, evaluate_tape(body_, T(0)));
      }
      step_slots(0, out_rank_);
    }
  }

 private:
  struct Loaded {
    Cursor offset;
    std::int64_t extent;
    const Array* array;
  };

  std::size_t inner_index() const { return inner_ < slots_.size() ? inner_ : 0; }

  Cursor cursor(const Dim& d) const {
    Cursor c{compile(d, names_, bindings_)};
    c.affine = inner_ >= names_.size() || !c.fn.rest_mentions(inner_);
    for (std::size_t i = nest_.vars.size(); i < names_.size(); ++i) {  // loaded anew each point
      c.affine &= c.fn.linear[i] == 0 && !c.fn.rest_mentions(i);
    }
    c.step = inner_ < c.fn.linear.size() ? c.fn.linear[inner_] : 0;
    return c;
  }

  Cursor access_offset(const Access& a) const {
    const Array& array = *operands_[static_cast<std::size_t>(a.operand)];
    check(array.sizes().size() == a.index.size(), "a nest indexes ", type_text(array), " with ",
          a.index.size(), " indices");
    const Sizes strides = strides_of(array.sizes());
    Dim offset = 0;
    for (std::size_t i = 0; i < a.index.size(); ++i) offset = offset + a.index[i] * Dim(strides[i]);
    return cursor(offset);
  }

  const T* operand_data(int which) {
    const auto w = static_cast<std::size_t>(which);
    const Array& array = *operands_[w];
    return visit_dtype(array.dtype(), [&]<class S>(TypeTag<S>) -> const T* {
      const S* from = reinterpret_cast<const S*>(array.data());
      if constexpr (std::is_same_v<S, T>) {
        return from;
      } else {
        if (converted_[w].empty()) {
          converted_[w].resize(static_cast<std::size_t>(array.count()));
          std::transform(from, from + array.count(), converted_[w].begin(), convert<T, S>);
        }
        return converted_[w].data();
      }
    });
  }

  LoadCursor<T> load_cursor(const Access& a) {
    LoadCursor<T> load{operand_data(a.operand),
                       operands_[static_cast<std::size_t>(a.operand)]->count(),
                       access_offset(a),
                       {},
                       convert<T>(a.otherwise)};
    for (const Guard& g : a.guards) {
      load.guards.push_back({cursor(g.index), cursor(g.lo), cursor(g.hi)});
    }
    return load;
  }

  void compile_indices(const Tape& tape) {
    for (const Tape::Step& s : tape.steps) {
      if (s.op == ScalarOp::kIndex) indices_[&s] = compile(s.index, names_, bindings_);
    }
  }

  /// Moves the slots [first, last) to the next point, last fastest; false after the final one.
  bool step_slots(std::size_t first, std::size_t last) {
    for (std::size_t i = last; i-- > first;) {
      if (++slots_[i] < extents_[i]) return true;
      slots_[i] = 0;
    }
    return false;
  }

  void read_loaded() {
    for (std::size_t i = 0; i < loaded_.size(); ++i) {
      const std::int64_t v = loaded_[i].array->integer(loaded_[i].offset.fn.eval(slots_));
      if (v < 0 || v >= loaded_[i].extent) {
        throw RunError(str("index ", v, " is outside [0, ", loaded_[i].extent, ")"));
      }
      slots_[nest_.vars.size() + i] = v;
    }
  }

  template <class Move>
  void move_row(Move move) {
    read_loaded();
    for (LoadCursor<T>& l : loads_) {
      move(l.offset);
      for (GuardCursor& g : l.guards) {
        move(g.index);
        move(g.lo);
        move(g.hi);
      }
    }
  }
  void start_row() {
    move_row([&](Cursor& c) { c.start(slots_); });
  }
  void advance_row() {
    move_row([&](Cursor& c) { c.advance(slots_); });
  }

  T evaluate_tape(const Tape& tape, T acc) {
    for (std::size_t i = 0; i < tape.steps.size(); ++i) {
      const Tape::Step& s = tape.steps[i];
      T& r = registers_[i];
      switch (s.op) {
        case ScalarOp::kLoad:
          r = loads_[static_cast<std::size_t>(s.load)].value();
          break;
        case ScalarOp::kConst:
          r = convert<T>(s.constant);
          break;
        case ScalarOp::kIndex:
          r = static_cast<T>(indices_.at(&s).eval(slots_));
          break;
        case ScalarOp::kAcc:
          r = acc;
          break;
        default:
          r = apply<T>(s.op, registers_[static_cast<std::size_t>(s.a)],
                       registers_[static_cast<std::size_t>(s.b)],
                       registers_[static_cast<std::size_t>(s.c)]);
      }
    }
    return registers_[tape.steps.size() - 1];
  }

  T initial() const {
    constexpr bool real = std::floating_point<T>;
    using Limits = std::numeric_limits<T>;
    switch (nest_.reduce) {
      case Reduce::kProd:
        return T(1);
      case Reduce::kMax:
        return real ? -Limits::infinity() : Limits::min();
      case Reduce::kMin:
        return real ? Limits::infinity() : Limits::max();
      default:
        return T(0);
    }
  }

  T combine(T acc, T x) const {
    switch (nest_.reduce) {
      case Reduce::kSum:
        return apply<T>(ScalarOp::kAdd, acc, x, T(0));
      case Reduce::kProd:
        return apply<T>(ScalarOp::kMul, acc, x, T(0));
      case Reduce::kMax:
        return apply<T>(ScalarOp::kMax, acc, x, T(0));
      case Reduce::kMin:
        return apply<T>(ScalarOp::kMin, acc, x, T(0));
      case Reduce::kNone:
        break;
    }
    throw Bug("combine without a reduction");
  }

  /// The sum of products that every contraction is: the one loop worth making tight.
  bool is_dot() const {
    return nest_.reduce == Reduce::kSum && loaded_.empty() && body_.steps.size() == 3 &&
           body_.steps[2].op == ScalarOp::kMul && body_.steps[0].op == ScalarOp::kLoad &&
           body_.steps[1].op == ScalarOp::kLoad && dot_load(0) && dot_load(1);
  }
  bool dot_load(std::size_t step) const {
    const LoadCursor<T>& l = loads_[static_cast<std::size_t>(body_.steps[step].load)];
    bool simple = l.offset.affine && l.otherwise == T(0);
    for (const GuardCursor& g : l.guards) {
      simple &= g.index.affine && g.lo.affine && g.hi.affine && g.lo.step == 0 && g.hi.step == 0;
    }
    return simple;
  }

  /// Narrows [first, last) of the inner loop to where the load's guards hold.
  static void narrow(const LoadCursor<T>& l, std::int64_t& first, std::int64_t& last) {
    for (const GuardCursor& g : l.guards) {
      while (first < last && !(g.lo.at <= g.index.at + first * g.index.step &&
                               g.index.at + first * g.index.step < g.hi.at)) {
        ++first;
      }
      while (first < last && !(g.lo.at <= g.index.at + (last - 1) * g.index.step &&
                               g.index.at + (last - 1) * g.index.step < g.hi.at)) {
        --last;
      }
    }
  }

  T dot_row(T acc) const {
    const LoadCursor<T>& a = loads_[static_cast<std::size_t>(body_.steps[0].load)];
    const LoadCursor<T>& b = loads_[static_cast<std::size_t>(body_.steps[1].load)];
    std::int64_t first = 0, last = extents_[inner_];
    narrow(a, first, last);
    narrow(b, first, last);
    for (std::int64_t i = first; i < last; ++i) {
      const T x = a.data[a.offset.at + i * a.offset.step];
      const T y = b.data[b.offset.at + i * b.offset.step];
      if constexpr (std::integral<T>) {
        acc = apply<T>(ScalarOp::kAdd, acc, apply<T>(ScalarOp::kMul, x, y, T(0)), T(0));
      } else {
        acc += x * y;
      }
    }
    return acc;
  }

  T reduce() {
    T acc = initial();
    for (std::size_t i = out_rank_; i < extents_.size(); ++i) {
      if (extents_[i] == 0) return acc;
    }
    if (extents_.size() == out_rank_) {  // nothing to reduce over: the body's one value
      start_row();
      return combine(acc, evaluate_tape(body_, T(0)));
    }
    const bool dot = is_dot();
    do {
      start_row();
      if (dot) {
        acc = dot_row(acc);
        continue;
      }
      for (std::int64_t i = 0; i < extents_[inner_]; ++i) {
        slots_[inner_] = i;
        if (i > 0) advance_row();
        acc = combine(acc, evaluate_tape(body_, T(0)));
      }
      slots_[inner_] = 0;
    } while (step_slots(out_rank_, inner_));
    return acc;
  }

  T finished(T acc) {
    if (finish_.steps.empty()) return acc;
    for (std::size_t i = out_rank_; i < extents_.size(); ++i) slots_[i] = 0;
    start_row();
    return evaluate_tape(finish_, acc);
  }

  const Nest& nest_;
  const std::vector<const Array*>& operands_;
  const DimBindings& bindings_;
  std::vector<std::vector<T>> converted_;
  SlotNames names_;
  Sizes extents_;
  std::vector<std::int64_t> slots_;
  std::size_t out_rank_ = 0, inner_ = 0;
  std::vector<LoadCursor<T>> loads_;
  std::vector<Loaded> loaded_;
  Tape body_, finish_;
  std::map<const Tape::Step*, IndexFn> indices_;
  std::vector<T> registers_;
};

template <class T>
void interpret_as(const Nest& nest, const std::vector<const Array*>& operands, Array& out,
                  const DimBindings& bindings) {
  Interpreter<T> interpreter(nest, operands, out, bindings);
  visit_dtype(out.dtype(), [&]<class To>(TypeTag<To>) {
    To* data = reinterpret_cast<To*>(out.data());
    interpreter.run([&](std::int64_t i, T v) { data[i] = convert<To>(v); });
  });
}

}  // namespace

void interpret(const Nest& nest, const std::vector<const Array*>& operands, Array& out,
               const DimBindings& bindings) {
  bool real_operand = false;
  bool wide = out.dtype() == DType::f64 || nest.reduce != Reduce::kNone;
  for (const Array* a : operands) {
    if (!a) continue;
    real_operand |= is_float(a->dtype());
    wide |= a->dtype() == DType::f64;
  }
  const ScalarOp body = nest.body.node().op;
  const bool moves = body == ScalarOp::kLoad || body == ScalarOp::kIndex;
  // An integer that only changes its dtype is converted as it is, so that it is rounded once.
  if (!real_operand && (moves || !is_float(out.dtype()))) {
    interpret_as<std::int64_t>(nest, operands, out, bindings);
  } else if (wide) {
    interpret_as<double>(nest, operands, out, bindings);
  } else {
    interpret_as<float>(nest, operands, out, bindings);
  }
}

}  // namespace plait::loop
