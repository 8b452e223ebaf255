// The table of ops, and a node against its row.
#include "io/aicf/op.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/text.h"

namespace plait::io::aicf {
namespace {

constexpr AttrRule kBias{"bias", AttrRule::kFlag};
constexpr AttrRule kLayoutAttr{"layout", AttrRule::kLayout};
constexpr AttrRule kLr{"lr", AttrRule::kNumber, true};
constexpr AttrRule kBeta1{"beta1", AttrRule::kNumber, true};
constexpr AttrRule kBeta2{"beta2", AttrRule::kNumber, true};
constexpr AttrRule kEps{"eps", AttrRule::kNumber, true};

// Rows are laid out by hand.
// clang-format off
constexpr OpRule kRules[] = {
    {"Linear", {{"x", "mk"}, {"W", "nk", 'T', Use::kWeight}, {"b?", "n", 'T', Use::kWeight}},
     {{"y", "mn"}}, {kBias, kLayoutAttr}},
    {"ReLU", {{"x", "*"}}, {{"y", "*"}}},
    {"Save", {{"x", "*"}}, {{"saved", "*"}}},
    {"MseGrad", {{"pred", "*"}, {"target", "*"}}, {{"dY", "*"}}, {{"scale"}}},
    {"LinearBwd", {{"x", "mk"}, {"W", "nk", 'T', Use::kWeight}, {"dY", "mn"}},
     {{"dX", "mk"}, {"dW", "nk"}, {"db?", "n"}}, {kBias, kLayoutAttr}},
    {"ReluBwd", {{"dY", "*"}, {"saved", "*"}}, {{"dX", "*"}}},
    {"SgdStep", {{"p", "*", 'T', Use::kWeight}, {"g", "*"}}, {{"p", "*"}}, {kLr}},
    {"StepInc", {{"step", ".", 'I', Use::kCounter}}, {{"step", ".", 'I'}}},
    {"BiasCorr", {{"step", ".", 'I'}}, {{"bc1_inv", ".", 'F'}, {"bc2_inv", ".", 'F'}},
     {kBeta1, kBeta2}},
    {"AdamStep",
     {{"p", "*", 'T', Use::kWeight}, {"g", "*"}, {"m", "*", 'S', Use::kMoment},
      {"v", "*", 'S', Use::kMoment}, {"bc1_inv", ".", 'F'}, {"bc2_inv", ".", 'F'}},
     {{"p", "*"}, {"m", "*", 'S'}, {"v", "*", 'S'}}, {kLr, kBeta1, kBeta2, kEps}},
};
// clang-format on

template <int N>
int fewest(const FixedList<Slot, N>& slots) {
  return static_cast<int>(
      std::count_if(slots.begin(), slots.end(), [](const Slot& s) { return !s.optional(); }));
}

template <int N>
std::string names_text(const FixedList<Slot, N>& slots) {
  std::vector<std::string> names;
  for (const Slot& s : slots) {
    names.push_back(s.optional() ? str("[", s.bare(), "]") : std::string(s.name));
  }
  return join(names, ", ");
}

/// One node against its row; the first thing that is wrong is kept.
struct NodeCheck {
  const Record& record;
  const Node& node;
  const OpRule& rule;
  std::string wrong{};

  template <class... Parts>
  void say(const Parts&... parts) {
    if (wrong.empty()) wrong = str(node.op, ": ", parts...);
  }

  /// `W (v001 0.W) is (8, 4)`
  std::string cell_text(const Slot& slot, Cell cell) const {
    const Value& v = record.value(cell);
    return str(slot.bare(), " (", id_text(v.id), " ", v.name, ")");
  }

  void counts() {
    const auto inputs = static_cast<int>(node.inputs.size());
    const auto outputs = static_cast<int>(node.outputs.size());
    if (inputs < rule.fewest_inputs() || inputs > rule.inputs.size()) {
      say("found ", inputs, " operands, expected (", names_text(rule.inputs), ")");
    }
    if (outputs < rule.fewest_outputs() || outputs > rule.outputs.size()) {
      say("found ", outputs, " results, expected (", names_text(rule.outputs), ")");
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (node.outputs[i] != node.outputs[j]) continue;
        say("writes ", id_text(record.value(node.outputs[i]).id), " twice");
      }
    }
  }

  void attrs() {
    for (const AttrRule& a : rule.attrs) {
      const std::string* text = node.attr(a.key);
      if (!text && a.required) say("has no attribute ", a.key, ". Expected ", a.key, "=NUMBER");
      if (!text) continue;
      if (a.kind == AttrRule::kFlag && !node.flag(a.key)) {
        say(a.key, "=", *text, ", expected True or False");
      }
      if (a.kind == AttrRule::kNumber && !node.number(a.key)) {
        say(a.key, "=", *text, ", expected a finite number");
      }
      if (a.kind == AttrRule::kLayout && *text != kLayout) {
        say(a.key, "=", *text, ", expected ", kLayout, ", the only layout that is known");
      }
    }
    bias();
    for (std::string_view key : {"beta1", "beta2"}) {
      const std::optional<double> beta = node.number(key);
      if (beta && !(*beta >= 0 && *beta < 1)) say(key, "=", *beta, ", expected 0 <= ", key, " < 1");
    }
  }

