// A device as costs see it: rates, times and sizes, measured on it and kept, given as a file, or of
// a datasheet that is built in. Every cost in planning takes its numbers from one of these.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plait {

/// What a generated product in tiles takes on one processor of a GPU.
struct TileTimes {
  double begin_us = 0;               // a launch, the first tile's way
  double next_us = 0;                // the next tile's way, where it comes before it is its turn
  double latency_us = 0;             // from asking for a tile to its being there
  double bytes_per_us = 0;           // into one processor
  double image_per_us = 0;           // the same, bytes, where an image is gathered
  double chain_us = 0;               // a step's waits and orders, of one group of warps
  double ahead_us = 0;               // the same, for each tile that is not asked for ahead
  double wave_us = 0;                // from a wave of blocks to the next one
  double guards_us = 0;              // the same for the places of an image
  double turned_part = 0;            // of a step's products, for an operand that is not along k
  double store_us = 0;               // an element of the tile
  double pair_store_us = 0;          // the same of half a block's warps, beside products
  double shown_part = 0;             // of an epilogue, where another block's products go on
  double gather_us = 0;              // an element of another slice's sums
  double split_us = 0;               // an element's partial sum, written and read
  double many_us = 0;                // the second kernel, for each split of very many
  double pick_us = 0;                // an element that is brought by itself
  double epilogue_byte_us = 0;       // of an epilogue, through one processor
  double epilogue_statement_us = 0;  // the same of a statement
  double simple_per_us = 0;          // products without tiles
  double simple_step_us = 0;         // from a thread's product to its next one
  std::map<std::string, double> products_per_us;  // fma, fma.wide, mma, mma.f32, wg, wg.f32...
  friend bool operator==(const TileTimes&, const TileTimes&) = default;
};

struct DeviceModel {
  std::string name;              // as its maker calls it
  std::string backend;           // whose device it is
  std::string source;            // where the numbers are from: built in, measured
  int processors = 1;            // cores, multiprocessors: the rates below are those of all of them
  double cycles_per_second = 0;  // of a core, where costs are counted in cycles
  double bytes_per_second = 0;   // memory, read and written
  double processor_bytes_per_second = 0;  // of one processor alone
  int clusters = 0;                       // of two blocks, with TMA: 1 where a GPU has them
  std::int64_t cache_bytes = 0;           // what caches hold of a step for the next one
  double cache_bytes_per_second = 0;      // from there
  double step_seconds = 0;                // a step, besides its work
  double meeting_seconds = 0;  // a step of a single-kernel program: its barrier and first loads
  double finish_seconds = 0;   // a second stage behind the first; on a CPU, handing out tasks
  double link_bytes_per_second = 0;                     // from the host, and to it
  std::map<std::string, double> operations_per_second;  // of products, by how they multiply
  std::map<std::string, double> share;  // of the rates that kernels reach, by kind of kernel
  TileTimes tiles;
  friend bool operator==(const DeviceModel&, const DeviceModel&) = default;

  /// Of products; that of f32 where none is named so, 0 where that is not, either.
  double operations(const std::string& arithmetic) const;
  /// 1 where nothing is known of the kind.
  double share_of(const std::string& kind) const;
  /// Memory's rate as kernels of a kind reach it.
  double bytes_of(const std::string& kind) const { return bytes_per_second * share_of(kind); }
};

/// As text, line by line; device_model_from_text gives the same model.
std::string to_text(const DeviceModel& model);
/// UserError naming `where` for anything that to_text does not write.
DeviceModel device_model_from_text(std::string_view text, const std::string& where);

/// UserError where costs would not be finite: by a rate of 0, a time above a second, a share of 0.
void check_usable(const DeviceModel& model, const std::string& where);

/// The datasheets: h200, cpu, null.
std::vector<std::string> built_in_devices();
std::optional<DeviceModel> built_in_device(std::string_view name);
/// That of an NVIDIA H200: what generated CUDA is cut for unless another device is given.
const DeviceModel& h200();

}  // namespace plait
