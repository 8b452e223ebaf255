// Sessions that run a trained model without training it.
#pragma once

#include <string>

#include "run/session.h"
#include "train/checkpoint.h"
#include "train/config.h"

namespace plait::train {

/// On the config's backend, with its threads and f32 products.
Session model_session(ir::Package package, const Config& config);

/// Sets all parameters and buffers. UserError naming `where` when one is missing or of another
/// type; tensors that the session lacks are passed over.
void give_weights(Session& session, const Tensors& weights, const std::string& where);

/// Elements of trained states.
std::int64_t parameters_of(const ir::Package& package);

}  // namespace plait::train
