// The states of the log's graphs. Both graphs declare them the same, so they come from one place.
#pragma once

#include <string>

#include "io/oneflow/names.h"
#include "io/oneflow/record.h"
#include "io/oneflow/sizes.h"
#include "ir/graph.h"

namespace plait::io::oneflow {

/// Variables of the log as states of ours.
class States {
 public:
  States(const Record& record, const Names& names, const NamedSizes& sizes);

  /// A trained variable, drawn as LiBai's RWKV does: matrices Xavier-normal, norms one and zero,
  /// time_* by their formulas.
  ir::State parameter(const std::string& variable, const Blob& blob) const;
  ir::State buffer(const std::string& variable, const Blob& blob) const;
  /// Any other: a moment of the optimizer, or a counter where it is whole numbers.
  ir::State slot(const std::string& variable, const Blob& blob) const;

 private:
  ir::Init init(const std::string& name, const Blob& blob) const;
  const Names& names_;
  const NamedSizes& sizes_;
  std::string embedding_;  // variable
  std::int64_t layers_ = 0;
};

}  // namespace plait::io::oneflow
