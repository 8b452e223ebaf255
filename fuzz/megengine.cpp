// Bytes as a document of this format: read, made into graphs, reported, written back.
#include "report/megengine.h"
#include "fuzz/target.h"
#include "io/megengine/format.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plait::io;
  using namespace plait::io::megengine;
  return plait::fuzz::survives(data, size, [](std::string_view text) {
    const Record record = read(text, "fuzz");
    static_cast<void>(write(record));
    static_cast<void>(plait::report::of_megengine(record, to_graphs(record)).text());
  });
}
