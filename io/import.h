// What a document becomes: graphs, and the sizes of the document that have names, so that `--set`
// can change them. Readers fill this; nothing here knows a format.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace plait::io {

struct Import {
  ir::Package package;  // sizes may be expressions over the symbols named in `sizes`
  /// Symbols that stand for a number in the document, and that number. Symbols of the graph that
  /// are not here have a range in the document itself and stay symbols.
  std::map<std::string, std::int64_t> sizes;
  std::vector<std::string> notes;  // what had to be assumed, a sentence each

  /// A new named size; use the symbol wherever the document means this size.
  Dim named(const std::string& name, std::int64_t value);
  DimBindings bindings() const;
};

/// The import that `build(true)` makes with named sizes, when it verifies and all its named sizes
/// set to the document's numbers verify too; otherwise build(false), made of numbers alone, with a
/// note why. UserError where that does not verify either.
Import import_with_sizes(const std::function<Import(bool named)>& build);

/// `target` as an expression over the sizes of `from`: a reshape of `from` that keeps meaning the
/// same when named sizes change. Nothing when no split of the sizes explains it.
std::optional<Shape> reshaped(const Shape& from, const Sizes& target, const DimBindings& values);

/// Why these cannot be the sizes of a tensor (negative, more elements than fit); empty if they can.
std::string why_bad_sizes(const Sizes& sizes);

/// Readers refuse documents with more nodes or values than this, so that time stays bounded.
inline constexpr std::int64_t kMaxItems = 1'000'000;

}  // namespace plait::io
