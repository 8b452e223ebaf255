// Groups of parameters that an optimizer updates in their own way, and rules that make them by
// name.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nn/module.h"

namespace plait::nn {

/// What is not said here is the optimizer's.
struct ParameterGroup {
  std::vector<Parameter*> parameters;
  std::optional<double> lr = {};  // in a state of its own: that of the optimizer, `.` and number
  std::optional<double> weight_decay = {};
  bool frozen = false;  // no gradient and no update
};

/// Which parameters the optimizer's own weight decay is for. A group's own is for all of its.
enum class Decay { kAll, kMatrices };

/// Norms, biases and the like: one dimension, or three and more of which at most one is not 1
/// (RWKV's time_mix is [1, 1, width]).
bool is_vector(const Shape& shape);

/// `layer1.* lr=1e-4 weight_decay=0`: a pattern over names (base/glob.h), and what is theirs.
struct GroupRule {
  std::string glob;
  std::optional<double> lr, weight_decay;
};
/// UserError beginning with `where`.
GroupRule parse_group_rule(std::string_view text, std::string_view where);

struct GroupRules {
  std::vector<GroupRule> rules;
  std::vector<std::string> freeze = {};  // patterns, which win over rules
};
/// One group per rule, in their order, then the frozen ones, if there are any. A parameter is in
/// the first group whose pattern takes it. UserError, beginning with `where`, on a pattern that
/// matches none, and on a group whose parameters are all taken before it.
std::vector<ParameterGroup> groups_by(const GroupRules& rules,
                                      const std::vector<Parameter*>& parameters,
                                      const std::string& where);

}  // namespace plait::nn
