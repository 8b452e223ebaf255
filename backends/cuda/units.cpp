// Texts into units, and what is where.
#include "backends/cuda/units.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "backends/cuda/code.h"
#include "backends/cuda/fused.h"
#include "backends/cuda/hand/hand.h"
#include "backends/cuda/whole.h"
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
            {bound, variant.apart.value_or(bound.dtype), epilogue_of(variant.fused), variant.id});
      }
    }
  }
  if (use.cublaslt || use.cudnn) libraries.expect(std::move(use));
}

Units::Units(Device& device, const program::Program& program)
    : whole_(program.whole && !program.texts.empty()) {
  const std::size_t functions = program.texts.size();
  const std::size_t count = functions == 0 ? 0
                            : whole_       ? 1
                                     : std::max<std::size_t>(1, functions / kFunctionsPerUnit);
  std::vector<std::string> units(count, codegen::cuda::unit_header());
  for (const auto& [name, text] : program.texts) {
    const std::size_t unit = unit_of_.size() % count;
    unit_of_.emplace(name, unit);
    units[unit] += text;
  }
  if (whole_) units[0] = codegen::cuda::unit_header() + whole_text(program);
  add_hands(program, units);
  built_ = device.compile(units);
}

void Units::add_hands(const program::Program& program, std::vector<std::string>& units) {
  std::map<std::string, std::size_t> known;
  for (const program::Step& step : program.steps) {
    for (const program::Call& call : step.calls) {
      const auto* hand = std::get_if<HandCall>(&call);
      if (!hand) continue;
      const std::string text = codegen::cuda::unit_header() + find_hand(hand->op)->text(*hand);
      const auto [found, added] = known.emplace(text, units.size());
      if (added) units.push_back(text);
      hands_[hand] = found->second;
    }
  }
}

const void* Units::whole_function() const { return built_.modules[0]->function("plait_whole"); }

}  // namespace plait::cuda
