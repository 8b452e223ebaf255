// What the families share: names and types in the kernels' text, and the parts a plan is made of.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "backends/cuda/hand/hand.h"
#include "base/shape.h"
#include "ops/lines.h"

namespace plait::cuda {

/// What elements are computed in. kCompute: f32, f64 for f64. kWide: f64 for all floats, wrapping
/// 64 bits for integers. kCompared: as they are, at least 32 bits.
enum class Computed { kCompute, kWide, kCompared };

/// Definitions of T (as stored), W (as computed), widen(T), narrow(W), and what parts.cuh has.
std::string types_text(DType dtype, Computed computed);

/// A source (sources.h) behind what is given before it, NAME replaced, in a namespace of that name;
/// PL_OP_ and the call's op are defined.
std::string source_text(const HandCall& call, const std::string& name, const std::string& given,
                        std::string_view source);

/// The lines of a type along an axis, which counts from the end where it is negative.
ops::Lines lines_of(const ir::Type& type, std::int64_t axis, const DimBindings& sizes);

/// Words of a launch. What is left out or read by nobody is address 0.
HandWord input(const HandCall& call, int i);
HandWord output(const HandCall& call, int i = 0);
HandWord scratch(std::int64_t offset);
HandWord number(std::int64_t value);
HandWord number(double value);  // its bits
HandWord bad();

inline std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Plans: launches of one thread per item, and areas of scratch.
inline constexpr int kThreads = 256;
void add_items(HandPlan& plan, const std::string& function, std::int64_t items,
               std::vector<HandWord> words);
std::int64_t add_scratch(HandPlan& plan, std::int64_t bytes);

}  // namespace plait::cuda
