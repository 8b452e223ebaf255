// What a kernel is given whose operands the copy engine brings: a map of each before its words.
#pragma once

#include <vector>

#include "backends/cuda/device.h"
#include "backends/cuda/driver/api.h"

namespace plait::cuda {

/// RunError that says how an operand lies when the driver makes no map of it.
std::vector<Word> with_maps(const DriverApi& api, const Launch& launch);

}  // namespace plait::cuda
