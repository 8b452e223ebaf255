// What calls take on the CPU: counts of work over the rates of the device.
#pragma once

#include <cstdint>
#include <string>

#include "backends/cpu/contract/contract.h"
#include "backends/target.h"

namespace plait::cpu {

/// The kind under which the share of a variant's cycles stands in a device: `avx512.f32`,
/// `winograd.f32`...
std::string kind_of(const Variant& variant, DType dtype);

struct Threads {
  const DeviceModel& device;
  int threads;  // that a program runs on
};

/// Of a contraction, by the cycles that its variant is guessed to take.
Predicted predict_product(const Threads& on, const Variant& variant, DType dtype, const Cost& cost,
                          double bytes);
/// `operations` are LoopCall::work; a product that is generated as loops has operations in `work`,
/// too.
Predicted predict_loop(const Threads& on, std::int64_t tasks, double operations,
                       const plait::Work& work);
Predicted predict_hand(const Threads& on, std::int64_t tasks, const std::string& op,
                       const plait::Work& work);

}  // namespace plait::cpu
