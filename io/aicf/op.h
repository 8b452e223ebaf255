// The ops of the format: operands, results and attributes, as one table. What reads it: the checks
// of the reader, the naming of sizes, the roles of cells, the report.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/aicf/record.h"
#include "ops/op.h"

namespace plait::io::aicf {

/// What is done with an operand's cell beyond this step.
enum class Use { kPlain, kWeight, kMoment, kCounter };

struct Slot {
  std::string_view name;  // `b?` may be left out
  /// A letter per axis, equal letters for equal sizes in one node: m counts rows, k and n features.
  /// `*`: any shape, the same for all such; `.`: one element.
  std::string_view axes;
  /// T: floats, all the same; S: a moment, T's dtype or f32 beside halves; F: any float; I: i32 or
  /// i64, all the same.
  char dtype = 'T';
  Use use = Use::kPlain;

  bool optional() const { return name.ends_with('?'); }
  std::string_view bare() const { return optional() ? name.substr(0, name.size() - 1) : name; }
};

struct AttrRule {
  std::string_view key;
  enum Kind { kFlag, kNumber, kLayout } kind = kNumber;
  bool required = false;
};

struct OpRule {
  std::string_view name;
  FixedList<Slot, 6> inputs{};
  FixedList<Slot, 3> outputs{};
  FixedList<AttrRule, 4> attrs{};

  int fewest_inputs() const;
  int fewest_outputs() const;
  /// Element by element: operands and results of one shape, beside them single numbers.
  bool is_pointwise() const;
};

/// The only layout of weights that is known.
inline constexpr std::string_view kLayout = "y = x @ W^T + b";

/// Null when there is none.
const OpRule* find_rule(std::string_view name);
std::vector<std::string> op_names();

/// Whether the node has an attribute that the op's row does not: its meaning is then unknown.
bool has_unknown_attr(const Node& node);

/// What is wrong with node `index` by itself: op, counts, attributes, shapes, dtypes. Empty if
/// nothing.
std::string why_bad_node(const Record& record, std::size_t index);

}  // namespace plait::io::aicf
