// An order of execution for the operators of the tree, which stand by module.
#include <algorithm>
#include <limits>
#include <queue>
#include <unordered_map>

#include "base/error.h"
#include "base/text.h"
#include "io/oneflow/check.h"
#include "io/oneflow/final.h"
#include "io/oneflow/words.h"

namespace plait::io::oneflow {
namespace {

using Index = std::size_t;
constexpr std::int64_t kUnknown = -1;

/// The number at the end of `<module path>-<type>-<number>`.
std::int64_t number_of(const Operator& op) {
  const std::string_view name = op.name;
  if (is_system(name) || type_in_name(name).empty()) return kUnknown;
  const auto number = integer_of(name.substr(name.rfind('-') + 1));
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max() / 8;
  return number && *number < kMax ? *number : kUnknown;
}

struct Sorter {
  std::vector<const Operator*> operators;
  std::vector<std::vector<Index>> needs, serves;
  std::vector<std::int64_t> rank;  // when it should come, smaller first

  void link(Index from, Index to) {
    serves[from].push_back(to);
    needs[to].push_back(from);
  }

  /// In an order of dependencies alone; shorter than `operators` when some wait for each other.
  std::vector<Index> by_dependency() const {
    std::vector<std::size_t> open(operators.size());
    std::vector<Index> order;
    for (Index i = 0; i < operators.size(); ++i) {
      open[i] = needs[i].size();
      if (open[i] == 0) order.push_back(i);
    }
    for (std::size_t done = 0; done < order.size(); ++done) {
      for (Index next : serves[order[done]]) {
        if (--open[next] == 0) order.push_back(next);
      }
    }
    return order;
  }

  /// Numbers for operators that have none: behind the last operand; before the first reader where
  /// nothing else is computed from it (a weight's cast).
  void rank_all(const std::vector<Index>& order) {
    rank.assign(operators.size(), kUnknown);
    for (Index i = 0; i < operators.size(); ++i) {
      const std::int64_t number = number_of(*operators[i]);
      if (number != kUnknown) rank[i] = 4 * number + 2;
    }
    const std::vector<std::int64_t> fixed = rank;
    for (Index i : order) {
      if (fixed[i] != kUnknown) continue;
      for (Index from : needs[i]) {
        if (rank[from] != kUnknown) rank[i] = std::max(rank[i], rank[from] + 1);
      }
    }
    for (auto at = order.rbegin(); at != order.rend(); ++at) {
      if (rank[*at] != kUnknown) continue;
      std::int64_t least = kUnknown;
      for (Index to : serves[*at]) {
        if (rank[to] != kUnknown && (least == kUnknown || rank[to] < least)) least = rank[to];
      }
      rank[*at] = least == kUnknown ? 0 : std::max<std::int64_t>(least - 1, 0);
    }
  }

  std::vector<const Operator*> sorted() const {
    using Item = std::pair<std::int64_t, Index>;
    std::priority_queue<Item, std::vector<Item>, std::greater<>> ready;
    std::vector<std::size_t> open(operators.size());
    for (Index i = 0; i < operators.size(); ++i) {
      open[i] = needs[i].size();
      if (open[i] == 0) ready.emplace(rank[i], i);
    }
    std::vector<const Operator*> out;
    while (!ready.empty()) {
      const Index i = ready.top().second;
      ready.pop();
      out.push_back(operators[i]);
      for (Index next : serves[i]) {
        if (--open[next] == 0) ready.emplace(rank[next], next);
      }
    }
    return out;
  }
};

}  // namespace

std::vector<const Operator*> execution_order(const Record& record,
                                             const std::vector<HiddenInput>& hidden) {
  Sorter sorter;
  sorter.operators = record.operators();
  const std::size_t count = sorter.operators.size();
  sorter.needs.resize(count);
  sorter.serves.resize(count);
  std::unordered_map<std::string, Index> maker;
  std::unordered_map<const Operator*, Index> index;
  for (Index i = 0; i < count; ++i) {
    const Operator& op = *sorter.operators[i];
    index.emplace(&op, i);
    for (const Operand& out : op.outputs) maker.emplace(op.tensor_of(out), i);
  }
  for (Index i = 0; i < count; ++i) {
    for (const Operand& in : sorter.operators[i]->inputs) {
      const auto at = maker.find(in.tensor);
      if (at != maker.end()) sorter.link(at->second, i);
    }
  }
  for (const HiddenInput& h : hidden) {
    const auto at = maker.find(h.tensor);
    if (at != maker.end()) sorter.link(at->second, index.at(h.op));
  }
  const std::vector<Index> order = sorter.by_dependency();
  if (order.size() < count) {
    std::vector<bool> done(count, false);
    for (Index i : order) done[i] = true;
    const auto stuck =
        static_cast<Index>(std::find(done.begin(), done.end(), false) - done.begin());
    const Operator& op = *sorter.operators[stuck];
    plait::fail(record.file.text, ":", op.line.number, ": operator ", op.name,
                " waits for itself: the operators of the tree form a circle");
  }
  sorter.rank_all(order);
  return sorter.sorted();
}

}  // namespace plait::io::oneflow
