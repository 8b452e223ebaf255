// Bytes as a document of this format: read, made into graphs, reported, written back to the same
// bytes, and written from the graph.
#include "report/aicf.h"
#include "fuzz/target.h"
#include "io/aicf/format.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plait::io;
  using namespace plait::io::aicf;
  return plait::fuzz::survives(data, size, [](std::string_view text) {
    const Record record = read(text, "fuzz");
    if (write(record) != text) {
      std::fprintf(stderr, "written back with other bytes\n");
      std::abort();
    }
    static_cast<void>(plait::report::of_aicf(record, to_graphs(record)).text());
    static_cast<void>(read(write(from_graph(plain_graph(record))), "again"));
  });
}
