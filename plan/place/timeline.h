// The picture of an arena over time: one rectangle per buffer, steps to the right, offsets upwards,
// the sum of live bytes as a curve over it. A self-contained SVG.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plan/place/place.h"

namespace plait::plan {

/// `labels` names the intervals and `steps` the steps from 0; both may be shorter than what they
/// name (or empty): numbers stand in for the missing names.
std::string timeline_svg(const std::vector<Interval>& intervals, const Placement& placement,
                         const std::vector<std::string>& labels,
                         const std::vector<std::string>& steps, std::string_view title);

}  // namespace plait::plan
