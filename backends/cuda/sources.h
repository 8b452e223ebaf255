// The source files of the kernels that measure and place (*.cuh), as texts.
#pragma once

#include <string_view>

namespace plait::codegen {

std::string_view cuda_ceilings();
std::string_view cuda_placer();
std::string_view cuda_sweep();

}  // namespace plait::codegen
