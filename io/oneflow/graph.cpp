// Record to graphs: `traced`, which runs, and `final`, which was executed.
#include "io/oneflow/final.h"
#include "io/oneflow/format.h"
#include "io/oneflow/traced.h"

namespace plait::io::oneflow {

Import to_graphs(const Record& record) {
  const Names names(record);
  Import import = import_with_sizes([&](bool named) {
    Import out;
    const NamedSizes sizes(record, out, named);
    if (!record.ops.empty()) {
      out.package.graphs.push_back(traced_graph(record, names, sizes, out));
    }
    if (record.tree && !record.operators().empty()) {
      const ir::Graph* traced = record.ops.empty() ? nullptr : &out.package.graphs[0];
      out.package.graphs.push_back(final_graph(record, names, sizes, traced, out));
    }
    return out;
  });
  for (const std::string& section : record.missing) {
    import.notes.push_back("the log does not have " + section);
  }
  return import;
}

}  // namespace plait::io::oneflow
