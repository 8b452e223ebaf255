// Colouring a graph for mixed precision.
#include "passes/amp_colour.h"

#include <algorithm>
#include <cmath>

#include "base/at.h"
#include "ops/compare.h"
#include "ops/table.h"

namespace plait {
namespace {

using ir::ValueId;

/// Whether it has surely fewer elements.
bool is_smaller(const ir::Type& a, const ir::Type& b) {
  return (b.elements() - a.elements()).lo() > 0;
}

/// Whether a finite number overflows or vanishes in `half`.
bool loses_numbers(const Array& array, DType half) {
  const Array narrow = array.cast(half);
  for (std::int64_t i = 0; i < array.count(); ++i) {
    const double before = array.real(i), after = narrow.real(i);
    if (std::isfinite(before) && (!std::isfinite(after) || (before != 0 && after == 0)))
      return true;
  }
  return false;
}

const Array* literal_of(const ir::Node& node) {
  for (const auto& [name, value] : node.attrs) {
    if (const auto* literal = std::get_if<ir::Literal>(&value)) return literal->array.get();
  }
  return nullptr;
}

class Colouring {
 public:
  Colouring(const ir::Graph& graph, DType half)
      : graph_(graph),
        half_(half),
        result_(graph.nodes.size()),
        ops_(graph.nodes.size(), nullptr),
        able_(graph.nodes.size(), false),
        wide_(graph.nodes.size(), false),
        readers_(graph.values.size()),
        kept_(graph.values.size(), false) {
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      const ir::Node& node = graph.nodes[n];
      for (ValueId id : node.inputs) {
        if (id != ir::kNone) readers_[at(id)].push_back(n);
      }
      if (!node.opaque) ops_[n] = &op_named(node.op);
    }
    for (const ir::NextState& next : graph.nexts) kept_[at(next.value)] = true;
    for (const ir::Fetch& fetch : graph.fetches) kept_[at(fetch.value)] = true;
  }

  std::vector<Precision> run() {
    find_able();
    find_wide();
    flow_white();
    join_forwards();
    join_backwards();
    for (std::size_t n = 0; n < result_.size(); ++n) {
      if (result_[n].why.empty()) result_[n].why = why_not(n);
    }
    return std::move(result_);
  }

 private:
  const ir::Node& node(std::size_t n) const { return graph_.nodes[n]; }
  bool is_f32(ValueId id) const { return id != ir::kNone && graph_.type(id).dtype == DType::f32; }
  bool has_f32(std::size_t n) const {
    const auto f32 = [&](ValueId id) { return is_f32(id); };
    return std::any_of(node(n).inputs.begin(), node(n).inputs.end(), f32);
  }
  Colour colour_of(std::size_t n) const { return ops_[n]->colour; }
  bool is_white(std::size_t n) const { return able_[n] && colour_of(n) == Colour::kWhite; }
  bool is_clear(std::size_t n) const { return able_[n] && colour_of(n) == Colour::kClear; }
  bool is_constant(ValueId id) const {
    const ir::NodeId producer = graph_.value(id).producer;
    return producer != ir::kNone && literal_of(graph_.node(producer));
  }
  /// Made in half by its node.
  bool is_half(ValueId id) const {
    const ir::NodeId producer = graph_.value(id).producer;
    if (producer == ir::kNone || !result_[at(producer)].half) return false;
    const std::vector<ValueId>& outputs = graph_.node(producer).outputs;
    const auto which = std::find(outputs.begin(), outputs.end(), id) - outputs.begin();
    return result_[at(producer)].outputs[static_cast<std::size_t>(which)].dtype == half_;
  }

  void set_half(std::size_t n, std::string_view why) {
    result_[n].half = true;
    result_[n].why = why;
  }

  /// Nodes that could run half, with the operands they read as halves then: the first float alone
  /// where the op takes f32 beside it (norms take their parameters and statistics so), those of its
  /// shape (wkv takes its decay and its state in f32), those of its rank (attention takes what it
  /// keeps of its rows in f32), or all.
  void find_able() {
    for (std::size_t n = 0; n < result_.size(); ++n) {
      if (!ops_[n] || colour_of(n) == Colour::kBlack || ops_[n] == &ops::cast || !has_f32(n)) {
        continue;
      }
      able_[n] = try_form(n, Form::kFirst) || try_form(n, Form::kShape) ||
                 try_form(n, Form::kRank) || try_form(n, Form::kAll);
    }
  }

