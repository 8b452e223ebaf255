// Parts of a node, read off the indices of its nest.
#include "ops/split.h"

#include <algorithm>
#include <optional>

#include "base/at.h"
#include "loop/kernel.h"
#include "ops/shape.h"

namespace plait {
namespace {

bool has_numbers(const Shape& shape) {
  return std::all_of(shape.begin(), shape.end(), [](const Dim& d) { return d.is_const(); });
}

std::int64_t product(const Shape& shape, std::size_t from, std::size_t to) {
  std::int64_t n = 1;
  for (std::size_t i = from; i < to; ++i) n *= shape[i].value();
  return n;
}

/// Consecutive elements of axes in row-major order as ranges of these axes, appended to `out`.
bool append_run(AxisRange run, const Shape& axes, std::size_t begin, std::size_t end, Box& out) {
  for (std::size_t i = begin; i < end; ++i) {
    const std::int64_t inner = product(axes, i + 1, end);
    if (run.from % inner == 0 && run.to % inner == 0) {
      out.push_back({run.from / inner, run.to / inner});
      for (std::size_t k = i + 1; k < end; ++k) out.push_back({0, axes[k].value()});
      return true;
    }
    const std::int64_t at = run.from / inner;
    if ((run.to - 1) / inner != at) return false;
    out.push_back({at, at + 1});
    run = {run.from - at * inner, run.to - at * inner};
  }
  return true;
}

/// Ranges of axes as consecutive elements in row-major order: single indices, one range, then whole
/// axes.
std::optional<AxisRange> run_of(const Shape& axes, const Box& box, std::size_t begin,
                                std::size_t end) {
  AxisRange run{0, 1};
  bool ranged = false;
  for (std::size_t i = begin; i < end; ++i) {
    const std::int64_t size = axes[i].value();
    if (ranged && !(box[i] == AxisRange{0, size})) return std::nullopt;
    ranged |= box[i].size() != 1;
    run = {run.from * size + box[i].from, (run.to - 1) * size + box[i].to};
  }
  return run;
}

/// A node's parts while its split indices are found.
class Splitting {
 public:
  Splitting(const NodeView& view, const GivenBoxes& given)
      : view_(view), given_(given), nest_(nest_of(view)), limits_(nest_.vars.size()) {}

  NodePart run() {
    take_outputs();
    for (const loop::Access& a : nest_.loads) take_operand(a);
    for (const loop::LoadedIndex& l : nest_.loaded) take_operand(l.from);
    part_.inputs.resize(view_.inputs.size());
    for (const loop::Access& a : nest_.loads) need(a);
    for (const loop::LoadedIndex& l : nest_.loaded) need(l.from);
    for (int i = 0; i < view_.count(); ++i) {
      if (view_.has(i) && part_.inputs[at(i)].empty()) {
        part_.inputs[at(i)] = whole_box(view_.in(i).shape);
      }
    }
    reads_indices(nest_.body);
    reads_indices(nest_.finish);
    make_outputs();
    return std::move(part_);
  }

 private:
  void refuse(std::string why) {
    if (part_.fits) part_.fits = Decision::forbid(std::move(why));
  }

  Dim symbol(std::size_t v) const {
    return loop::index_symbol(nest_.vars[v].name, nest_.vars[v].extent);
  }
  bool mentions_split(const Dim& d) const {
    for (std::size_t v = 0; v < limits_.size(); ++v) {
      if (limits_[v] && loop::mentions(d, "$" + nest_.vars[v].name)) return true;
    }
    return false;
  }
  std::optional<std::size_t> variable(const Dim& index) const {
    for (std::size_t v = 0; v < nest_.vars.size(); ++v) {
      if (index == symbol(v)) return v;
    }
    return std::nullopt;
  }

  void limit(std::size_t v, const AxisRange& range) {
    if (limits_[v] && !(*limits_[v] == range)) refuse("its operands' parts do not meet");
    limits_[v] = range;
  }

  void take_outputs() {
    if (given_.outputs.empty() || !given_.outputs[0]) return;
    const Shape& shape = view_.out().shape;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const AxisRange& range = (*given_.outputs[0])[d];
      if (!(range == AxisRange{0, shape[d].value()})) limit(d, range);
    }
  }

  void take_operand(const loop::Access& a) {
    const Box* box = given_.inputs.empty() ? nullptr : given_.inputs[at(a.operand)];
    if (!box) return;
    const Shape& shape = view_.in(a.operand).shape;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if ((*box)[d] == AxisRange{0, shape[d].value()}) continue;
      const auto v = variable(a.index[d]);
      if (!v) return refuse("it reads other rows than its own");
      limit(*v, (*box)[d]);
    }
  }

