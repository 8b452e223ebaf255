// Pinned host memory between the program's arrays and the device: a ring of pieces for what goes
// in, the same pieces for what comes out. Copies of any size; nothing is allocated after the start.
#pragma once

#include <array>
#include <cstdint>

#include "backends/cuda/driver/api.h"

namespace plait::cuda {

class Staging {
 public:
  /// Needs a current context. RunError when the memory cannot be had.
  explicit Staging(const DriverApi& api);
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  /// Copies in the order of `stream`; `from` may be changed on return.
  CUresult write(CUstream stream, CUdeviceptr to, const char* from, std::int64_t bytes);
  /// Returns when the bytes are there. All calls are for one stream.
  CUresult read(CUstream stream, char* to, CUdeviceptr from, std::int64_t bytes);

 private:
  static constexpr int kPieces = 4;
  static constexpr std::int64_t kPieceBytes = std::int64_t{4} << 20;

  char* piece(int which) const { return memory_ + which * kPieceBytes; }
  /// Ends the piece that is filled, and waits until the next one is free.
  CUresult turn(CUstream stream);

  const DriverApi& api_;
  char* memory_ = nullptr;
  std::array<CUevent, kPieces> past_{};  // behind the last copy of each piece
  int current_ = 0;
  std::int64_t used_ = 0;  // bytes of the current piece
};

}  // namespace plait::cuda
