// What a kernel should write, by the interpreter, and how far generated code may be off: nowhere,
// but where it adds floats in another order.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "loop/interpret_kernel.h"

namespace plait::codegen {

using Bytes = std::vector<char>;

/// A kernel, or a contraction with what rides behind it, at one size.
struct OracleCase {
  std::string where;  // in messages
  std::optional<loop::Contraction> contraction{};
  std::shared_ptr<const loop::Kernel> kernel{};  // null: a bare contraction
  DimBindings sizes{};
  std::vector<std::int64_t> elements{};  // per buffer

  /// Those of a contraction first: a, b, and c where it is bare.
  std::vector<loop::KernelBuffer> buffers() const;
};

/// Values for the buffers: normal floats, with zeros, infinities, NaN and extremes among them where
/// `special`; integers in [0, bound).
std::vector<Bytes> random_buffers(const OracleCase& c, std::uint64_t seed, bool special, int bound);

/// Whose order of sums a result is held to. C adds the terms of a row in lanes, all others as the
/// interpreter; CUDA all of them in an order of its own.
enum class SumOrder { kC, kCuda };

struct Oracle {
  loop::Faults faults;
  std::vector<Bytes> buffers;
  /// Per buffer and element how far a result may be off; 0: not in a bit. NaN: left open, as its
  /// kind depends on the last bit of a sum.
  std::vector<std::vector<double>> by;
};

/// `given`: the buffers before the run. Sums of floats whose order is not the interpreter's are
/// moved by max(4, sqrt(terms)) roundings of what they add up, halves that follow by one rounding
/// of theirs, several times: the result may be off by eight times what that did.
Oracle oracle_of(const OracleCase& c, const std::vector<Bytes>& given, SumOrder dialect);

struct OracleCounts {
  std::int64_t compared = 0, exact = 0, open = 0;
};

/// Where the results are not as they should be; empty when nowhere.
std::string difference(const OracleCase& c, const Oracle& want, const std::vector<Bytes>& got,
                       OracleCounts& counts);

}  // namespace plait::codegen
