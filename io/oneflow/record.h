// What the document says, typed, in its own words: the graph and all that stands beside it.
#pragma once

namespace plait::io::oneflow {

struct Record {};

}  // namespace plait::io::oneflow
