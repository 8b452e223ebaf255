// Which traced tensor is the gradient of which parameter: the log does not say it in one place.
#pragma once

#include <map>
#include <string>

#include "io/oneflow/record.h"

namespace plait::io::oneflow {

/// By variable. From the updates of the tree, `NAME_optimizer(w, gradient, ...)`, followed back
/// through what the passes put between.
std::map<std::string, std::string> gradients_in_tree(const Record& record);

/// By variable. From the traced ops alone: a sum like the parameter, a matrix product's second
/// gradient, a norm's, wkv's; then on to the tensor that nothing reads.
std::map<std::string, std::string> gradients_in_trace(const Record& record);

}  // namespace plait::io::oneflow
