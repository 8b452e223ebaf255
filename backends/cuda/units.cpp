// Texts into units, and what is where.
#include "backends/cuda/units.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "backends/cuda/code.h"
#include "backends/cuda/fused.h"
#include "backends/cuda/single_kernel.h"
#include "codegen/cuda/print.h"

namespace plait::cuda {
namespace {

constexpr std::size_t kFunctionsPerUnit = 4;

/// Whether no symbol is in it.
bool has_sizes(const loop::Contraction& c) {
  const auto known = [](std::initializer_list<Dim> dims) {
    return std::all_of(dims.begin(), dims.end(), [](const Dim& d) { return d.is_const(); });
  };
  for (const auto* axes : {&c.batch, &c.m, &c.n, &c.k}) {
    for (const auto& x : *axes) {
      if (!known({x.extent, x.a, x.b, x.c, x.h, x.w})) return false;
    }
  }
  return known({c.a0, c.b0, c.c0, c.h0, c.w0, c.height, c.width});
}

/// f(call) for every hand kernel's call of a program.
template <class F>
void each_hand(const program::Program& program, F f) {
  for (const program::Step& step : program.steps) {
    for (const program::Call& call : step.calls) {
      if (const auto* hand = std::get_if<HandCall>(&call)) f(*hand);
    }
  }
}

}  // namespace

void expect_libraries(const Libraries& libraries, const program::Program& program) {
  LibraryUse use;
  for (const program::Step& step : program.steps) {
    for (const program::Call& call : step.calls) {
      const auto* product = std::get_if<ProductCall>(&call);
      if (!product) continue;
      for (const ProductCall::Part& p : product->parts) {
        if (!p.generated.function.name.empty()) continue;
        const LibraryVariant variant = library_variant(p.variant);
        use.cublaslt |= library_of(variant.id) == "lt";
        use.cudnn |= library_of(variant.id) == "cudnn";
        if (!has_sizes(p.contraction)) continue;
        const loop::BoundContraction bound = loop::bind(p.contraction, {});
        use.calls.push_back(
            {bound, result_dtype(variant, bound.dtype), epilogue_of(variant.fused), variant.id});
      }
    }
  }
  if (use.cublaslt || use.cudnn) libraries.expect(std::move(use));
}

Units::Units(Device& device, const program::Program& program) {
  const std::string header = codegen::cuda::unit_header();
  const auto whole = program.texts.find(std::string(program::kSingleKernel));
  whole_ = whole != program.texts.end() && program.single_kernel;
  std::map<std::string_view, std::size_t> hands;  // by the name of their text; its unit
  each_hand(program, [&](const HandCall& call) { hands.emplace(call.code, 0); });
  const std::size_t functions = program.texts.size() - hands.size() - (whole_ ? 1 : 0);
  const std::size_t count = whole_ ? 1
                            : functions == 0
                                ? 0
                                : std::max<std::size_t>(1, functions / kFunctionsPerUnit);
  std::vector<std::string> units(count, header);
  if (whole_) units[0] += kAnyAddress;
  for (const auto& [name, text] : program.texts) {
    if (const auto hand = hands.find(name); hand != hands.end()) {
      hand->second = units.size();
      units.push_back(header + text);
    } else if (name != program::kSingleKernel) {
      const std::size_t unit = unit_of_.size() % count;
      unit_of_.emplace(name, unit);
      units[unit] += text;
    }
  }
  if (whole_) units[0] += whole->second;
  each_hand(program, [&](const HandCall& call) { hands_[&call] = hands.at(call.code); });
  built_ = device.compile(units);
}

const void* Units::single_kernel_function() const {
  return built_.modules[0]->function(std::string(program::kSingleKernel));
}

}  // namespace plait::cuda
