// plait convert IN OUT: a document in another format, or a model as a document.
#include <filesystem>

#include "base/error.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/source.h"
#include "cli/written.h"
#include "io/file.h"

namespace plait::cli {
namespace {

constexpr Flag kConvertFlags[] = {
    {"--to", "FORMAT", kFormatsHelp},
    kGraphFlag,
    kSetFlag,
};

/// What --to says, or what the end of OUT's name says.
std::string wanted_format(const Args& args) {
  if (args.has("--to")) {
    check_format("--to", args.text("--to"));
    return args.text("--to");
  }
  const std::string end = std::filesystem::path(args.words()[1]).extension().string();
  if (end == ".plait" || end == ".dot") return end.substr(1);
  throw UsageError(str("the name ", args.words()[1],
                       " does not say the format; give --to FORMAT, or end it in .plait or .dot"));
}

void run_convert(const Args& args) {
  const std::string format = wanted_format(args), out = args.words()[1];
  const io::Document document = load_document(args.words()[0]);
  std::string text;
  if (format == document.format && !args.has("--set") && !args.has("--graph")) {
    text = text_as_read(document);
  } else {
    ir::Package package = set_symbols(document.import, args);
    if (args.has("--graph")) package.graphs = {ir::Graph(chosen_graph(package, args))};
    check_types(package, args.words()[0]);
    text = text_of(package, format);
  }
  if (out == "-") return print(text);
  io::write_file(out, {text});
}

}  // namespace

constinit const Command kConvert{
    .name = "convert",
    .usage = "IN OUT [options]",
    .doc = "writes a document, a graph or a model in another format",
    .least_words = 2,
    .most_words = 2,
    .flags = kConvertFlags,
    .details =
        "IN is what every command takes as FILE; OUT is a path, or '-' for standard output.\n"
        "A document written in its own format is as it was read; of a log, the sections that "
        "Plait\n"
        "reads, laid out anew. The formats of documents hold one graph: the first, or the one "
        "that\n"
        "--graph names. MegEngine's holds times: the graph is run for them, on the reference "
        "backend.\n",
    .example =
        "  $ plait convert 'model:mlp?train=1' step.txt --to aicf\n"
        "  $ plait convert step.txt step.plait\n",
    .run = run_convert};

}  // namespace plait::cli