  enum class Form { kFirst, kShape, kRank, kAll };

  bool try_form(std::size_t n, Form form) {
    NodeView view = view_of(graph_, node(n));
    view.outputs.clear();
    std::vector<ir::Type> types(view.inputs.size());
    std::vector<bool> narrowed(view.inputs.size(), false);
    const Shape* first = nullptr;
    for (std::size_t i = 0; i < view.inputs.size(); ++i) {
      if (!is_f32(node(n).inputs[i]) || (first && form == Form::kFirst)) continue;
      if (!first) first = &view.inputs[i]->shape;
      if (form == Form::kShape && !(view.inputs[i]->shape == *first)) continue;
      if (form == Form::kRank && view.inputs[i]->shape.size() != first->size()) continue;
      narrowed[i] = true;
      types[i] = *view.inputs[i];
      types[i].dtype = half_;
      view.inputs[i] = &types[i];
    }
    try {
      result_[n].outputs = infer(view);
    } catch (const UserError&) {
      return false;
    }
    result_[n].narrowed = std::move(narrowed);
    return true;
  }

  /// Values computed since the last white op that other values are scaled or shifted by: results of
  /// reductions, of black ops and of arithmetic on scalars, and what is made from them, from feeds
  /// and from states that are not trained.
  std::vector<bool> statistics() const {
    std::vector<bool> found(graph_.values.size(), false);
    for (ValueId id : graph_.feeds) found[at(id)] = true;
    for (const ir::StateUse& use : graph_.states) {
      found[at(use.value)] = use.state.role != ir::Role::kParam;
    }
    for (std::size_t n = 0; n < result_.size(); ++n) {
      const Colour colour = ops_[n] ? colour_of(n) : Colour::kBlack;
      if (colour == Colour::kWhite) continue;
      bool made_from = colour == Colour::kBlack;
      for (ValueId id : node(n).inputs) made_from |= id != ir::kNone && found[at(id)];
      for (ValueId out : node(n).outputs) {
        const bool gathers = graph_.type(out).rank() == 0 || reduces(n, out);
        found[at(out)] = made_from || (colour == Colour::kGray && gathers);
      }
    }
    return found;
  }

  bool reduces(std::size_t n, ValueId out) const {
    const auto larger = [&](ValueId id) {
      return is_f32(id) && is_smaller(graph_.type(out), graph_.type(id));
    };
    return std::any_of(node(n).inputs.begin(), node(n).inputs.end(), larger);
  }

  void find_wide() {
    const std::vector<bool> statistic = statistics();
    for (std::size_t n = 0; n < result_.size(); ++n) {
      if (!able_[n] || !(ops_[n]->traits & kElementwise)) continue;
      const Shape& shape = graph_.type(node(n).outputs[0]).shape;
      for (ValueId id : node(n).inputs) {
        if (!is_f32(id)) continue;
        const bool fed = std::count(graph_.feeds.begin(), graph_.feeds.end(), id) > 0;
        const bool spread = statistic[at(id)] && !(graph_.type(id).shape == shape);
        const bool lossy =
            is_constant(id) &&
            loses_numbers(*literal_of(graph_.node(graph_.value(id).producer)), half_);
        if (!fed && !spread && !lossy) continue;
        wide_[n] = true;
        result_[n].why = lossy    ? "reads a constant that half precision cannot hold"
                         : spread ? "spreads a statistic"
                                  : "takes in a feed";
      }
    }
  }

