// GRAPH.plan is what `plait compile` writes; GRAPH.plan.json says what it was made from.
#include "train/programs.h"

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/build_id.h"
#include "base/hash.h"
#include "base/text.h"
#include "io/file.h"

namespace plait::train {
namespace {

std::string hex(std::uint64_t hash) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

struct Origin {
  std::string hash;   // of graph, target and options
  std::string build;  // of Plait
};

/// Empty fields where the file is not there or is none.
Origin read_origin(const std::string& path) {
  if (!std::filesystem::exists(path)) return {};
  const auto json = nlohmann::json::parse(io::read_file(path), nullptr, false);
  if (!json.is_object()) return {};
  return {json.value("hash", ""), json.value("build", "")};
}

}  // namespace

void load_program(Session& session, const Wanted& wanted, RunFolder& folder,
                  std::vector<std::string>& notes) {
  const std::string name = wanted.request.graph + kPlanSuffix, path = folder.file(name);
  const ir::Graph graph = wanted_graph(session.package(), wanted.request);
  const Origin now{hex(plan::program_hash(graph, wanted.target, {})),
                   hex(fnv1a64(wanted.target.build() + build_id()))};
  const Origin kept = read_origin(path + ".json");
  if (kept.hash == now.hash) {
    try {
      session.use_program(wanted.request, plan::from_bytes(io::read_file(path), path));
      if (kept.build != now.build) {
        notes.push_back(str(path,
                            " was planned by another build of Plait: what it computes with "
                            "may differ in the last bits"));
      }
      return;
    } catch (const UserError& e) {
      notes.push_back(str(e.what(), ": planned anew"));
    }
  } else if (!kept.hash.empty()) {
    notes.push_back(str(path, " is for another model, machine or number of threads: planned anew"));
  }
  folder.write(name, plan::to_bytes(*session.program(wanted.request)));
  folder.write(name + ".json",
               nlohmann::json{{"hash", now.hash}, {"build", now.build}}.dump() + "\n");
}

}  // namespace plait::train
