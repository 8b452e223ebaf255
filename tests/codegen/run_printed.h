// Printed kernels run on buffers of the host: C as one task, CUDA text on the device under test.
#pragma once

#include <string>
#include <vector>

#include "codegen/cuda/print.h"
#include "codegen/library.h"
#include "codegen/print_c.h"
#include "tests/backends/device_under_test.h"
#include "tests/codegen/kernel_oracle.h"

namespace plait::codegen {

/// Bits of codegen::kBadIndex and kBadDivision.
inline int bits_of(const loop::Faults& faults) {
  return (faults.index ? kBadIndex : 0) | (faults.division ? kBadDivision : 0);
}

/// All rows at once. The bits that it sets for what went wrong.
int run_printed(const Printed& printed, const Library& library, const DimBindings& sizes,
                std::vector<Bytes>& buffers);

/// A buffer that lies where another one does, as results may that take an operand's place.
struct Place {
  int written = -1, read = -1;
};

/// `many`: by a table of one call.
int run_printed(const cuda::Printed& printed, plait::cuda::Device& device,
                const plait::cuda::Module& module, const DimBindings& sizes,
                std::vector<Bytes>& buffers, bool many = false, const Place& place = {});

}  // namespace plait::codegen
