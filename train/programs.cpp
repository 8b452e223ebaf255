// GRAPH.plan is what `plait compile` writes; GRAPH.plan.json says what it was made from.
#include "train/programs.h"

#include <cstdio>
#include <optional>

#include "base/build_id.h"
#include "base/hash.h"
#include "base/text.h"
#include "io/file.h"
#include "io/json.h"

namespace plait::train {
namespace {

struct Origin {
  std::string hash;   // of graph, target and options
  std::string build;  // of Plait
};

/// Empty fields where the file is not there or, which a note says, is none.
Origin read_origin(const std::string& path, std::vector<std::string>& notes) {
  if (!io::is_there(path)) return {};
  try {
    const io::Json json = io::parse_json(io::read_file(path), path);
    const std::string hash = io::text_member(json, "hash", path);
    return {hash, json.contains("build") ? io::text_member(json, "build", path) : ""};
  } catch (const UserError& e) {
    notes.push_back(str(e.what(), ": planned anew"));
    return {};
  }
}

/// The folder's program, as it was written; nothing when there is none, or none that can be read.
std::optional<program::Program> read_program(const std::string& path,
                                             std::vector<std::string>& notes) {
  if (!io::is_there(path)) return std::nullopt;
  try {
    return program::from_bytes(io::read_file(path), path);
  } catch (const UserError& e) {
    notes.push_back(str(e.what(), ": planned anew"));
    return std::nullopt;
  }
}

}  // namespace

void load_program(Session& session, const Wanted& wanted, RunFolder& folder,
                  std::vector<std::string>& notes) {
  const std::string name = wanted.request.graph + kPlanSuffix, path = folder.file(name);
  const ir::Graph graph = wanted_graph(session.package(), wanted.request);
  const Origin now{hex_digits(plan::program_hash(graph, wanted.target, {}, session.table())),
                   hex_digits(fnv1a64(wanted.target.build() + build_id()))};
  const Origin kept = read_origin(path + ".json", notes);
  std::optional<program::Program> stored;
  if (kept.hash == now.hash) {
    stored = read_program(path, notes);
  } else if (!kept.hash.empty()) {
    notes.push_back(str(path, " is for another model, machine or number of threads: planned anew"));
  }
  if (stored) {
    program::Program made =
        compile(graph, wanted.target, {.tuned = stored->tuning, .table = session.table()}).program;
    const std::string other = program::difference(made, *stored);
    if (!other.empty() && kept.build == now.build) {
      fail(path, " is not the plan of this run's graph (", other,
           "): it was changed after it was written. Remove it, and the run goes on by a plan made "
           "anew");
    }
    session.use_program(wanted.request, std::move(made));
    if (kept.build != now.build) {
      notes.push_back(str(path, " was planned ",
                          other.empty() ? "" : str("otherwise (", other, ") "),
                          "by another build of Plait: what it computes with may differ in the last "
                          "bits"));
    }
    if (other.empty()) return;
  }
  folder.write(name, program::to_bytes(session.program(wanted.request)));
  folder.write(name + ".json", io::Json{{"hash", now.hash}, {"build", now.build}}.dump() + "\n");
}

}  // namespace plait::train
