// The kernels of machines that are not here: the shapes of AVX-512 on sixteen lanes in plain C++,
// and AMX on emulated tiles, so that packing and blocking are tested on any machine.
#pragma once

#include "backends/cpu/contract/kernels.h"

namespace plait::cpu {

const Kernels& emulated_avx512_kernels();
const Kernels& emulated_avx512bf16_kernels();
const Kernels& emulated_amx_kernels();

}  // namespace plait::cpu
