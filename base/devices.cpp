// The datasheets that are built in. Plans made by one of them are the same on every machine.
#include <iterator>
#include <utility>

#include "base/device_model.h"

namespace plait {
namespace {

DeviceModel built_in(std::string name, std::string backend) {
  DeviceModel m;
  m.name = std::move(name);
  m.backend = std::move(backend);
  m.source = "built in";
  return m;
}

DeviceModel make_h200() {
  DeviceModel m = built_in("NVIDIA H200", "cuda");
  m.processors = 132;
  m.clusters = 1;
  m.bytes_per_second = 3.8e12;
  m.processor_bytes_per_second = 3.5e10;
  m.cache_bytes = 32 << 20;
  m.cache_bytes_per_second = 5.5e12;
  m.step_seconds = 2e-6;
  m.meeting_seconds = 4e-7;
  m.finish_seconds = 2.5e-6;
  m.link_bytes_per_second = 5.5e10;
  // Of products that are done before the chip slows down for its power: a cube of 8192 has a tenth
  // less. "scalar" are the operations of generated loops.
  m.operations_per_second = {{"bf16", 7.6e14}, {"f16", 7.6e14}, {"tf32", 3.8e14},
                             {"f32", 5e13},    {"f64", 5e13},   {"scalar", 2e13}};
  // Of "library": what libraries' first guesses reach of their ceilings where calls are short.
  m.share = {{"column", 0.921},
             {"library", 0.45},
             {"tensor.attention", 0.35},
             {"tensor.attention_backward", 0.27}};
  m.tiles = {.begin_us = 1.4,
             .next_us = 0.4,
             .latency_us = 0.75,
             .bytes_per_us = 85e3,
             .image_per_us = 62e3,
             .chain_us = 0.16,
             .ahead_us = 0.15,
             .wave_us = 1,
             .guards_us = 0.1,
             .turned_part = 0.1,
             .store_us = 4e-5,
             .pair_store_us = 3.5e-4,
             .shown_part = 0.5,
             .gather_us = 1e-4,
             .split_us = 1.2e-6,
             .many_us = 0.08,
             .pick_us = 2e-4,
             .epilogue_byte_us = 2e-5,
             .epilogue_statement_us = 1.2e-5,
             .simple_per_us = 2e4,
             .simple_step_us = 0.02,
             .products_per_us = {{"fma", 0.17e6},
                                 {"fma.other", 0.05e6},
                                 {"mma", 1.6e6},
                                 {"mma.f32", 0.75e6},
                                 {"wg", 3.0e6},
                                 {"wg.f32", 1.4e6},
                                 {"wg.turned", 1.15e6}}};
  return m;
}

/// Eight cores of a server of the last years: for machines whose rates nobody has measured.
DeviceModel make_cpu() {
  DeviceModel m = built_in("generic", "cpu");
  m.processors = 8;
  m.cycles_per_second = 3e9;
  m.bytes_per_second = 8e10;
  m.processor_bytes_per_second = 1.5e10;
  m.cache_bytes = 16 << 20;
  m.cache_bytes_per_second = 2.4e11;
  m.step_seconds = 3e-7;
  m.finish_seconds = 2e-6;
  m.link_bytes_per_second = m.bytes_per_second;
  m.operations_per_second = {{"f32", 1.5e12}, {"avx512bf16", 3e12}, {"amx", 1.2e13}};
  // Of a cycle each: cycles that contractions are guessed to take, quarters of operations of loops,
  // operations of hand kernels. "memory" is what stores that fetch their lines first leave of it.
  m.share = {{"loop", 18},
             {"product", 2.7},
             {"memory", 0.6},
             {"hand.wkv", 10},
             {"hand.wkv_backward", 12},
             {"hand.attention", 50},
             {"hand.attention_backward", 50}};
  return m;
}

/// Round numbers, for tests: a second for 10^9 of anything, a microsecond for a step.
DeviceModel make_null() {
  DeviceModel m = built_in("null", "null");
  m.bytes_per_second = m.processor_bytes_per_second = m.link_bytes_per_second = 1e9;
  m.cache_bytes_per_second = 1e9;
  m.cycles_per_second = 1e9;
  m.step_seconds = 1e-6;
  m.operations_per_second = {{"f32", 1e9}};
  return m;
}

constexpr struct {
  std::string_view name;
  DeviceModel (*make)();
} kBuiltIn[] = {{"h200", make_h200}, {"cpu", make_cpu}, {"null", make_null}};

}  // namespace

std::vector<std::string> built_in_devices() {
  std::vector<std::string> names;
  for (const auto& row : kBuiltIn) names.emplace_back(row.name);
  return names;
}

std::optional<DeviceModel> built_in_device(std::string_view name) {
  for (const auto& row : kBuiltIn) {
    if (row.name == name) return row.make();
  }
  return std::nullopt;
}

const DeviceModel& h200() {
  static const DeviceModel model = make_h200();
  return model;
}

}  // namespace plait
