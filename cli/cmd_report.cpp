// plait report FILE: what a document says, and what its author did not know.
#include <chrono>

#include "base/error.h"
#include "cli/command.h"
#include "cli/json.h"
#include "cli/source.h"
#include "cli/summary.h"
#include "report/graph.h"
#include "report/megengine_beside.h"
#include "report/report.h"

namespace plait::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr Flag kBesideFlag{"--beside", "P.json",
                           "another profile of the same network: both, contraction by contraction"};
constexpr Flag kReportFlags[] = {kBesideFlag, kGraphFlag, kSetFlag, kJsonFlag};

Json facts_json(const std::vector<report::Fact>& facts) {
  Json out = Json::object();
  for (const report::Fact& f : facts) {
    if (!f.number) {
      out[f.name] = f.text;
    } else if (*f.number == static_cast<double>(static_cast<std::int64_t>(*f.number))) {
      out[f.name] = static_cast<std::int64_t>(*f.number);
    } else {
      out[f.name] = *f.number;
    }
  }
  return out;
}

Json page_json(const report::Page& page, const std::string& format) {
  Json sections = Json::array(), findings = Json::array();
  for (const report::Section& s : page.sections) {
    sections.push_back({{"title", s.title}, {"facts", facts_json(s.facts)}});
    if (!s.table.rows.empty()) {
      sections.back()["table"] = {{"header", s.table.header}, {"rows", s.table.rows}};
    }
  }
  for (const report::Finding& f : page.findings) {
    findings.push_back({{"what", f.what}, {"advice", f.advice}, {"nodes", f.nodes}});
  }
  return {
      {"title", page.title}, {"format", format}, {"sections", sections}, {"findings", findings}};
}

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count() * 1e3;
}

report::Page two_profiles(const io::Document& first, const Args& args) {
  const std::string path = args.text("--beside");
  const io::Document second = load_document(path);
  const auto* a = std::get_if<io::megengine::Record>(&first.record);
  const auto* b = std::get_if<io::megengine::Record>(&second.record);
  if (!a || !b) {
    fail("--beside is for two profiles in MegEngine's schema (`plait profile FILE -o P.json`): ",
         a ? path : args.words()[0], " is of ", a ? second.format : first.format);
  }
  return report::of_two_profiles(*a, *b);
}

void run_report(const Args& args) {
  if (args.has("--beside") && (args.has("--set") || args.has("--graph"))) {
    throw UsageError("--beside is for profiles as they are: it excludes --set and --graph");
  }
  const Clock::time_point start = Clock::now();
  const io::Document document = load_document(args.words()[0]);
  const double read_ms = ms_since(start);
  const bool as_read = !args.has("--set") && !args.has("--graph");
  report::Page page;
  if (args.has("--beside")) {
    page = two_profiles(document, args);
  } else if (as_read && document.format != "plait") {
    page = report::of_document(document);
  } else {
    const ir::Package package = set_symbols(document.import, args);
    check_types(package, args.words()[0]);
    const ir::Graph& graph = chosen_graph(package, args);
    require_numbers(graph);
    page = report::of_graph(graph);
  }
  const double all_ms = ms_since(start);
  note(str("read in ", duration_text(read_ms / 1e3), ", page in ",
           duration_text((all_ms - read_ms) / 1e3)));
  if (args.has("--json")) return print_json(page_json(page, document.format));
  print(page.text());
}

}  // namespace

constinit const Command kReport{
    .name = "report",
    .usage = "FILE [options]",
    .doc = "a page about a document: counts, work, memory, time, and what is wrong with it",
    .least_words = 1,
    .most_words = 1,
    .flags = kReportFlags,
    .details =
        "FILE is a document of AICF, MegEngine, Chainer, OneFlow/LiBai or AITemplate, found by "
        "its\n"
        "content; a graph in the text form or a model gets the part that needs no document, and "
        "so\n"
        "does a document with --set or --graph. Two profiles stand side by side with --beside.\n",
    .run = run_report};

}  // namespace plait::cli
