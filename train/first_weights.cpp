// Fitting a file's tensors to a model.
#include "train/first_weights.h"

#include <algorithm>
#include <set>

#include "base/glob.h"
#include "base/text.h"
#include "models/conv_norm.h"
#include "models/resnet50.h"
#include "models/rwkv4.h"
#include "models/rwkv4_names.h"
#include "train/states.h"

namespace plait::train {
namespace {

/// A tensor of the file under the name that it gets.
struct Given {
  std::string original;
  Array array;
};

/// Whether there is a config whose rules can be changed.
enum class Asked { kByConfig, kByFile };

class Fitting {
 public:
  Fitting(const Config::Model& model, const std::vector<ir::State>& states, Asked asked)
      : model_(model), asked_(asked) {
    for (const ir::State& state : states) {
      const bool weight = state.role == ir::Role::kParam || state.role == ir::Role::kBuffer;
      if (weight) states_.push_back(&state);
    }
  }

  FirstWeights fit(io::TensorFile file) {
    rename(std::move(file));
    check_patterns();
    for (const ir::State* state : states_) take(*state);
    check_missing();
    out_.notes = report();
    return std::move(out_);
  }

 private:
  template <class... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    plait::fail(model_.init_from, ": ", parts...);
  }
  bool is_rwkv4() const { return model_.name == models::kRwkv4.name; }

  void rename(io::TensorFile file);
  std::string renamed(std::string name, std::set<std::string>& used,
                      const std::vector<PrefixRule>& rules) const;
  void check_patterns() const;
  void take(const ir::State& state);
  Array fitted(const Given& given, const ir::State& state);
  void check_missing() const;
  std::vector<std::string> report() const;

  const Config::Model& model_;
  Asked asked_;
  std::vector<const ir::State*> states_;  // parameters and buffers
  std::map<std::string, Given> given_;    // what is left of the file
  std::vector<std::string> missing_;      // parameters
  std::vector<const ir::State*> fresh_;
  std::map<std::string, int> casts_;  // `f16 to f32`: how many
  int renamed_ = 0;                   // of those that were taken
  FirstWeights out_;
};

std::string Fitting::renamed(std::string name, std::set<std::string>& used,
                             const std::vector<PrefixRule>& rules) const {
  for (const std::string& prefix : model_.init_strip) {
    if (!name.starts_with(prefix)) continue;
    name.erase(0, prefix.size());
    used.insert(prefix);
  }
  const auto fits = [&](const PrefixRule& rule) { return name.starts_with(rule.from); };
  if (const auto rule = std::find_if(rules.begin(), rules.end(), fits); rule != rules.end()) {
    used.insert(rule->from + " -> " + rule->to);
    name = rule->to + name.substr(rule->from.size());
  }
  return is_rwkv4() ? models::own_rwkv4_name(name) : name;
}

void Fitting::rename(io::TensorFile file) {
  std::vector<PrefixRule> rules;
  for (const std::string& text : model_.init_map) {
    rules.push_back(parse_prefix_rule(text, "model.init_map"));
  }
  std::set<std::string> used;
  for (auto& [name, array] : file.tensors) {
    const auto [at, added] =
        given_.emplace(renamed(name, used, rules), Given{name, std::move(array)});
    if (!added) fail("both ", at->second.original, " and ", name, " become ", at->first);
  }
  for (const std::string& prefix : model_.init_strip) {
    if (used.count(prefix) == 0) fail("no name begins with '", prefix, "' (model.init_strip)");
  }
  for (const PrefixRule& rule : rules) {
    if (used.count(rule.from + " -> " + rule.to) > 0) continue;
    fail("no name begins with '", rule.from, "' (model.init_map) that a rule before it has not ",
         "taken");
  }
}

void Fitting::check_patterns() const {
  std::vector<std::string> names;
  for (const ir::State* state : states_) names.push_back(state->name);
  for (const auto& [name, given] : given_) names.push_back(name);
  for (const std::string& glob : model_.init_skip) {
    check_matches(glob, names, "weight of the model or the file",
                  model_.init_from + ": model.init_skip");
  }
}

void Fitting::take(const ir::State& state) {
  const auto found = given_.find(state.name);
  const bool skipped = matches_any(model_.init_skip, state.name);
  if (skipped || found == given_.end()) {
    fresh_.push_back(&state);
    if (!skipped && state.role == ir::Role::kParam) missing_.push_back(state.name);
    return;
  }
  out_.taken.emplace(state.name, fitted(found->second, state));
  renamed_ += found->second.original != state.name;
  given_.erase(found);
}

/// The sizes that are not 1.
Sizes without_ones(Sizes sizes) {
  std::erase(sizes, 1);
  return sizes;
}

Array Fitting::fitted(const Given& given, const ir::State& state) {
  const Array& array = given.array;
  const Sizes sizes = sizes_of(state.type.shape);
  const bool same_shape =
      is_rwkv4() ? without_ones(array.sizes()) == without_ones(sizes) : array.sizes() == sizes;
  const DType dtype = state.type.dtype;
  const bool same_dtype = array.dtype() == dtype;
  if (!same_shape || !(same_dtype || (is_float(array.dtype()) && is_float(dtype)))) {
    fail(given.original, " is ", type_text(array), ", the model's ", state.name, " is ", state.type,
         asked_ == Asked::kByFile
             ? ""
             : str(". To begin it anew: model.init_skip = [", quoted(state.name), "]"));
  }
  if (asked_ == Asked::kByConfig && !all_finite(array)) {
    fail(given.original,
         " is not finite: it holds a NaN or an infinity. To begin it anew: ", "model.init_skip = [",
         quoted(state.name), "]");
  }
  const Array shaped = array.sizes() == sizes ? array : array.reshaped(sizes);
  if (same_dtype) return shaped;
  const Array cast = shaped.cast(dtype);
  if (all_finite(array) && !all_finite(cast)) {
    fail(given.original, ": ", array.dtype(), " values do not fit the model's ", dtype);
  }
  ++casts_[str(array.dtype(), " to ", dtype)];
  return cast;
}

/// `a, b, c`, of many the first of them.
std::string some_of(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 5;
  const std::vector<std::string> first(names.begin(),
                                       names.begin() + std::min(kMost, names.size()));
  return join(first, ", ") + (names.size() > kMost ? ", ..." : "");
}

void Fitting::check_missing() const {
  if (missing_.empty() && !out_.taken.empty()) return;
  std::vector<std::string> left;
  for (const auto& [name, given] : given_) left.push_back(name);
  if (missing_.empty()) {
    fail("nothing of it is taken: model.init_skip leaves out all that the model has");
  }
  constexpr const char* kHint =
      ". Names are fitted by model.init_strip and model.init_map; model.init_skip leaves out what "
      "is to begin anew";
  plait::fail(model_.init_from, " lacks ", counted(missing_.size(), "parameter", "parameters"),
              " of the model: ", some_of(missing_),
              left.empty() ? "" : "; it has besides " + some_of(left),
              asked_ == Asked::kByFile ? "" : kHint);
}

std::vector<std::string> Fitting::report() const {
  std::vector<std::string> left, fresh, casts;
  for (const auto& [name, given] : given_) {
    const std::string from = name == given.original ? "" : " (" + given.original + ")";
    left.push_back(str(name, from, " ", type_text(given.array)));
  }
  for (const ir::State* state : fresh_) fresh.push_back(str(state->name, " ", state->type));
  for (const auto& [what, count] : casts_) casts.push_back(str(count, " cast from ", what));
  const std::string head = str("model.init_from ", model_.init_from, ": ");
  std::vector<std::string> out{str(head, "taken ", out_.taken.size(), " of the model's ",
                                   states_.size(), " parameters and buffers",
                                   renamed_ > 0 ? str(", ", renamed_, " renamed") : "",
                                   casts.empty() ? "" : ", " + join(casts, ", "))};
  if (!left.empty()) out.push_back(str(head, "left ", left.size(), ": ", join(left, ", ")));
  if (!fresh.empty()) out.push_back(str(head, "new ", fresh.size(), ": ", join(fresh, ", ")));
  return out;
}

}  // namespace

