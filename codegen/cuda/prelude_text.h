// The texts of codegen/cuda/prelude_types.h and prelude_device.h, which stand before and behind the
// prelude of codegen/ in every unit.
#pragma once

#include <string_view>

namespace plait::codegen {

std::string_view cuda_types_text();
std::string_view cuda_device_text();

}  // namespace plait::codegen
