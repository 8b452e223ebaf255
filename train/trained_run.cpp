// Reading a run's folder.
#include "train/trained_run.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "io/file.h"
#include "train/run_folder.h"

namespace plait::train {
namespace {

namespace fs = std::filesystem;

bool is_there(const fs::path& path) {
  std::error_code unreadable;
  return fs::exists(path, unreadable);
}

/// The folder of the run that the path names or lies in, and the checkpoint if it names one.
struct Place {
  std::string run, checkpoint;
};

/// Without a run where there is none.
Place place_of(const std::string& path) {
  const fs::path given = fs::path(path).lexically_normal();
  const fs::path folder = given.has_filename() ? given : given.parent_path();
  if (is_there(folder / kConfigFile)) return {folder.string(), ""};
  const fs::path run = fs::absolute(folder).parent_path().parent_path();
  if (is_there(folder / kStateFile) && is_there(run / kConfigFile)) {
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
    if (!is_there(path)) fail("there is no run '", path, "': no such folder");
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
  if (!is_there(path)) return std::nullopt;
  return Vocabulary::from_json(io::read_file(path), path);
}

std::vector<std::string> classes_of(const TrainedRun& run) {
  const std::string path = file_of(run, kClassesFile);
  if (!is_there(path)) return {};
  const auto json = nlohmann::json::parse(io::read_file(path), nullptr, false);
  std::vector<std::string> names;
  for (const auto& name : json.is_array() ? json : nlohmann::json::array()) {
    if (!name.is_string()) break;
    names.push_back(name.get<std::string>());
  }
  if (names.empty() || names.size() != json.size()) fail(path, ": is no list of names");
  return names;
}

std::string network_of(const TrainedRun& run) {
  return run.config.model.file.empty() ? "" : io::read_file(file_of(run, kNetworkFile));
}

}  // namespace plait::train