PrefixRule parse_prefix_rule(std::string_view text, std::string_view where) {
  constexpr std::string_view kArrow = "->";
  const std::size_t at = text.find(kArrow);
  if (at != std::string_view::npos) {
    const std::string_view from = trim(text.substr(0, at));
    const std::string_view to = trim(text.substr(at + kArrow.size()));
    if (from != to && to.find(kArrow) == std::string_view::npos) {
      return {std::string(from), std::string(to)};
    }
  }
  fail(where, ": ", quoted(text), " is no rule: say \"FROM -> TO\", two prefixes of names");
}

FirstWeights first_weights(io::TensorFile file, const Config::Model& model,
                           const std::vector<ir::State>& states) {
  return Fitting(model, states, Asked::kByConfig).fit(std::move(file));
}

FirstWeights read_first_weights(const Config::Model& model, const std::vector<ir::State>& states) {
  if (model.init_from.empty()) return {};
  return first_weights(io::read_safetensors(model.init_from), model, states);
}

void set_weights(Session& session, Tensors weights) {
  for (auto& [name, array] : weights) session.set_state(name, std::move(array));
}

std::string non_finite_note(const Tensors& weights, const std::string& file) {
  const std::string bad = first_non_finite(weights);
  return bad.empty() ? "" : str(file, ": ", bad, " is not finite: it holds a NaN or an infinity");
}

std::string set_weights(Session& session, const std::string& model, const std::string& file) {
  Config::Model plain;
  plain.name = model;
  plain.init_from = file;
  const std::vector<ir::State> states = state_table(session.package());
  Fitting fitting(plain, states, Asked::kByFile);
  io::TensorFile weights = io::read_safetensors(file);
  if (model == models::kResNet50.name) {
    weights.tensors = models::folded_norms(std::move(weights.tensors), states);
  }
  Tensors taken = fitting.fit(std::move(weights)).taken;
  std::string said = non_finite_note(taken, file);
  set_weights(session, std::move(taken));
  return said;
}

}  // namespace plait::train
