// Bytes as a document of this format: read, made into graphs, reported, written back.
#include "report/oneflow.h"
#include "fuzz/target.h"
#include "io/oneflow/format.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plait::io;
  using namespace plait::io::oneflow;
  return plait::fuzz::survives(data, size, [](std::string_view text) {
    Lines lines(text, "fuzz");
    const Record record = read(lines);
    static_cast<void>(write(record));
    static_cast<void>(plait::report::of_oneflow(record, to_graphs(record)).text());
  });
}
