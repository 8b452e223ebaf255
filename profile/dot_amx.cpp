// Products of bf16 on tile registers; compiled for AMX. Four results hide the latency of the unit.
#include <immintrin.h>

#include "profile/fma_loops.h"

namespace plait::profile {
namespace {

constexpr int kRows = 16, kRowBytes = 64, kTiles = 8, kDepth = 32;

struct alignas(64) Config {
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  std::uint16_t column_bytes[16] = {};
  std::uint8_t rows[16] = {};
};

float run(std::int64_t rounds) {
  Config config;
  for (int i = 0; i < kTiles; ++i) {
    config.column_bytes[i] = kRowBytes;
    config.rows[i] = kRows;
  }
  alignas(64) std::uint16_t operand[kRows][kDepth];
  for (auto& row : operand) {
    for (std::uint16_t& x : row) x = kDotOperand;
  }
  alignas(64) float result[kRows][kRowBytes / 4];
  asm volatile("" : : "r"(&config), "r"(&operand) : "memory");  // all of both is stored
  _tile_loadconfig(&config);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  _tile_loadd(4, operand, kRowBytes);
  _tile_loadd(5, operand, kRowBytes);
  _tile_loadd(6, operand, kRowBytes);
  _tile_loadd(7, operand, kRowBytes);
  for (std::int64_t r = 0; r < rounds; ++r) {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  float sum = 0;
  const auto add = [&] {
    asm volatile("" : : "r"(&result) : "memory");
    for (const auto& row : result) {
      for (float x : row) sum += x;
    }
  };
  _tile_stored(0, result, kRowBytes);
  add();
  _tile_stored(1, result, kRowBytes);
  add();
  _tile_stored(2, result, kRowBytes);
  add();
  _tile_stored(3, result, kRowBytes);
  add();
  _tile_release();
  return sum;
}

}  // namespace

FmaLoop dot_amx() { return {run, std::int64_t{2} * 4 * kRows * (kRowBytes / 4) * kDepth}; }

}  // namespace plait::profile
