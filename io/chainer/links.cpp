// Makers, pairs of forward and backward, and orders by dependency.
#include "io/chainer/links.h"

#include <algorithm>
#include <functional>
#include <queue>

#include "base/at.h"
#include "base/error.h"

namespace plait::io::chainer {
namespace {

template <class... Parts>
[[noreturn]] void wrong(const Record& record, const Operation& op, const Parts&... parts) {
  fail(record.file, ":", op.line, ": ", op.function, " ", parts...);
}

void find_makers(const Record& record, Links& links) {
  links.maker.assign(record.variables.size(), -1);
  for (std::size_t i = 0; i < record.operations.size(); ++i) {
    const Operation& op = record.operations[i];
    if (op.backward) continue;
    for (int v : op.outputs) {
      int& maker = links.maker[at(v)];
      if (maker >= 0) {
        wrong(record, op, "makes variable ", record.variables[at(v)].id,
              ", which the forward of line ", record.operations[at(maker)].line,
              " makes too. A variable has one maker");
      }
      maker = static_cast<int>(i);
    }
  }
}

/// Whether `op` can be the backward of `forward`: it reads and makes what that touches.
bool belongs(const Operation& op, const Operation& forward) {
  if (op.function != forward.function) return false;
  std::vector<int> read, made = forward.outputs;
  for (const Input& in : forward.inputs) read.push_back(in.variable);
  std::sort(read.begin(), read.end());
  std::sort(made.begin(), made.end());
  const auto is_read = [&](int v) { return std::binary_search(read.begin(), read.end(), v); };
  const auto is_made = [&](int v) { return std::binary_search(made.begin(), made.end(), v); };
  for (const Input& in : op.inputs) {
    if (in.tag == Tag::kInput ? !is_read(in.variable) : !is_made(in.variable)) return false;
  }
  return std::all_of(op.outputs.begin(), op.outputs.end(), is_read);
}

/// The maker of what it reads the gradient of is its forward.
void find_pairs(const Record& record, Links& links) {
  links.forward_of.assign(record.operations.size(), -1);
  links.backward_of.assign(record.operations.size(), -1);
  for (std::size_t i = 0; i < record.operations.size(); ++i) {
    const Operation& op = record.operations[i];
    if (!op.backward) continue;
    const auto gradient = std::find_if(op.inputs.begin(), op.inputs.end(),
                                       [](const Input& in) { return in.tag == Tag::kGradient; });
    if (gradient == op.inputs.end()) continue;
    const int forward = links.maker[at(gradient->variable)];
    if (forward < 0 || !belongs(op, record.operations[at(forward)])) continue;
    int& taken = links.backward_of[at(forward)];
    if (taken >= 0) {
      wrong(record, op, "is a second backward of the forward of line ",
            record.operations[at(forward)].line, "; the first is in line ",
            record.operations[at(taken)].line);
    }
    taken = static_cast<int>(i);
    links.forward_of[i] = forward;
  }
}

/// Operations of one direction so that each stands behind the makers of what it reads.
std::vector<int> ordered(const Record& record, bool backward) {
  const Tag follows = backward ? Tag::kGradient : Tag::kArray;
  std::vector<std::vector<int>> readers(record.variables.size());
  std::vector<int> makers_left(record.variables.size(), 0), waits(record.operations.size(), 0);
  std::size_t total = 0;
  for (std::size_t i = 0; i < record.operations.size(); ++i) {
    const Operation& op = record.operations[i];
    if (op.backward != backward) continue;
    ++total;
    for (int v : op.outputs) ++makers_left[at(v)];
  }
  using Entry = std::pair<std::int64_t, int>;  // smallest first
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  const auto push = [&](int i) {
    const std::int64_t rank = record.operations[at(i)].rank;
    ready.emplace(backward ? -rank : rank, i);
  };
  for (std::size_t i = 0; i < record.operations.size(); ++i) {
    const Operation& op = record.operations[i];
    if (op.backward != backward) continue;
    for (const Input& in : op.inputs) {
      if (in.tag != follows || makers_left[at(in.variable)] == 0) continue;
      readers[at(in.variable)].push_back(static_cast<int>(i));
      ++waits[i];
    }
    if (waits[i] == 0) push(static_cast<int>(i));
  }
  std::vector<int> order;
  while (!ready.empty()) {
    const int i = ready.top().second;
    ready.pop();
    order.push_back(i);
    for (int v : record.operations[at(i)].outputs) {
      if (--makers_left[at(v)] > 0) continue;
      for (int reader : readers[at(v)]) {
        if (--waits[at(reader)] == 0) push(reader);
      }
    }
  }
  if (order.size() == total) return order;
  for (std::size_t i = 0; i < record.operations.size(); ++i) {
    const Operation& op = record.operations[i];
    if (op.backward == backward && waits[i] > 0) {
      wrong(record, op, "waits for what it makes itself: its ", backward ? "gradients" : "inputs",
            " hang together in a circle");
    }
  }
  throw Bug("a circle of operations has no member");
}

}  // namespace

Links links_of(const Record& record) {
  Links links;
  find_makers(record, links);
  find_pairs(record, links);
  links.forward_order = ordered(record, false);
  links.backward_order = ordered(record, true);
  return links;
}

}  // namespace plait::io::chainer
