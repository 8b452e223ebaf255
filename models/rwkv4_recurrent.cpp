// RWKV-4 a token at a time: the graph round the layers of models/rwkv4.cpp.
#include "models/rwkv4_recurrent.h"

namespace plait::models {

ir::Package build_rwkv4_step(DType dtype, const Rwkv4Sizes& sizes, std::int64_t batch) {
  Rwkv4 net(dtype, sizes);
  net.train(false);
  Builder b("step");
  const Tensor token = b.feed("token", DType::i64, {batch});
  const Tensor logits = net(token.unsqueeze({1}), Past::kCarried);
  b.fetch("logits", logits.squeeze({1}));
  ir::Package package;
  package.graphs.push_back(b.take());
  return package;
}

std::vector<ir::State> carried_states(const ir::Graph& step) {
  std::vector<ir::State> carried;
  for (const ir::StateUse& use : step.states) {
    if (use.state.role != ir::Role::kParam) carried.push_back(use.state);
  }
  return carried;
}

}  // namespace plait::models
