// Gram-Schmidt in double, by blocks of vectors: each block is freed of all earlier vectors by two
// matrix products whose panels stay in cache, then orthogonalised within itself. Where that cancels
// more than half of a vector's length it is done again, which makes it orthogonal to rounding.
#include "ops/orthogonal.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"

namespace plait {
namespace {

using Index = std::int64_t;
// Two doubles at a time, the same on every machine: the order of additions is part of the result.
typedef double Pair __attribute__((vector_size(16)));

constexpr Index kBlock = 32;   // vectors per block
constexpr Index kPanel = 512;  // elements of a vector per pass: a block's panel is 128 KiB
constexpr Index kTile = 4;     // vectors per tile of the products

Pair load(const double* p) {
  Pair pair;
  std::memcpy(&pair, p, sizeof pair);
  return pair;
}

/// `count` vectors of `length` doubles, `stride` apart; stride is even and the rest is zero.
struct Vectors {
  double* data;
  Index count, stride;
  double* operator[](Index i) const { return data + i * stride; }
  Vectors part(Index first, Index n) const { return {data + first * stride, n, stride}; }
};

/// out[i][j] += a[i] . b[j] over elements [begin, end), for a tile of a and a pair of b.
void add_dots(const Vectors& a, const Vectors& b, Index begin, Index end, double* out,
              Index out_stride) {
  Pair sums[kTile][2] = {};
  for (Index e = begin; e < end; e += 2) {
    const Pair b0 = load(b[0] + e), b1 = load(b[b.count - 1] + e);
    for (Index i = 0; i < kTile; ++i) {
      const Pair x = load(a[std::min(i, a.count - 1)] + e);
      sums[i][0] += x * b0;
      sums[i][1] += x * b1;
    }
  }
  for (Index i = 0; i < a.count; ++i) {
    for (Index j = 0; j < b.count; ++j) out[i * out_stride + j] += sums[i][j][0] + sums[i][j][1];
  }
}

/// a[i] -= sum over j of c[i][j] b[j], over elements [begin, end), for one a and a tile of b.
void subtract_tile(double* a, const Vectors& b, const double* c, Index begin, Index end) {
  double w[kTile] = {};
  for (Index j = 0; j < b.count; ++j) w[j] = c[j];
  const double *b0 = b[0], *b1 = b[std::min<Index>(1, b.count - 1)],
               *b2 = b[std::min<Index>(2, b.count - 1)], *b3 = b[b.count - 1];
  for (Index e = begin; e < end; e += 2) {
    Pair x = load(a + e);
    x -= w[0] * load(b0 + e) + w[1] * load(b1 + e) + w[2] * load(b2 + e) + w[3] * load(b3 + e);
    std::memcpy(a + e, &x, sizeof x);
  }
}

/// Removes from every vector of the block its part along the orthonormal `earlier`.
void project_out(const Vectors& block, const Vectors& earlier) {
  std::vector<double> dots(static_cast<std::size_t>(block.count * earlier.count));
  for (Index p = 0; p < block.stride; p += kPanel) {
    const Index end = std::min(p + kPanel, block.stride);
    for (Index j = 0; j < earlier.count; j += 2) {
      const Vectors b = earlier.part(j, std::min<Index>(2, earlier.count - j));
      for (Index i = 0; i < block.count; i += kTile) {
        add_dots(block.part(i, std::min(kTile, block.count - i)), b, p, end,
                 &dots[static_cast<std::size_t>(i * earlier.count + j)], earlier.count);
      }
    }
  }
  for (Index p = 0; p < block.stride; p += kPanel) {
    const Index end = std::min(p + kPanel, block.stride);
    for (Index j = 0; j < earlier.count; j += kTile) {
      const Vectors b = earlier.part(j, std::min(kTile, earlier.count - j));
      for (Index i = 0; i < block.count; ++i) {
        subtract_tile(block[i], b, &dots[static_cast<std::size_t>(i * earlier.count + j)], p, end);
      }
    }
  }
}

double norm(const double* x, Index stride) {
  Pair sum = {};
  for (Index e = 0; e < stride; e += 2) sum += load(x + e) * load(x + e);
  return std::sqrt(sum[0] + sum[1]);
}

/// Modified Gram-Schmidt of one vector against those before it in its block, then normalised.
void orthonormalise(const Vectors& block, Index i) {
  double before = norm(block[i], block.stride), after = before;
  for (int pass = 0; pass < 3; ++pass) {
    for (Index j = 0; j < i; ++j) project_out(block.part(i, 1), block.part(j, 1));
    after = norm(block[i], block.stride);
    if (after > 0.5 * before) break;
    before = after;
  }
  check(after > 0, "a random matrix without full rank");
  for (Index e = 0; e < block.stride; ++e) block[i][e] /= after;
}

void gram_schmidt(const Vectors& all) {
  for (Index first = 0; first < all.count; first += kBlock) {
    const Vectors block = all.part(first, std::min(kBlock, all.count - first));
    for (int pass = 0; pass < 2 && first > 0; ++pass) {
      std::vector<double> before;
      for (Index i = 0; i < block.count; ++i) before.push_back(norm(block[i], block.stride));
      project_out(block, all.part(0, first));
      bool cancelled = false;
      for (Index i = 0; i < block.count; ++i) {
        cancelled |= norm(block[i], block.stride) < 0.5 * before[static_cast<std::size_t>(i)];
      }
      if (!cancelled) break;
    }
    for (Index i = 0; i < block.count; ++i) orthonormalise(block, i);
  }
}

}  // namespace

std::vector<double> orthonormal(std::int64_t rows, std::int64_t cols, const RandomKey& key) {
  const bool tall = rows >= cols;
  const Index count = tall ? cols : rows, length = tall ? rows : cols;
  const Index stride = (length + 1) / 2 * 2;
  std::vector<double> storage(static_cast<std::size_t>(count * stride));
  const Vectors vectors{storage.data(), count, stride};
  auto element = [&](Index row, Index col) -> double& {
    return tall ? vectors[col][row] : vectors[row][col];
  };
  for (Index r = 0; r < rows; ++r) {
    for (Index c = 0; c < cols; ++c) {
      element(r, c) = random_normal(key, static_cast<std::uint64_t>(r * cols + c));
    }
  }
  gram_schmidt(vectors);
  std::vector<double> out;
  out.reserve(static_cast<std::size_t>(rows * cols));
  for (Index r = 0; r < rows; ++r) {
    for (Index c = 0; c < cols; ++c) out.push_back(element(r, c));
  }
  return out;
}

}  // namespace plait
