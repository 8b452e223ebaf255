// States and their first values.
#include "io/oneflow/states.h"

#include <algorithm>
#include <cmath>

#include "io/oneflow/words.h"
#include "ops/initializers.h"

namespace plait::io::oneflow {
namespace {

/// The number behind `blocks.`; nothing where there is none.
std::optional<std::int64_t> layer_of(std::string_view name) {
  constexpr std::string_view kBlocks = "blocks.";
  const std::size_t at = name.find(kBlocks);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = name.substr(at + kBlocks.size());
  const auto layer = integer_of(rest.substr(0, rest.find('.')));
  if (!layer || *layer < 0 || *layer > 1'000'000) return {};
  return layer;
}

/// The formulas of RWKV-4's time_* parameters, in a network of `layers`.
std::optional<ir::Init> time_init(std::string_view name, std::int64_t layers, double width) {
  const auto layer = layer_of(name);
  if (!layer || layers < 1 || width < 1) return {};
  const double l = static_cast<double>(*layer), count = static_cast<double>(layers);
  const double rise = layers == 1 ? 0 : l / (count - 1), fall = 1 - l / count;
  const auto ramp = [&](double exponent, double offset) {
    return init::make(init::Power{.offset = offset, .divisor = width, .exponent = exponent});
  };
  if (name.ends_with(".time_decay")) {
    return init::make(init::Power{.offset = -5,
                                  .scale = 8,
                                  .divisor = std::max(width - 1, 1.0),
                                  .exponent = 0.7 + 1.3 * rise});
  }
  if (name.ends_with(".time_first")) {
    const double middle = std::log(0.3);
    return init::make(init::Cycle{{middle, middle + 0.5, middle - 0.5}});
  }
  if (name.ends_with(".time_mix_k") || name.ends_with("ffn.time_mix_r")) return ramp(fall, 0);
  if (name.ends_with(".time_mix_v")) return ramp(fall, 0.3 * rise);
  if (name.ends_with(".time_mix_r")) return ramp(fall / 2, 0);
  return {};
}

}  // namespace

States::States(const Record& record, const Names& names, const NamedSizes& sizes)
    : names_(names), sizes_(sizes) {
  if (const TracedOp* table = find_embedding(record)) embedding_ = table->name;
  for (const TracedOp& op : record.ops) {
    if (op.kind != OpKind::kVariable) continue;
    if (const auto layer = layer_of(op.name)) layers_ = std::max(layers_, *layer + 1);
  }
}

ir::Init States::init(const std::string& name, const Blob& blob) const {
  const double width = blob.shape.empty() ? 1 : static_cast<double>(blob.shape.back());
  if (const auto time = time_init(name, layers_, width)) return *time;
  if (blob.shape.size() >= 2) return init::make(init::Xavier{});
  return name.ends_with("weight") ? init::ones() : init::zeros();
}

ir::State States::parameter(const std::string& variable, const Blob& blob) const {
  const std::string name = names_.state(variable);
  return {name,
          {blob.dtype, sizes_.parameter(blob.shape, variable == embedding_)},
          ir::Role::kParam,
          is_float(blob.dtype) ? init(name, blob) : init::zeros()};
}

ir::State States::buffer(const std::string& variable, const Blob& blob) const {
  return {names_.state(variable),
          {blob.dtype, sizes_.buffer(blob.shape)},
          ir::Role::kBuffer,
          init::zeros()};
}

ir::State States::slot(const std::string& variable, const Blob& blob) const {
  const bool moment = variable.ends_with("-m") || variable.ends_with("-v");
  const std::string of = moment ? variable.substr(0, variable.size() - 2) : "";
  return {names_.state(variable),
          {blob.dtype, sizes_.parameter(blob.shape, moment && of == embedding_)},
          is_float(blob.dtype) ? ir::Role::kSlot : ir::Role::kCounter,
          init::zeros()};
}

}  // namespace plait::io::oneflow
