// Products of one shape over different operands: the gradients of weights, RWKV's key, value and
// receptance.
#include "plan/order/batch.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/text.h"
#include "plan/order/independent.h"
#include "plan/order/join.h"

namespace plait::plan {
namespace {

/// Steps that one may move down: its operands lie in memory for so long.
constexpr std::size_t kFarthest = 64;

/// Whether the product is the result.
bool is_bare(const ProductCall& call) { return call.c.valid(); }

/// A step's product, bare or a library's with a kernel behind it; null: it is another step.
const ProductCall* product_of(const DraftStep& d) {
  if (d.step.calls.size() != 1) return nullptr;
  const auto* call = std::get_if<ProductCall>(&d.step.calls[0]);
  if (!call || call->parts.size() != 1) return nullptr;
  if (is_bare(*call)) return call;
  const ProductCall::Part& part = call->parts[0];
  if (!part.generated.function.name.empty() || part.epilogue.name.empty()) return nullptr;
  const bool apart = std::any_of(part.arguments.begin(), part.arguments.end(),
                                 [](const program::Argument& a) { return !a.view.valid(); });
  return apart ? call : nullptr;
}

std::string shape_text(const ProductCall::Part& part) {
  const loop::Contraction& c = part.contraction;
  std::string text = str(part.epilogue.name, ' ', name_of(c.dtype), c.guarded ? " guarded" : "");
  for (const Dim* d : {&c.a0, &c.b0, &c.c0, &c.h0, &c.w0, &c.height, &c.width}) {
    text += str(' ', d->text());
  }
  for (const auto* axes : {&c.batch, &c.m, &c.n, &c.k}) {
    text += ';';
    for (const auto& x : *axes) {
      for (const Dim* d : {&x.extent, &x.a, &x.b, &x.c, &x.h, &x.w}) text += str(' ', d->text());
    }
  }
  return text;
}

class Batching {
 public:
  Batching(const ir::Graph& graph, Draft& draft, const Target& target, const DimBindings& largest,
           DecisionLog& log)
      : draft_(draft), target_(target), largest_(largest), log_(log), steps_(graph, draft) {}

  void run() {
    gone_.assign(draft_.steps.size(), false);
    for (const DraftStep& d : draft_.steps) uses_.push_back(program::uses_of(d.step));
    for (std::size_t i = 0; i < draft_.steps.size(); ++i) {
      const ProductCall* call = product_of(draft_.steps[i]);
      if (!call) continue;
      const bool bare = is_bare(*call);
      Group& group = groups_[str(bare, ' ', shape_text(call->parts[0]))];
      if (!group.asked) group.how = target_.grouped_launch(call->parts[0], bare, largest_);
      group.asked = true;
      if (!group.how) continue;
      std::size_t place = i;
      if (!group.steps.empty() && !reaches(group, i)) {
        if (bare && comes_up(group, i)) {
          place = bring_up(group.steps.back() + 1, i);
        } else {
          close(group);
        }
      }
      group.steps.push_back(place);
      if (static_cast<int>(group.steps.size()) >= group.how->most) close(group);
    }
    for (auto& [_, group] : groups_) close(group);
    std::vector<DraftStep> left;
    for (std::size_t i = 0; i < gone_.size(); ++i) {
      if (!gone_[i]) left.push_back(std::move(draft_.steps[i]));
    }
    draft_.steps = std::move(left);
  }

 private:
  struct Group {
    bool asked = false;
    std::optional<GroupedLaunch> how;
    std::vector<std::size_t> steps;
  };

  /// Whether all of a group may run where step `to` does.
  bool reaches(const Group& group, std::size_t to) const {
    if (to - group.steps.front() > kFarthest) return false;
    for (std::size_t i : group.steps) {
      for (std::size_t j = i + 1; j < to; ++j) {
        if (!steps_.may_pass(uses_[i], uses_[j])) return false;
      }
      if (!steps_.independent(uses_[i], uses_[to])) return false;
    }
    return true;
  }

  /// Whether step `from` may run right behind the last of a group.
  bool comes_up(const Group& group, std::size_t from) const {
    const program::Uses& moved = uses_[from];
    const std::size_t last = group.steps.back();
    if (from - last > kFarthest) return false;
    const auto passes = [&](std::size_t i) { return steps_.may_pass(uses_[i], moved); };
    for (std::size_t j = last + 1; j < from; ++j) {
      if (!passes(j)) return false;
    }
    for (const auto& [_, other] : groups_) {  // they run where the last of them is
      if (other.steps.empty() || other.steps.back() <= last) continue;
      if (!std::all_of(other.steps.begin(), other.steps.end(), passes)) return false;
    }
    return std::all_of(group.steps.begin(), group.steps.end(),
                       [&](std::size_t i) { return steps_.independent(uses_[i], moved); });
  }

  /// Those between move down by one.
  std::size_t bring_up(std::size_t to, std::size_t from) {
    const auto turn = [&](auto& of) {
      const auto at = [&](std::size_t i) { return of.begin() + static_cast<std::ptrdiff_t>(i); };
      std::rotate(at(to), at(from), at(from + 1));
    };
    turn(draft_.steps);
    turn(uses_);
    turn(gone_);
    for (auto& [_, group] : groups_) {
      for (std::size_t& i : group.steps) i += i >= to && i < from ? 1 : 0;
    }
    return to;
  }

  void close(Group& group) {
    const std::vector<std::size_t> steps = std::exchange(group.steps, {});
    if (steps.size() < 2) return;
    const GroupedLaunch& how = *group.how;
    const LoopCall& printed = how.print.call;
    draft_.texts.emplace(printed.function.name, how.print.text);
    for (std::size_t i : steps) {
      DraftStep& d = draft_.steps[i];
      auto& call = std::get<ProductCall>(d.step.calls[0]);
      ProductCall::Part& part = call.parts[0];
      part.generated = printed;
      part.generated.arguments = {{call.a}, {call.b}, {call.c, program::Access::kWrite}};
      part.variant.clear();
      d.step.kernel = target_.choose(part.generated, {}, largest_).kernel;
      d.step.seconds = how.predicted.seconds;
      d.step.bound = how.predicted.bound;
      part.workspace.bytes = how.shared_bytes;
      log_.push_back({"order", "%" + d.step.name, "grouped",
                      str("one launch for ", steps.size(), " products of its shape")});
    }
    DraftStep& last = draft_.steps[steps.back()];
    for (std::size_t i = 0; i + 1 < steps.size(); ++i) {
      absorb(last, draft_.steps[steps[i]]);
      gone_[steps[i]] = true;
    }
    uses_[steps.back()] = program::uses_of(last.step);
  }

  Draft& draft_;
  const Target& target_;
  const DimBindings& largest_;
  DecisionLog& log_;
  const Independence steps_;
  std::vector<program::Uses> uses_;  // per step
  std::map<std::string, Group> groups_;
  std::vector<bool> gone_;
};

}  // namespace

void batch_products(const ir::Graph& graph, Draft& draft, const Target& target,
                    const DimBindings& largest, DecisionLog& log) {
  Batching(graph, draft, target, largest, log).run();
}

}  // namespace plait::plan
