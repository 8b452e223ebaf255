// The dimensions of a record as sizes of a graph: ranges are symbols, numbers of inputs get names
// that --set can change. Names that must be equal become one while the graph is built.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/shape.h"
#include "io/aitemplate/record.h"
#include "io/import.h"
#include "ir/graph.h"

namespace plait::io::aitemplate {

class SizeTable {
 public:
  /// `named`: constant dimensions of inputs become named sizes.
  SizeTable(const Record& record, bool named);

  Dim of(const IntVar& dim) const;
  Shape of(const std::vector<IntVar>& shape) const;
  /// The document's number; the upper bound of a range.
  std::int64_t number(const Dim& dim) const { return evaluate(dim, values_); }
  Sizes numbers(const Shape& shape) const;
  const DimBindings& values() const { return values_; }
  /// A symbol of the document by name; UserError when there is none.
  Dim symbol(std::string_view name) const;

  /// Where `a` and `b` are the same number written in two ways and one of their named sizes
  /// follows from the others, that one is replaced in `graph` and from now on; otherwise nothing.
  void unify(ir::Graph& graph, const Dim& a, const Dim& b);
  /// The named sizes in `dim` become the document's numbers.
  void pin(ir::Graph& graph, const Dim& dim);
  /// The named sizes in `dim` get a lower end at which it is at least `least`, up to the
  /// document's number.
  void raise(ir::Graph& graph, const Dim& dim, std::int64_t least);

  /// Tells the import which names are left, and what became of the others.
  void finish(Import& import) const;

 private:
  void replace(ir::Graph& graph, const std::string& name, const Dim& by);

  std::map<std::string, Dim> ranges_;          // ranged symbols by the document's name
  std::map<std::string, Dim> symbols_;         // named sizes
  std::map<std::string, std::int64_t> named_;  // and their numbers
  std::vector<std::string> order_;             // of named_, as the document has them
  DimBindings follows_;                        // names that are not free any more
  DimBindings values_;
};

}  // namespace plait::io::aitemplate
