// The text of the scatter kernels: sorting, filling, adding what is sorted; lists, and rows and
// columns by them. Only for scatter.cpp.
#pragma once

namespace plait::cuda {

extern const char* const kScatterSort;
extern const char* const kScatterFill;
extern const char* const kScatterAdd;
extern const char* const kScatterLists;
extern const char* const kScatterRows;
extern const char* const kScatterColumns;

}  // namespace plait::cuda
