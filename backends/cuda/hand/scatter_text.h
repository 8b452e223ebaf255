// The text of the scatter kernels: sorting, and adding. Only for scatter.cpp.
#pragma once

namespace plait::cuda {

extern const char* const kScatterSort;
extern const char* const kScatterAdd;

}  // namespace plait::cuda
