// The public header. A program that includes it can write a network as modules, differentiate it,
// add an optimizer, and run the graph it gets.
//
//   struct Net : plait::nn::ModuleOf<Net> {
//     plait::nn::Linear fc1{this, "fc1", 784, 128}, fc2{this, "fc2", 128, 10};
//     plait::Tensor forward(const plait::Tensor& x) { return fc2(plait::ops::relu(fc1(x))); }
//   };
#pragma once

#include "backends/backends.h"
#include "ir/text.h"
#include "nn/layers.h"
#include "nn/module.h"
#include "nn/optimizer.h"
#include "ops/ops.h"
#include "passes/differentiate.h"
#include "passes/pipeline.h"
#include "run/session.h"
