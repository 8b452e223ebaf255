// Runs one CUDA hand kernel on the device under test, as a program would.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/cuda/hand/hand.h"
#include "codegen/cuda/print.h"
#include "tests/backends/device_under_test.h"
#include "tests/backends/hand_case.h"

namespace plait::cuda {

using cpu::dtypes_of;
using cpu::HandCase;
using cpu::sample_from;

struct Result {
  std::vector<Array> outputs;
  int bad = 0;
};

inline Device& device() {
  static const std::shared_ptr<Device> one = test::device_under_test();
  return *one;
}

inline const Module& module_of(const HandCall& call) {
  static std::map<std::string, std::shared_ptr<Module>> modules;
  const std::string text = codegen::cuda::unit_header() + find_hand(call.op)->text(call);
  std::shared_ptr<Module>& module = modules[text];
  if (!module) module = device().compile({text}).modules[0];
  return *module;
}

/// A node as a program asks for it; only: the one output that is read.
inline HandCall call_of(const NodeView& node, const std::vector<const Array*>& inputs,
                        std::optional<int> only) {
  HandCall call{std::string(node.op.name), node.attrs, {}, node.outputs, {}, {}, {}};
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    call.inputs.push_back(node.inputs[i] ? *node.inputs[i] : ir::Type{});
    call.input_views.push_back(inputs[i] ? program::ViewId(i) : program::ViewId());
  }
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const bool is_read = !only || static_cast<std::size_t>(*only) == i;
    call.output_views.push_back(is_read ? program::ViewId(i) : program::ViewId());
  }
  return call;
}

/// Device memory of a run.
struct Buffers {
  std::vector<char*> all;
  ~Buffers() {
    for (char* data : all) device().release(data);
  }
  char* add(std::int64_t bytes, const void* from = nullptr) {
    all.push_back(device().allocate(bytes, "a test"));
    if (from && bytes) device().write(all.back(), from, bytes);
    return all.back();
  }
};

inline Result run(const NodeView& node, const std::vector<const Array*>& inputs,
                  std::optional<int> only = {}) {
  const HandCall call = call_of(node, inputs, only);
  const Module& module = module_of(call);
  const HandPlan plan = find_hand(call.op)->plan(call, {});
  Buffers buffers;
  std::vector<char*> in, out;
  Result result;
  for (const Array* a : inputs) {
    const auto bytes = static_cast<std::int64_t>(a ? a->byte_count() : 0);
    in.push_back(a ? buffers.add(bytes, a->data()) : nullptr);
  }
  for (const ir::Type& t : node.outputs) {
    result.outputs.emplace_back(t.dtype, sizes_of(t.shape));
    out.push_back(buffers.add(static_cast<std::int64_t>(result.outputs.back().byte_count())));
  }
  char* scratch = buffers.add(plan.scratch_bytes);
  char* bad = buffers.add(4, &result.bad);
  for (const HandLaunch& l : plan.launches) {
    Launch launch{module.function(l.function), l.blocks, l.threads, l.block_bytes, {}};
    for (const HandWord& w : l.words) {
      const auto which = static_cast<std::size_t>(w.value);
      char* const data = w.kind == HandWord::kInput     ? in.at(which)
                         : w.kind == HandWord::kOutput  ? out.at(which)
                         : w.kind == HandWord::kScratch ? scratch + w.value
                                                        : bad;
      launch.words.push_back(w.kind == HandWord::kNumber ? static_cast<Word>(w.value)
                                                         : reinterpret_cast<Word>(data));
    }
    device().launch(launch);
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    Array& a = result.outputs[i];
    if (a.byte_count()) device().read(a.data(), out[i], static_cast<std::int64_t>(a.byte_count()));
  }
  device().read(&result.bad, bad, 4);
  return result;
}

inline double half_step(DType t) {
  return t == DType::f64 ? 0x1p-53 : t == DType::f32 ? 0x1p-24 : t == DType::f16 ? 0x1p-11 : 0x1p-8;
}
inline double largest(const Array& a) {
  double most = 0;
  for (std::int64_t i = 0; i < a.count(); ++i) {
    if (std::isfinite(a.real(i))) most = std::max(most, std::abs(a.real(i)));
  }
  return most;
}

/// All of a sample's; where compiling is slow, two by turns.
inline std::vector<DType> some_dtypes(const Sample& sample) {
  std::vector<DType> all = dtypes_of(sample);
  if (test::tested_on_gpu() || all.size() < 3) return all;
  static std::size_t turn = 0;
  const std::size_t first = turn++ % all.size();
  return {all[first], all[(first + 1) % all.size()]};
}

}  // namespace plait::cuda
