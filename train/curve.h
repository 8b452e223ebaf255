// The loss curve of one or several runs as a picture: a self-contained SVG that reads well on light
// and on dark ground.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "train/metrics.h"

namespace plait::train {

struct Curve {
  std::string name;  // in the legend where there are several
  std::vector<Record> records;
};

/// `automatic` is logarithmic where all losses are positive and span more than a factor of 20.
enum class LossAxis { automatic, linear, logarithmic };

/// Each run's loss thin, its smoothed loss thick, its evaluations as points. Values that are not
/// finite (or not positive on a logarithmic axis) are gaps. Long runs are thinned out, keeping the
/// extremes.
std::string curve_svg(const std::vector<Curve>& curves, std::string_view title,
                      LossAxis axis = LossAxis::automatic);

}  // namespace plait::train