  /// Whether there is a bias is said twice, and must be said alike.
  void bias() {
    const std::optional<bool> flag = node.flag("bias");
    if (!flag) return;
    const auto& slots = node.op == "Linear" ? node.inputs : node.outputs;
    const std::size_t full = 3;  // (x, W, b), (dX, dW, db)
    if (*flag == (slots.size() == full)) return;
    say("bias=", *node.attr("bias"), ", but it has ", *flag ? "no " : "a ",
        node.op == "Linear" ? "bias among its operands" : "bias gradient among its results");
  }

  void shapes() {
    std::array<std::int64_t, 128> sizes{};  // by letter
    sizes.fill(-1);
    const Sizes* whole = nullptr;  // of `*`
    const auto check_slot = [&](const Slot& slot, Cell cell) {
      const Sizes& shape = record.value(cell).shape;
      if (slot.axes == ".") {
        if (element_count(shape) != 1) {
          say(cell_text(slot, cell), " is ", tuple_text(shape), ", expected one element");
        }
      } else if (slot.axes == "*") {
        if (whole && shape != *whole) {
          say(cell_text(slot, cell), " is ", tuple_text(shape), ", expected ", tuple_text(*whole),
              " like ", rule.inputs[0].bare());
        }
        if (!whole) whole = &shape;
      } else {
        axes(slot, cell, sizes);
      }
    };
    each_slot(check_slot);
  }

  void axes(const Slot& slot, Cell cell, std::array<std::int64_t, 128>& sizes) {
    const Sizes& shape = record.value(cell).shape;
    std::vector<std::string> wanted;
    bool fits = shape.size() == slot.axes.size();
    for (std::size_t i = 0; i < slot.axes.size(); ++i) {
      const std::int64_t known = sizes[static_cast<std::size_t>(slot.axes[i])];
      wanted.push_back(known < 0 ? std::string(1, slot.axes[i]) : std::to_string(known));
      if (fits && known >= 0 && known != shape[i]) fits = false;
    }
    if (!fits) {
      say(cell_text(slot, cell), " is ", tuple_text(shape), ", expected (", join(wanted, ", "),
          wanted.size() == 1 ? ",)" : ")");
      return;
    }
    for (std::size_t i = 0; i < shape.size(); ++i) {
      sizes[static_cast<std::size_t>(slot.axes[i])] = shape[i];
    }
  }

  void dtypes() {
    std::optional<DType> floats, ints;
    const auto check_slot = [&](const Slot& slot, Cell cell) {
      const DType dtype = record.value(cell).dtype;
      const auto want = [&](bool good, const std::string& expected) {
        if (good) return;
        say(cell_text(slot, cell), " is ", torch_name(dtype), ", expected ", expected);
      };
      switch (slot.dtype) {
        case 'I':
          want(kIndexInts.has(dtype), "torch.int32 or torch.int64");
          want(!ints || *ints == dtype, ints ? torch_name(*ints) : "");
          ints = dtype;
          break;
        case 'S':
          want(dtype == *floats || dtype == compute_dtype(*floats),
               torch_name(*floats) + (is_half(*floats) ? " or torch.float32" : ""));
          break;
        case 'F':
          want(is_float(dtype), "a float");
          break;
        default:
          want(is_float(dtype), "a float");
          want(!floats || *floats == dtype,
               floats ? str(torch_name(*floats), " like ", rule.inputs[0].bare()) : "");
          floats = floats ? floats : dtype;
      }
    };
    each_slot(check_slot);
  }

  template <class F>
  void each_slot(F f) const {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      f(rule.inputs[static_cast<int>(i)], node.inputs[i]);
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      f(rule.outputs[static_cast<int>(i)], node.outputs[i]);
    }
  }
};

}  // namespace

int OpRule::fewest_inputs() const { return fewest(inputs); }
int OpRule::fewest_outputs() const { return fewest(outputs); }

bool OpRule::is_pointwise() const {
  const auto whole = [](const Slot& slot) { return slot.axes == "*"; };
  const auto fits = [&](const Slot& slot) { return whole(slot) || slot.axes == "."; };
  return std::all_of(inputs.begin(), inputs.end(), fits) &&
         std::all_of(outputs.begin(), outputs.end(), whole);
}

const OpRule* find_rule(std::string_view name) {
  for (const OpRule& rule : kRules) {
    if (rule.name == name) return &rule;
  }
  return nullptr;
}

std::vector<std::string> op_names() {
  std::vector<std::string> names;
  for (const OpRule& rule : kRules) names.emplace_back(rule.name);
  return names;
}

bool has_unknown_attr(const Node& node) {
  const OpRule* rule = find_rule(node.op);
  return std::any_of(node.attrs.begin(), node.attrs.end(), [&](const Attr& a) {
    return std::none_of(rule->attrs.begin(), rule->attrs.end(),
                        [&](const AttrRule& known) { return known.key == a.key; });
  });
}

std::string why_bad_node(const Record& record, std::size_t index) {
  const Node& node = record.node(index);
  const OpRule* rule = find_rule(node.op);
  if (!rule) {
    const std::string hint = suggestion(node.op, op_names());
    return str("the format has no op ", quoted(node.op), ".",
               hint.empty() ? " Its ops are " + join(op_names(), ", ") : hint);
  }
  NodeCheck check{record, node, *rule};
  check.counts();
  if (check.wrong.empty()) check.attrs();
  if (check.wrong.empty()) check.dtypes();
  if (check.wrong.empty()) check.shapes();
  constexpr std::size_t kLongest = 600;  // names and attributes are the document's
  if (check.wrong.size() > kLongest) check.wrong = check.wrong.substr(0, kLongest) + "...";
  return check.wrong;
}

}  // namespace plait::io::aicf
