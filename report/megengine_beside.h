// Two profiles of the same network, contraction by contraction.
#pragma once

#include "io/megengine/record.h"
#include "report/page.h"

namespace plait::report {

/// Contractions are paired in the order they ran, by type, shape of the result and operations; the
/// operators that follow one up to the next belong to it. UserError where a record has no times on
/// its device or the two have no contraction in common.
Page of_two_profiles(const io::megengine::Record& first, const io::megengine::Record& second);

}  // namespace plait::report
