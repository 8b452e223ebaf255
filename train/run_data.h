// Between a config and its data.
#pragma once

#include <string>

#include "ir/graph.h"
#include "train/config.h"
#include "train/data/data.h"

namespace plait::train {

/// Whether the data is Plait's own text.
bool reads_own_text(const Config& config);

/// What the config says of its data; `own_text` is the file with Plait's own text. UserError when
/// that is wanted and not there.
DataSettings data_settings(const Config& config, const std::string& own_text);

/// Sizes of the model that the config left to the data; UserError where the model is too small.
void fit(Config& config, const Data& data);

/// Ids or classes that the model can take; `graph` is one of its graphs.
std::int64_t limit_of(const Config& config, const ir::Graph& graph, const Data& data);

}  // namespace plait::train
