// Orthonormal random matrices, for initial values.
#pragma once

#include <cstdint>
#include <vector>

#include "base/philox.h"

namespace plait {

/// A rows x cols matrix, row-major, whose columns (rows where there are fewer rows) are
/// orthonormal: Q of the QR decomposition of normal draws, with the sign that makes R's diagonal
/// positive, which makes Q uniform among all such matrices. Element e is drawn as `key` says.
std::vector<double> orthonormal(std::int64_t rows, std::int64_t cols, const RandomKey& key);

}  // namespace plait
