// Making sessions.
#include "train/model_session.h"

#include "backends/backends.h"
#include "base/text.h"

namespace plait::train {

Session model_session(ir::Package package, const Config& config) {
  const auto seed = static_cast<std::uint64_t>(config.train.seed);
  TargetOptions options;
  options.threads = static_cast<int>(config.train.threads);
  options.tf32 = config.train.fp32 == "tf32";
  options.fast = config.train.fast;
  return Session(std::move(package), make_target(config.train.backend, options), seed);
}

void give_weights(Session& session, const Tensors& weights, const std::string& where) {
  for (const ir::State& state : state_table(session.package())) {
    if (state.role != ir::Role::kParam && state.role != ir::Role::kBuffer) continue;
    const auto found = weights.find(state.name);
    if (found == weights.end()) {
      fail(where, " has no state '", state.name, "', which the model of this config has");
    }
    try {
      session.set_state(state.name, found->second);
    } catch (const UserError& e) {
      fail(where, ": ", e.what());
    }
  }
}

std::int64_t parameters_of(const ir::Package& package) {
  std::int64_t count = 0;
  for (const ir::State& state : state_table(package)) {
    std::int64_t elements = 1;
    for (const Dim& d : state.type.shape) elements *= d.value();
    if (state.role == ir::Role::kParam) count += elements;
  }
  return count;
}

}  // namespace plait::train
