// Naming sizes: axes joined by the letters of the op table.
#include "io/aicf/sizes.h"

#include <array>
#include <numeric>
#include <set>

#include "io/aicf/op.h"

namespace plait::io::aicf {
namespace {

/// Axes of all cells in sets that must be equal.
class Axes {
 public:
  explicit Axes(const Record& record) : record_(record) {
    for (const Value& v : record.values) {
      first_.push_back(parent_.size());
      parent_.resize(parent_.size() + v.shape.size());
    }
    std::iota(parent_.begin(), parent_.end(), std::size_t{0});
    for (const Node& node : record.nodes) join_node(node);
  }

  std::size_t set_of(Cell cell, std::size_t axis) {
    return root(first_[static_cast<std::size_t>(cell)] + axis);
  }

 private:
  std::size_t root(std::size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }

  void join_node(const Node& node) {
    const OpRule& rule = *find_rule(node.op);
    std::array<std::ptrdiff_t, 128> letters{};
    letters.fill(-1);
    Cell whole = -1;
    const auto join_slot = [&](const Slot& slot, Cell cell) {
      if (slot.axes == ".") return;
      const std::size_t rank = record_.value(cell).shape.size();
      for (std::size_t i = 0; i < rank; ++i) {
        const std::size_t mine = set_of(cell, i);
        if (slot.axes == "*") {
          if (whole >= 0) parent_[mine] = set_of(whole, i);
          continue;
        }
        std::ptrdiff_t& letter = letters[static_cast<std::size_t>(slot.axes[i])];
        if (letter >= 0) parent_[mine] = root(static_cast<std::size_t>(letter));
        letter = static_cast<std::ptrdiff_t>(mine);
      }
      if (slot.axes == "*") whole = cell;
    };
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      join_slot(rule.inputs[static_cast<int>(i)], node.inputs[i]);
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      join_slot(rule.outputs[static_cast<int>(i)], node.outputs[i]);
    }
  }

  const Record& record_;
  std::vector<std::size_t> first_;   // by cell: the number of its first axis
  std::vector<std::size_t> parent_;  // by axis
};

bool is_layer(const Node& node) { return find_rule(node.op)->inputs[0].axes == "mk"; }

}  // namespace

std::vector<Shape> plain_shapes(const Record& record) {
  std::vector<Shape> shapes;
  for (const Value& v : record.values) shapes.push_back(shape_of(v.shape));
  return shapes;
}

std::vector<Shape> named_shapes(const Record& record, Import& import) {
  std::vector<Shape> shapes = plain_shapes(record);
  Axes axes(record);
  std::ptrdiff_t rows = -1;  // the set of the first layer's rows
  std::int64_t batch = 0;
  std::set<std::size_t> features, all_rows;
  std::set<std::int64_t> widths;
  for (const Node& node : record.nodes) {
    if (!is_layer(node)) continue;
    const Cell x = node.inputs[0], w = node.inputs[1];
    all_rows.insert(axes.set_of(x, 0));
    if (rows < 0) {
      rows = static_cast<std::ptrdiff_t>(axes.set_of(x, 0));
      batch = record.value(x).shape[0];
    }
    for (std::size_t i = 0; i < 2; ++i) {
      features.insert(axes.set_of(w, i));
      widths.insert(record.value(w).shape[i]);
    }
  }
  if (rows < 0) return shapes;
  // Rows that are features elsewhere (a weight as an input) mean two things: they keep their
  // number.
  for (std::size_t set : all_rows) {
    if (features.contains(set)) return shapes;
  }
  std::optional<Dim> batch_dim, width_dim;
  if (batch > 0) batch_dim = import.named("batch", batch);
  if (widths.size() == 1 && *widths.begin() > 0) width_dim = import.named("width", *widths.begin());
  for (std::size_t c = 0; c < shapes.size(); ++c) {
    for (std::size_t i = 0; i < shapes[c].size(); ++i) {
      const std::size_t set = axes.set_of(static_cast<Cell>(c), i);
      if (batch_dim && static_cast<std::ptrdiff_t>(set) == rows) shapes[c][i] = *batch_dim;
      if (width_dim && features.contains(set)) shapes[c][i] = *width_dim;
    }
  }
  return shapes;
}

}  // namespace plait::io::aicf
