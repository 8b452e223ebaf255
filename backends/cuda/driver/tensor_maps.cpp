// Maps of 2-byte elements, in boxes of 64 lines of 128 bytes, as wgmma wants them.
#include "backends/cuda/driver/tensor_maps.h"

#include <cstring>

#include "base/error.h"
#include "base/text.h"
#include "codegen/cuda/print.h"

namespace plait::cuda {

std::vector<Word> with_maps(const DriverApi& api, const Launch& launch) {
  constexpr std::size_t kWords = codegen::cuda::kMapWords;
  constexpr std::size_t kMap = sizeof(CUtensorMap) / sizeof(Word);
  const auto maps = static_cast<std::size_t>(launch.maps);
  check(launch.words.size() > maps * kWords, "a launch without its maps' words");
  std::vector<Word> out(maps * kMap);
  for (std::size_t i = 0; i < maps; ++i) {
    const Word* const w = launch.words.data() + launch.words.size() - (maps - i) * kWords;
    const Word address = launch.words[w[0]] + w[1];
    const cuuint64_t sizes[] = {w[2], w[3]}, lines[] = {w[4]};
    const cuuint32_t box[] = {64, 64}, steps[] = {1, 1};
    alignas(64) CUtensorMap map;
    const CUresult code = api.tensor_map(
        &map, CU_TENSOR_MAP_DATA_TYPE_UINT16, 2, reinterpret_cast<void*>(address), sizes, lines,
        box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
        CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    check_call(api, code,
               str("map an operand of ", w[3], " lines of ", w[2], " elements, ", w[4],
                   " bytes apart, at ", address)
                   .c_str());
    std::memcpy(&out[i * kMap], &map, sizeof map);
  }
  out.insert(out.end(), launch.words.begin(), launch.words.end());
  constexpr std::size_t kAligned = 64 / sizeof(Word);  // so is the kernel's parameter
  out.resize((out.size() + kAligned - 1) / kAligned * kAligned);
  return out;
}

}  // namespace plait::cuda
