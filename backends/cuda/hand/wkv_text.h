// The text of the wkv kernels: what both share, forwards, backwards. Only for wkv.cpp.
#pragma once

namespace plait::cuda {

extern const char* const kWkvShared;
extern const char* const kWkvForward;
extern const char* const kWkvBackwardChunk;
extern const char* const kWkvBackward;

}  // namespace plait::cuda