  void flow_white() {
    const std::size_t count = result_.size();
    std::vector<bool> before(count, false), after(count, false);  // a white op
    for (std::size_t n = count; n-- > 0;) {
      if (!able_[n]) continue;
      after[n] = is_white(n);
      if (after[n] || wide_[n]) continue;
      for (ValueId out : node(n).outputs) {
        for (std::size_t reader : readers_[at(out)]) after[n] = after[n] || after[reader];
      }
    }
    for (std::size_t n = 0; n < count; ++n) {
      if (!able_[n]) continue;
      before[n] = is_white(n);
      for (ValueId id : node(n).inputs) {
        const ir::NodeId producer = id == ir::kNone ? ir::kNone : graph_.value(id).producer;
        before[n] = before[n] || (producer != ir::kNone && before[at(producer)]);
      }
      if (is_white(n)) {
        set_half(n, "is white");
      } else if (before[n] && after[n] && !wide_[n]) {
        set_half(n, "lies between white ops");
      }
    }
  }

  /// Clear ops behind halves, and reductions of halves, go half: what is widened comes later and is
  /// smaller.
  void join_forwards() {
    for (std::size_t n = 0; n < result_.size(); ++n) {
      if (!able_[n] || result_[n].half || wide_[n]) continue;
      bool all = true, any = false;
      for (ValueId id : node(n).inputs) {
        if (!is_f32(id)) continue;
        any = any || is_half(id);
        all = all && (is_half(id) || is_constant(id));
      }
      if (!any || !all) continue;
      if (is_clear(n)) set_half(n, "follows halves");
      if (!is_clear(n) && may_reduce(n)) set_half(n, "reduces before it is widened");
    }
  }

  /// Whether a gray node is a reduction of halves that are widened for nobody else, and nobody
  /// spreads its result.
  bool may_reduce(std::size_t n) const {
    if (!reduces(n, node(n).outputs[0])) return false;
    for (ValueId out : node(n).outputs) {
      for (std::size_t reader : readers_[at(out)]) {
        if (wide_[reader]) return false;
      }
    }
    for (ValueId id : node(n).inputs) {
      if (!is_f32(id)) continue;
      if (kept_[at(id)]) return false;
      for (std::size_t reader : readers_[at(id)]) {
        const bool joins = able_[reader] && !wide_[reader] &&
                           (is_clear(reader) || reduces(reader, node(reader).outputs[0]));
        if (!result_[reader].half && !joins) return false;
      }
    }
    return true;
  }

  /// Clear ops that only halves read go half, where that narrows no larger tensor.
  void join_backwards() {
    for (std::size_t n = result_.size(); n-- > 0;) {
      if (!is_clear(n) || result_[n].half || wide_[n]) continue;
      bool joins = true, read = false;
      for (ValueId out : node(n).outputs) {
        joins = joins && !kept_[at(out)];
        for (std::size_t reader : readers_[at(out)]) {
          read = true;
          joins = joins && reads_half(reader, out);
        }
        for (ValueId id : node(n).inputs) {
          joins = joins && !(is_f32(id) && is_smaller(graph_.type(out), graph_.type(id)));
        }
      }
      if (joins && read) set_half(n, "only halves read it");
    }
  }

  bool reads_half(std::size_t reader, ValueId value) const {
    if (!result_[reader].half) return false;
    for (std::size_t i = 0; i < node(reader).inputs.size(); ++i) {
      if (node(reader).inputs[i] == value && !result_[reader].narrowed[i]) return false;
    }
    return true;
  }

  std::string_view why_not(std::size_t n) const {
    if (!has_f32(n) || ops_[n] == &ops::cast) return "";
    if (!ops_[n]) return "is opaque";
    if (colour_of(n) == Colour::kBlack) return "is black";
    if (!able_[n]) return "takes no halves";
    return "does not lie between white ops";
  }

  const ir::Graph& graph_;
  DType half_;
  std::vector<Precision> result_;
  std::vector<const Op*> ops_;                     // null for opaque nodes
  std::vector<bool> able_;                         // could run half
  std::vector<bool> wide_;                         // elementwise, and better in f32
  std::vector<std::vector<std::size_t>> readers_;  // by value
  std::vector<bool> kept_;                         // by value: fetched, or a next state
};

}  // namespace

std::vector<Precision> colour(const ir::Graph& graph, DType half) {
  return Colouring(graph, half).run();
}

}  // namespace plait
