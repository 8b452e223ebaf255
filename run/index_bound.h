// How large whole numbers of a feed may be: read off what they index.
#pragma once

#include <cstdint>
#include <optional>

#include "ir/graph.h"

namespace plait {

/// The smallest extent that the elements of a feed index in this graph (classes of a loss, rows of
/// a table); nothing where they index nothing.
std::optional<std::int64_t> index_bound(const ir::Graph& graph, ir::ValueId feed);

}  // namespace plait
