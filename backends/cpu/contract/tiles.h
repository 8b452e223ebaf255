// The tile registers of AMX behind six calls, and the same calls in software, so that everything
// round them can be tested on machines without. Tiles 0..3 hold 2 x 2 parts of the result, 4 and 5
// rows of a, 6 and 7 columns of b in pairs along k.
#pragma once

#include <cstdint>

#if defined(__AMX_BF16__) || defined(__AMXBF16__)
#include <immintrin.h>
#endif

namespace plait::cpu {
namespace {

inline constexpr int kTileRows = 16, kTileBytes = 64;  // the largest tile

#if defined(__AMX_BF16__) || defined(__AMXBF16__)

struct HardwareTiles {
  static inline thread_local int heights = 0;  // that this thread's tiles have; 0: none
  /// Heights of the upper and the lower tiles of a and of the result. The same ones again cost
  /// nothing until the tiles are released.
  static void configure(int upper, int lower) {
    static_assert(kTileRows < 32);
    if (heights == upper * 32 + lower) return;
    heights = upper * 32 + lower;
    struct alignas(64) {
      std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
      std::uint16_t column_bytes[16] = {};
      std::uint8_t rows[16] = {};
    } config;
    for (int i = 0; i < 8; ++i) {
      const bool is_lower = i == 2 || i == 3 || i == 5;
      config.column_bytes[i] = kTileBytes;
      config.rows[i] = static_cast<std::uint8_t>(i >= 6 ? kTileRows : is_lower ? lower : upper);
      if (config.rows[i] == 0) config.rows[i] = 1;
    }
    // The intrinsic says it reads the first bytes only; without this the rest is not stored.
    asm volatile("" : : "r"(&config) : "memory");
    _tile_loadconfig(&config);
  }
  static void release() {
    heights = 0;
    _tile_release();
  }

  template <int T>
  static void zero() {
    static_assert(T < 4);
    if constexpr (T == 0) _tile_zero(0);
    if constexpr (T == 1) _tile_zero(1);
    if constexpr (T == 2) _tile_zero(2);
    if constexpr (T == 3) _tile_zero(3);
  }
  template <int T>
  static void load(const void* from, std::int64_t row_bytes) {
    if constexpr (T == 0) _tile_loadd(0, from, row_bytes);
    if constexpr (T == 1) _tile_loadd(1, from, row_bytes);
    if constexpr (T == 2) _tile_loadd(2, from, row_bytes);
    if constexpr (T == 3) _tile_loadd(3, from, row_bytes);
    if constexpr (T == 4) _tile_loadd(4, from, row_bytes);
    if constexpr (T == 5) _tile_loadd(5, from, row_bytes);
    if constexpr (T == 6) _tile_loadd(6, from, row_bytes);
    if constexpr (T == 7) _tile_loadd(7, from, row_bytes);
  }
  template <int T>
  static void store(void* to, std::int64_t row_bytes) {
    static_assert(T < 4);
    if constexpr (T == 0) _tile_stored(0, to, row_bytes);
    if constexpr (T == 1) _tile_stored(1, to, row_bytes);
    if constexpr (T == 2) _tile_stored(2, to, row_bytes);
    if constexpr (T == 3) _tile_stored(3, to, row_bytes);
  }
  /// Tile T += rows of a (tile 4 + T / 2) times columns of b (tile 6 + T % 2).
  template <int T>
  static void multiply() {
    static_assert(T < 4);
    if constexpr (T == 0) _tile_dpbf16ps(0, 4, 6);
    if constexpr (T == 1) _tile_dpbf16ps(1, 4, 7);
    if constexpr (T == 2) _tile_dpbf16ps(2, 5, 6);
    if constexpr (T == 3) _tile_dpbf16ps(3, 5, 7);
  }
};

#endif

/// The same in plain loops: even and odd elements of k are summed apart, then added.
struct EmulatedTiles {
  struct Tile {
    int rows = 0;
    alignas(64) std::uint8_t bytes[kTileRows][kTileBytes] = {};
  };
  static Tile& tile(int index) {
    static thread_local Tile tiles[8];
    return tiles[index];
  }
  static void configure(int upper, int lower) {
    for (int i = 0; i < 8; ++i) {
      const bool is_lower = i == 2 || i == 3 || i == 5;
      tile(i) = Tile{};
      tile(i).rows = i >= 6 ? kTileRows : is_lower ? lower : upper;
    }
  }
  static void release() {}

  template <int T>
  static void zero() {
    __builtin_memset(tile(T).bytes, 0, sizeof tile(T).bytes);
  }
  template <int T>
  static void load(const void* from, std::int64_t row_bytes) {
    for (int r = 0; r < tile(T).rows; ++r) {
      __builtin_memcpy(tile(T).bytes[r], static_cast<const std::uint8_t*>(from) + r * row_bytes,
                       kTileBytes);
    }
  }
  template <int T>
  static void store(void* to, std::int64_t row_bytes) {
    for (int r = 0; r < tile(T).rows; ++r) {
      __builtin_memcpy(static_cast<std::uint8_t*>(to) + r * row_bytes, tile(T).bytes[r],
                       kTileBytes);
    }
  }
  template <int T>
  static void multiply() {
    const Tile &a = tile(4 + T / 2), &b = tile(6 + T % 2);
    for (int m = 0; m < tile(T).rows; ++m) {
      for (int n = 0; n < kTileRows; ++n) {
        float sums[2] = {0, 0}, result;
        for (int k = 0; k < 32; ++k) {
          sums[k % 2] += value(a.bytes[m] + 2 * k) * value(b.bytes[k / 2] + 4 * n + 2 * (k % 2));
        }
        __builtin_memcpy(&result, tile(T).bytes[m] + 4 * n, sizeof result);
        result += sums[0] + sums[1];
        __builtin_memcpy(tile(T).bytes[m] + 4 * n, &result, sizeof result);
      }
    }
  }
  static float value(const std::uint8_t* bf16) {
    std::uint16_t bits;
    __builtin_memcpy(&bits, bf16, sizeof bits);
    return __builtin_bit_cast(float, static_cast<std::uint32_t>(bits) << 16);
  }
};

}  // namespace
}  // namespace plait::cpu