  void need(const loop::Access& a) {
    for (const loop::Guard& g : a.guards) {
      if (mentions_split(g.index)) return refuse("its rows are padded or joined");
    }
    const Shape& shape = view_.in(a.operand).shape;
    Box box;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const auto v = variable(a.index[d]);
      if (v && limits_[*v]) {
        box.push_back(*limits_[*v]);
      } else if (mentions_split(a.index[d])) {
        return refuse("it reads other rows than its own");
      } else {
        box.push_back({0, shape[d].value()});
      }
    }
    Box& known = part_.inputs[at(a.operand)];
    if (!known.empty() && known != box) refuse("it reads an operand in two ways");
    const Box* given = given_.inputs.empty() ? nullptr : given_.inputs[at(a.operand)];
    if (given && *given != box) refuse("its operands' parts do not meet");
    known = std::move(box);
  }

  /// A formula over the index itself would mean another one in a part.
  void reads_indices(const loop::Expr& e) {
    if (!e) return;
    for (const loop::Tape::Step& s : loop::flatten(e).steps) {
      if (s.op == loop::ScalarOp::kIndex && mentions_split(s.index)) {
        refuse("it computes with the number of the row");
      }
    }
  }

  void make_outputs() {
    Box out;
    for (std::size_t v = 0; v < nest_.vars.size(); ++v) {
      const loop::IndexVar& var = nest_.vars[v];
      if (!var.reduced) {
        out.push_back(limits_[v].value_or(AxisRange{0, var.extent.value()}));
      } else if (limits_[v]) {
        part_.combine = nest_.reduce;
        if (nest_.finish) refuse("what follows its sum is for the whole sum");
      }
    }
    part_.outputs = {std::move(out)};
  }

  const NodeView& view_;
  const GivenBoxes& given_;
  const loop::Nest nest_;
  std::vector<std::optional<AxisRange>> limits_;  // per variable: the part of it, where it is split
  NodePart part_;
};

NodePart part_of_reshape(const NodeView& view, const GivenBoxes& given) {
  NodePart part;
  const Shape &from = view.in(0).shape, &to = view.out().shape;
  const Box* in = given.inputs.empty() ? nullptr : given.inputs[0];
  const Box* out = given.outputs.empty() ? nullptr : given.outputs[0];
  const std::optional<Box> made = in ? reshaped(from, *in, to) : std::optional(whole_box(to));
  const std::optional<Box> needed = out ? reshaped(to, *out, from) : std::optional(whole_box(from));
  if (!made || !needed || (in && out && *made != *out)) {
    part.fits = Decision::forbid("its rows are cut through");
    return part;
  }
  part.inputs = {in ? *in : *needed};
  part.outputs = {out ? *out : *made};
  return part;
}

/// Attributes over the parts; the op must infer the very types from them.
void settle(const NodeView& view, NodePart& part) {
  part.attrs = view.attrs;
  if (view.op.attrs == &ir::kSchema<ops::ShapeTo>) {
    part.attrs = ir::encode(ops::ShapeTo{shape_of(part.outputs[0])});
  }
  std::vector<ir::Type> types;
  NodeView small{view.op, {}, {}, part.attrs, view.where};
  for (int i = 0; i < view.count(); ++i) {
    types.push_back(view.has(i) ? ir::Type{view.in(i).dtype, shape_of(part.inputs[at(i)])}
                                : ir::Type{});
  }
  for (int i = 0; i < view.count(); ++i) {
    small.inputs.push_back(view.has(i) ? &types[at(i)] : nullptr);
  }
  try {
    if (infer(small)[0].shape == shape_of(part.outputs[0])) return;
  } catch (const UserError&) {
  }
  part.fits = Decision::forbid("its attributes are for the whole");
}

}  // namespace

Box whole_box(const Shape& shape) {
  Box box;
  for (const Dim& d : shape) box.push_back({0, d.value()});
  return box;
}

Shape shape_of(const Box& box) {
  Shape shape;
  for (const AxisRange& r : box) shape.emplace_back(r.size());
  return shape;
}

std::optional<Box> reshaped(const Shape& from, const Box& box, const Shape& to) {
  if (product(from, 0, from.size()) == 0) return std::nullopt;
  Box out;
  std::size_t i = 0, o = 0;
  while (i < from.size() || o < to.size()) {  // axes of equal products belong together
    std::size_t i_end = std::min(i + 1, from.size()), o_end = std::min(o + 1, to.size());
    for (;;) {
      const std::int64_t a = product(from, i, i_end), b = product(to, o, o_end);
      if (a == b) break;
      ++(a < b ? i_end : o_end);
    }
    const std::optional<AxisRange> run = run_of(from, box, i, i_end);
    if (!run || !append_run(*run, to, o, o_end, out)) return std::nullopt;
    i = i_end;
    o = o_end;
  }
  return out;
}

NodePart part_of(const NodeView& view, const GivenBoxes& given) {
  NodePart part;
  const auto refuse = [&](std::string_view why) {
    part.fits = Decision::forbid(std::string(why));
    return part;
  };
  if (!has_nest(view.op) || view.outputs.size() != 1) return refuse("it has no index map");
  for (int i = 0; i < view.count(); ++i) {
    if (view.has(i) && !has_numbers(view.in(i).shape)) return refuse("its sizes are not numbers");
  }
  if (!has_numbers(view.out().shape)) return refuse("its sizes are not numbers");
  part = view.op.nest == ops::nest_reshape ? part_of_reshape(view, given)
                                           : Splitting(view, given).run();
  if (part.fits) settle(view, part);
  return part;
}

}  // namespace plait
