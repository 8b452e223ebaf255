// Reading a run's folder.
#include "train/trained_run.h"

#include <filesystem>

#include "base/text.h"
#include "io/file.h"
#include "io/json.h"
#include "train/network.h"
#include "train/run_folder.h"
#include "train/schema.h"

namespace plait::train {
namespace {

namespace fs = std::filesystem;

/// The folder of the run that the path names or lies in, and the checkpoint if it names one.
struct Place {
  std::string run, checkpoint;
};

/// Without a run where there is none.
Place place_of(const std::string& path) {
  if (path.empty()) return {};
  const fs::path given = fs::path(path).lexically_normal();
  const fs::path folder = given.has_filename() ? given : given.parent_path();
  if (io::is_there(folder / kConfigFile)) return {folder.string(), ""};
  std::error_code error;  // of a working folder that was removed: no run there
  const fs::path run = fs::absolute(folder, error).parent_path().parent_path();
  if (!error && io::is_there(folder / kStateFile) && io::is_there(run / kConfigFile)) {
    return {run.string(), folder.string()};
  }
  return {};
}

std::string file_of(const TrainedRun& run, const char* name) {
  return (fs::path(run.folder) / name).string();
}

}  // namespace

bool is_run(const std::string& path) { return !place_of(path).run.empty(); }

TrainedRun open_run(const std::string& path, const std::vector<std::string>& arguments) {
  const Place place = place_of(path);
  if (place.run.empty()) {
    if (!io::is_there(path)) fail("there is no run '", path, "': no such folder");
    fail("'", path, "' is no run: it has no ", kConfigFile, ", and is no checkpoint of one");
  }
  TrainedRun out;
  out.config = load_run_config((fs::path(place.run) / kConfigFile).string(), arguments);
  out.folder = place.run;
  out.source = place.checkpoint;
  return out;
}

void load_weights(TrainedRun& run) {
  Checkpoint checkpoint;
  if (run.source.empty()) {
    Latest latest = load_latest(run.folder, Need::weights);
    checkpoint = std::move(latest.checkpoint);
    run.source = latest.path;
    run.notes = std::move(latest.notes);
  } else {
    checkpoint = read_checkpoint(run.source, Need::weights);
  }
  run.weights = std::move(checkpoint.weights);
  run.step = checkpoint.state.step;
}

TrainedRun load_run(const std::string& path, const std::vector<std::string>& arguments) {
  TrainedRun run = open_run(path, arguments);
  load_weights(run);
  return run;
}

std::optional<Vocabulary> vocabulary_of(const TrainedRun& run) {
  const std::string path = file_of(run, kVocabFile);
  if (run.config.data.kind != "text" || !io::is_there(path)) return std::nullopt;
  return Vocabulary::from_json(io::read_file(path), path);
}

std::vector<std::string> classes_of(const TrainedRun& run) {
  const std::string path = file_of(run, kClassesFile);
  if (!holds_word(known_by_data("classes"), run.config.data.kind) || !io::is_there(path)) return {};
  const io::Json json = io::parse_json(io::read_file(path), path);
  if (json.is_array() && json.empty()) fail(path, " is an empty list: it names no class");
  if (!json.is_array()) fail(path, " is ", io::glimpse(json), ", no list of names");
  std::vector<std::string> names;
  for (const io::Json& name : json) {
    if (!name.is_string()) fail(path, " lists ", io::glimpse(name), " among its names");
    names.push_back(name.get<std::string>());
  }
  return names;
}

std::string network_of(const TrainedRun& run) {
  const std::string& original = run.config.model.file;
  return original.empty() ? "" : read_kept_network(file_of(run, kNetworkFile), original);
}

}  // namespace plait::train
