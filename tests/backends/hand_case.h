// Runs one hand kernel as a program would: fresh scratch, guarded results, tasks in a given order.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "backends/cpu/hand/hand.h"
#include "ops/evaluate.h"
#include "ops/samples.h"
#include "ops/table.h"

namespace plait::cpu {

struct HandResult {
  std::vector<Array> outputs;
  std::string wrong;  // what a task complained of
};

struct HandOptions {
  bool backwards = false;     // the last task first
  std::optional<int> only;    // the one output that is read
  unsigned char dirt = 0xa5;  // what scratch and results are filled with before
};

/// Aligned memory with a guard behind it.
struct HandBytes {
  HandBytes(std::int64_t count, unsigned char dirt)
      : bytes(static_cast<std::size_t>(count)), all(bytes + 128, dirt) {
    at = all.data() + (64 - reinterpret_cast<std::uintptr_t>(all.data()) % 64);
  }
  std::size_t bytes;
  std::vector<unsigned char> all;
  unsigned char* at;
};

inline HandResult run_hand(const HandKernel& kernel, const NodeView& node,
                           const std::vector<const Array*>& inputs,
                           const HandOptions& options = {}) {
  constexpr std::size_t kGuard = 64;
  std::vector<const void*> in;
  for (const Array* a : inputs) in.push_back(a ? a->data() : nullptr);
  std::vector<std::vector<unsigned char>> buffers;
  std::vector<void*> out;
  HandResult result;
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    result.outputs.emplace_back(node.outputs[i].dtype, sizes_of(node.outputs[i].shape));
    buffers.emplace_back(result.outputs[i].byte_count() + 2 * kGuard, options.dirt);
    const bool read = !options.only || *options.only == static_cast<int>(i);
    out.push_back(read ? buffers[i].data() + kGuard : nullptr);
  }
  HandBytes scratch(kernel.scratch_bytes(), options.dirt);
  HandBytes shared(kernel.shared_bytes(), options.dirt);
  const HandMemory memory{scratch.at, shared.at};
  for (std::int64_t i = 0; i < kernel.tasks(); ++i) {
    const std::int64_t task = options.backwards ? kernel.tasks() - 1 - i : i;
    const char* wrong = kernel.run(task, in.data(), out.data(), memory);
    if (wrong && result.wrong.empty()) result.wrong = wrong;
  }
  for (std::int64_t i = 0; i < kernel.finish_tasks(); ++i) {
    kernel.finish(options.backwards ? kernel.finish_tasks() - 1 - i : i, in.data(), out.data(),
                  memory);
  }
  const auto dirty = [&](const unsigned char* from, std::ptrdiff_t count) {
    return std::all_of(from, from + count, [&](unsigned char c) { return c == options.dirt; });
  };
  for (const HandBytes* m : {&scratch, &shared}) {
    EXPECT_TRUE(dirty(m->at + m->bytes, m->all.data() + m->all.size() - (m->at + m->bytes)))
        << "wrote behind its " << (m == &scratch ? "scratch" : "workspace");
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    Array& array = result.outputs[i];
    const unsigned char* data = buffers[i].data() + kGuard;
    EXPECT_TRUE(dirty(data - kGuard, kGuard) && dirty(data + array.byte_count(), kGuard))
        << "wrote outside output " << i;
    if (out[i] && array.byte_count()) std::memcpy(array.data(), data, array.byte_count());
  }
  return result;
}

inline HandResult run_hand(const NodeView& node, const std::vector<const Array*>& inputs,
                           const HandOptions& options = {}) {
  return run_hand(*find_hand(node.op.name)->make(node), node, inputs, options);
}

/// A sample with the dtype its floats have, and values for its operands.
struct HandCase {
  ir::Graph graph;
  std::vector<Array> feeds;
  HandCase(const Op& op, const Sample& sample, DType real, std::uint64_t seed = 11)
      : graph(sample_graph(op, sample, real)), feeds(sample_feeds(sample, real, seed)) {}
  NodeView node() const { return view_of(graph, graph.nodes[0]); }
  std::vector<const Array*> inputs() const {
    std::vector<const Array*> all;
    std::size_t next = 0;
    for (ir::ValueId id : graph.nodes[0].inputs) {
      all.push_back(id == ir::kNone ? nullptr : &feeds[next++]);
    }
    return all;
  }
};

/// One sample that is not in the op's entry.
inline Sample sample_from(const Op& op, const std::string& text) {
  Op other = op;
  other.samples = text;
  return samples_of(other)[0];
}

/// The dtypes that a sample's f32 stands for.
inline std::vector<DType> dtypes_of(const Sample& sample) {
  for (const SampleOperand& o : sample.operands) {
    if (!o.absent && o.type.dtype == DType::f32) {
      return {DType::f64, DType::f32, DType::f16, DType::bf16};
    }
  }
  return {DType::f32};
}

}  // namespace plait::cpu
