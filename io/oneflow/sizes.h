// The sizes of the log that get names, so that its graph can be run smaller: batch and time of the
// token ids, vocab and width of the embedding, copy of the copy head.
#pragma once

#include <map>
#include <optional>

#include "io/import.h"
#include "io/oneflow/record.h"

namespace plait::io::oneflow {

class NamedSizes {
 public:
  /// Names sizes in `import`, or none of them.
  NamedSizes(const Record& record, Import& import, bool named);

  /// Of inputs, and of tensors filled with a number.
  Shape feed(const Sizes& sizes) const;
  Shape parameter(const Sizes& sizes, bool embedding) const;
  /// Buffers go over time, where a size may be that.
  Shape buffer(const Sizes& sizes) const;
  Dim depth(std::int64_t size) const;
  const DimBindings& bindings() const { return bindings_; }

 private:
  Dim parameter_size(std::int64_t size) const;

  std::optional<Dim> batch_, time_, vocab_, width_, copy_;
  DimBindings bindings_;
};

/// The op that looks rows of a variable up by an input, `gather`; null when there is none.
const TracedOp* find_embedding(const Record& record);

}  // namespace plait::io::oneflow
