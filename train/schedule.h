// The learning rate of every step: a pure function of the config.
#pragma once

#include <cstdint>

#include "train/config.h"

namespace plait::train {

/// The learning rate of update `step`, which counts from 0, of `total` updates. With W the
/// warm-up's steps, s = step - W and T = decay_steps or total - W:
///   step < W     lr (from + (1 - from) step / W)      PyTorch's LinearLR
///   constant     lr
///   step         lr gamma^floor(s / step_every)       StepLR
///   cosine       min + (lr - min) (1 + cos(pi s / T)) / 2     CosineAnnealingLR
///   linear       min + (lr - min) (1 - s / T)
///   polynomial   min + (lr - min) (1 - s / T)^power   PolynomialLR
/// Beyond T the curve stays where it ended.
double learning_rate(const Config::Schedule& schedule, double lr, std::int64_t total,
                     std::int64_t step);

inline double learning_rate(const Config& config, std::int64_t total, std::int64_t step) {
  return learning_rate(config.schedule, config.optimizer.lr, total, step);
}

}  // namespace plait::train
