// Chainer's functions in the ops of Plait: a row per function. A row is given one operation and
// appends its nodes; UserError when its attributes or sizes do not fit what it knows.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "io/chainer/call.h"

namespace plait::io::chainer {

struct Function {
  std::string_view name;
  std::vector<Tensor> (*build)(Call& call);
};

/// Null when Plait has nothing for it. Ops of Plait are there under their own names.
const Function* find_function(std::string_view name);

// The families; a name is in one of them.
std::span<const Function> image_functions();      // convolution, pooling, normalisation of images
std::span<const Function> pointwise_functions();  // activations, arithmetic, reductions, dropout
std::span<const Function> array_functions();      // moving, joining and splitting
std::span<const Function> index_functions();      // picking elements
std::span<const Function> loss_functions();       // linear layers and losses

/// The op that the operation is named after.
std::vector<Tensor> plait_op(Call& call);

}  // namespace plait::io::chainer
