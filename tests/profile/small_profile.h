// A profile by hand: x -> convolution with w -> relu in place -> matrix product, whose result is
// fetched; last, a step overwrites the state m. Three runs; the middle one is the median.
#pragma once

#include "profile/profile.h"

namespace plait::profile {

enum SmallBuffer { kX, kW, kY, kOut, kM, kUnread };

inline Run small_run(std::int64_t at_ns, std::int64_t unit_ns) {
  const auto at = [&](std::int64_t units) { return at_ns + units * unit_ns; };
  Run run;
  run.whole = {at(0), at(100)};
  run.steps = {{at(10), at(50)}, {at(50), at(60)}, {at(60), at(85)}, {at(90), at(95)}};
  run.threads = {{{at(10), at(50)}, {at(50), at(60)}, {at(60), at(85)}, {at(90), at(95)}},
                 {{at(12), at(48)}, {at(50), at(50)}, {at(61), at(85)}}};
  return run;
}

inline Profile small_profile() {
  Profile p;
  p.graph = "small";
  p.backend = "cpu";
  p.machine = "test";
  p.threads = 2;
  p.buffers = {
      {"%x", "f32", {2, 3, 8, 8}, 1536, 0, -1, 0, false},
      {"%w", "f32", {4, 3, 3, 3}, 432, -1, 0, 0, true},
      {"%y", "f32", {2, 4, 6, 6}, 1152, 1536, 0, 2, false},
      {"%out", "bf16", {8, 36}, 576, 0, 2, 4, false},
      {"%m", "f32", {10}, 40, -1, 0, 3, true},
      {"%unread", "i32", {3}, 12, 2688, 2, 2, false},
  };
  const auto step = [&](std::string name, std::string type, std::int64_t operations,
                        std::int64_t read, std::int64_t written, std::vector<int> inputs,
                        std::vector<int> outputs) {
    StepInfo s;
    s.name = "%" + name;
    s.type = std::move(type);
    s.kernel = name + ".kernel";
    s.path = "net." + name;
    s.operations = operations;
    s.bytes_read = read;
    s.bytes_written = written;
    s.inputs = std::move(inputs);
    s.outputs = std::move(outputs);
    s.nodes = {name, name + "_more"};
    p.steps.push_back(std::move(s));
  };
  step("conv2d", "ConvolutionForward", 15552, 1968, 1152, {kX, kW}, {kY});
  step("relu", "Elemwise", 288, 1152, 1152, {kY}, {kY});
  step("matmul", "MatrixMul", 20736, 1152, 588, {kY}, {kOut, kUnread});
  step("adam", "Elemwise", 0, 40, 40, {kM}, {kM});
  p.steps[0].scratch_bytes = 700;
  p.runs = {small_run(5'000'000, 3'000), small_run(9'000'000, 2'000), small_run(1'000'000, 1'000)};
  p.peak_gflops = 1;
  p.peak_gbs = 0.5;
  p.arena_bytes = 2752;
  p.states_bytes = 472;
  p.scratch_bytes = 700;
  p.overhead_percent = 0.25;
  return p;
}

}  // namespace plait::profile
