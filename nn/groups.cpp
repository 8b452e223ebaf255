// Rules over names.
#include "nn/groups.h"

#include <algorithm>
#include <cmath>

#include "base/glob.h"
#include "base/text.h"

namespace plait::nn {
namespace {

std::vector<std::string> names_of(const std::vector<Parameter*>& parameters) {
  std::vector<std::string> names;
  for (const Parameter* p : parameters) names.push_back(p->name());
  return names;
}

double not_negative(std::string_view text, const std::string& what) {
  const double value = parse_real(text, what);
  if (!(value >= 0 && std::isfinite(value))) fail(what, " must be finite and >= 0, is ", value);
  return value;
}

/// Whose a parameter is: `freeze 'conv.*'`, or `'fc.*'` of the first rule that takes it.
std::string taker_of(const std::string& name, const GroupRules& rules) {
  for (const std::string& glob : rules.freeze) {
    if (matches_glob(glob, name)) return str("freeze '", glob, "'");
  }
  for (const GroupRule& rule : rules.rules) {
    if (matches_glob(rule.glob, name)) return str("'", rule.glob, "'");
  }
  return "";
}

/// UserError for a rule that others leave nothing to.
[[noreturn]] void fail_left_out(const GroupRule& left, const GroupRules& rules,
                                const std::vector<std::string>& names, const std::string& where) {
  std::vector<std::string> matched, takers;
  for (const std::string& name : names) {
    if (!matches_glob(left.glob, name)) continue;
    matched.push_back(name);
    const std::string taker = taker_of(name, rules);
    if (std::find(takers.begin(), takers.end(), taker) == takers.end()) takers.push_back(taker);
  }
  constexpr std::size_t kMost = 5;
  const std::size_t count = matched.size();
  matched.resize(std::min(count, kMost));
  fail(where, ": groups: '", left.glob, "' takes nothing: what it matches (", join(matched, ", "),
       count > kMost ? str(", ... ", count, " parameters") : "", ") is taken by ",
       join(takers, " and "),
       ". freeze wins over groups, and the first group that matches takes: say it before them, or "
       "leave it out");
}

}  // namespace

bool is_vector(const Shape& shape) {
  if (shape.size() < 2) return true;
  const auto wide =
      std::count_if(shape.begin(), shape.end(), [](const Dim& d) { return !d.is(1); });
  return shape.size() > 2 && wide < 2;
}

GroupRule parse_group_rule(std::string_view text, std::string_view where) {
  GroupRule rule;
  for (const std::string& word : split(text, ' ')) {
    if (word.empty()) continue;
    const std::size_t equals = word.find('=');
    const std::string key = word.substr(0, equals);
    const bool has_value = equals != std::string::npos;
    if (!has_value && rule.glob.empty()) {
      rule.glob = word;
    } else if (has_value && (key == "lr" || key == "weight_decay") && !rule.glob.empty()) {
      std::optional<double>& field = key == "lr" ? rule.lr : rule.weight_decay;
      if (field) fail(where, ": '", text, "' says ", key, " twice");
      field = not_negative(word.substr(equals + 1), str(where, ": ", key));
    } else {
      fail(where, ": '", word, "' in '", text,
           "' is unknown: a group is `GLOB lr=RATE weight_decay=FACTOR`, with one of the two or "
           "both");
    }
  }
  if (rule.glob.empty()) fail(where, ": a group without a pattern. Say `GLOB lr=RATE`");
  if (!rule.lr && !rule.weight_decay) {
    fail(where, ": '", text, "' says nothing of its group. Say lr=RATE or weight_decay=FACTOR");
  }
  return rule;
}

std::vector<ParameterGroup> groups_by(const GroupRules& rules,
                                      const std::vector<Parameter*>& parameters,
                                      const std::string& where) {
  const std::vector<std::string> names = names_of(parameters);
  for (const std::string& glob : rules.freeze) {
    check_matches(glob, names, "parameter", where + ": freeze");
  }
  for (const GroupRule& rule : rules.rules) {
    check_matches(rule.glob, names, "parameter", where + ": groups");
  }
  std::vector<ParameterGroup> groups;
  for (const GroupRule& rule : rules.rules) groups.push_back({{}, rule.lr, rule.weight_decay});
  ParameterGroup frozen{.parameters = {}, .frozen = true};
  for (Parameter* p : parameters) {
    const auto takes = [&](const GroupRule& rule) { return matches_glob(rule.glob, p->name()); };
    const auto rule = std::find_if(rules.rules.begin(), rules.rules.end(), takes);
    if (matches_any(rules.freeze, p->name())) {
      frozen.parameters.push_back(p);
    } else if (rule != rules.rules.end()) {
      groups[static_cast<std::size_t>(rule - rules.rules.begin())].parameters.push_back(p);
    }
  }
  for (std::size_t i = 0; i < rules.rules.size(); ++i) {
    if (groups[i].parameters.empty()) fail_left_out(rules.rules[i], rules, names, where);
  }
  if (!frozen.parameters.empty()) groups.push_back(std::move(frozen));
  return groups;
}

}  // namespace plait::nn
