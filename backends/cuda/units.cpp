// Texts into units, and what is where.
#include "backends/cuda/units.h"

#include <algorithm>

#include "backends/cuda/code.h"
#include "backends/cuda/fused.h"
#include "backends/cuda/hand/hand.h"
#include "backends/cuda/whole.h"
#include "codegen/cuda/print.h"

namespace plait::cuda {
namespace {

constexpr std::size_t kFunctionsPerUnit = 4;

}  // namespace

void expect_libraries(const Libraries& libraries, const std::vector<std::vector<Call>>& steps) {
  bool cublaslt = false, cudnn = false;
  for (const std::vector<Call>& calls : steps) {
    for (const Call& call : calls) {
      const auto* product = std::get_if<ProductCall>(&call);
      if (!product) continue;
      for (const ProductCall::Part& p : product->parts) {
        if (!p.generated.function.name.empty()) continue;
        const std::string id = library_variant(p.variant).id;
        cublaslt |= id.starts_with("lt.");
        cudnn |= id.starts_with("cudnn.");
      }
    }
  }
  libraries.expect(cublaslt, cudnn);
}

Units::Units(Device& device, const std::vector<std::vector<Call>>& steps,
             const std::vector<std::string>& texts, bool whole)
    : whole_(whole && !texts.empty()) {
  const std::size_t count = texts.empty() ? 0
                            : whole       ? 1
                                    : std::max<std::size_t>(1, texts.size() / kFunctionsPerUnit);
  std::vector<std::string> units(count, codegen::cuda::unit_header());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    units[i % count] += texts[i];
    const std::size_t begin = std::string(kNameComment).size();
    const std::string name = texts[i].substr(begin, texts[i].find('\n') - begin);
    unit_of_[name] = i % count;
    if (texts[i].find(name + "_many(") != std::string::npos) many_.insert(name);
  }
  if (whole_) units[0] = codegen::cuda::unit_header() + whole_text(steps, texts);
  add_hands(steps, units);
  built_ = device.compile(units);
}

void Units::add_hands(const std::vector<std::vector<Call>>& steps,
                      std::vector<std::string>& units) {
  std::map<std::string, std::size_t> known;
  for (const std::vector<Call>& calls : steps) {
    for (const Call& call : calls) {
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
