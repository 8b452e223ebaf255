// Samples: the cases an op is tested, differentiated and timed on, as text in its entry.
//   samples  := sample (';' sample)*
//   sample   := operand (',' operand)* ['|' attr '=' value (',' attr '=' value)*]
//   operand  := type ['{' LO '..' HI '}'] | '_'         values drawn from [LO, HI); `_` left out
// Floats are drawn from [-2, 2) and integers from [0, 5) unless said. A sample's f32 stands for
// every float dtype the op takes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "ops/op.h"

namespace plait {

struct SampleOperand {
  bool absent = false;
  ir::Type type;
  double lo = -2, hi = 2;
};

struct Sample {
  std::vector<SampleOperand> operands;
  ir::Attrs attrs;
  std::string text;  // as written
};

/// UserError naming the op on malformed text.
std::vector<Sample> samples_of(const Op& op);

/// The sample as a graph: feeds `x0`, `x1`..., one node, fetches `y0`, `y1`... f32 operands get
/// dtype `real`.
ir::Graph sample_graph(const Op& op, const Sample& sample, DType real = DType::f32);

/// Values for the feeds of sample_graph; counter-based, so that one seed gives the same numbers in
/// every dtype (rounded to it).
std::vector<Array> sample_feeds(const Sample& sample, DType real, std::uint64_t seed);

}  // namespace plait
