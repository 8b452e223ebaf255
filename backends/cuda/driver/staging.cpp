// Copies through pinned memory. Small writes share a piece, so most of them wait for nothing.
#include "backends/cuda/driver/staging.h"

#include <algorithm>
#include <cstring>

namespace plait::cuda {
namespace {

constexpr std::int64_t kAlign = 64;

}  // namespace

Staging::Staging(const DriverApi& api) : api_(api) {
  void* memory = nullptr;
  check_call(api_, api_.host_allocate(&memory, kPieces * kPieceBytes),
             "allocate pinned host memory for copies");
  memory_ = static_cast<char*>(memory);
  for (CUevent& event : past_) {
    check_call(api_, api_.event_create(&event, CU_EVENT_DISABLE_TIMING), "create an event");
  }
}

Staging::~Staging() {
  for (CUevent event : past_) {
    if (event != nullptr) api_.event_destroy(event);
  }
  api_.host_free(memory_);
}

CUresult Staging::turn(CUstream stream) {
  const auto now = static_cast<std::size_t>(current_);
  if (const CUresult code = api_.event_record(past_[now], stream, 0)) return code;
  current_ = (current_ + 1) % kPieces;
  used_ = 0;
  return api_.event_wait(past_[static_cast<std::size_t>(current_)]);
}

CUresult Staging::write(CUstream stream, CUdeviceptr to, const char* from, std::int64_t bytes) {
  while (bytes > 0) {
    if (used_ == kPieceBytes) {
      if (const CUresult code = turn(stream)) return code;
    }
    const std::int64_t part = std::min(bytes, kPieceBytes - used_);
    char* through = piece(current_) + used_;
    std::memcpy(through, from, static_cast<std::size_t>(part));
    if (const CUresult code = api_.copy_in(to, through, static_cast<std::size_t>(part), stream)) {
      return code;
    }
    used_ = std::min(kPieceBytes, (used_ + part + kAlign - 1) / kAlign * kAlign);
    to += static_cast<CUdeviceptr>(part);
    from += part;
    bytes -= part;
  }
  return CUDA_SUCCESS;
}

CUresult Staging::read(CUstream stream, char* to, CUdeviceptr from, std::int64_t bytes) {
  if (bytes <= 0) return CUDA_SUCCESS;
  // Writes are in front of us in the stream, so every piece is free once our copy begins.
  const std::int64_t parts = (bytes + kPieceBytes - 1) / kPieceBytes;
  const auto part_bytes = [bytes](std::int64_t i) {
    return static_cast<std::size_t>(std::min(kPieceBytes, bytes - i * kPieceBytes));
  };
  for (std::int64_t i = 0; i < parts + kPieces - 1; ++i) {
    if (i < parts) {
      const int which = static_cast<int>(i % kPieces);
      const auto source = from + static_cast<CUdeviceptr>(i * kPieceBytes);
      if (const CUresult code = api_.copy_out(piece(which), source, part_bytes(i), stream)) {
        return code;
      }
      const CUevent event = past_[static_cast<std::size_t>(which)];
      if (const CUresult code = api_.event_record(event, stream, 0)) return code;
    }
    const std::int64_t ready = i - (kPieces - 1);  // the copy that must be out before the next
    if (ready < 0 || ready >= parts) continue;
    const int which = static_cast<int>(ready % kPieces);
    const CUevent event = past_[static_cast<std::size_t>(which)];
    if (const CUresult code = api_.event_wait(event)) return code;
    std::memcpy(to + ready * kPieceBytes, piece(which), part_bytes(ready));
  }
  current_ = 0;
  used_ = 0;
  return CUDA_SUCCESS;
}

}  // namespace plait::cuda
