// Opening a run.
#include "train/job.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "backends/backends.h"
#include "base/hash.h"
#include "base/text.h"
#include "io/file.h"
#include "io/json.h"
#include "nn/optimizer.h"
#include "train/data/sampler.h"
#include "train/evaluate.h"
#include "train/first_weights.h"
#include "train/model_session.h"
#include "train/network.h"
#include "train/programs.h"
#include "train/run_data.h"
#include "train/schema.h"
#include "train/states.h"

namespace plait::train {
namespace {

namespace fs = std::filesystem;

/// So that a run can be resumed from another folder.
void make_absolute(std::string& path) {
  std::error_code error;  // of a working folder that was removed
  if (!path.empty()) path = fs::absolute(path, error).lexically_normal().string();
  if (error) fail("cannot tell where the working folder is: ", error.message());
}
void make_absolute(std::vector<std::string>& paths) {
  for (std::string& path : paths) make_absolute(path);
}

/// Of a resumed run: the text and the characters that it began with.
Data reopen_data(const Job& job, const TrainRequest& request) {
  std::optional<Vocabulary> stored;
  const std::string vocab = job.folder->file(kVocabFile), text = job.folder->file(kTextFile);
  // Another kind of data keeps neither: files of these names are the user's.
  const bool keeps_vocabulary = job.config.data.kind == "text" && io::is_there(vocab);
  const bool keeps_text = reads_own_text(job.config) && io::is_there(text);
  if (keeps_vocabulary) stored = Vocabulary::from_json(io::read_file(vocab), vocab);
  return Data(data_settings(job.config, keeps_text ? text : request.own_text), std::move(stored));
}

/// Where nothing in the graph reads what the config says of the learning rate.
std::string rate_note(const Job& job) {
  const std::vector<std::string> names = job.session->state_names();
  const std::string rate(nn::kLearningRateState);
  if (std::find(names.begin(), names.end(), rate) != names.end()) return "";
  return str("the graph has no state ", rate, ": optimizer.lr and [schedule] change nothing");
}

/// Whether model.file no longer says what the run keeps of it.
bool has_changed(const Config& config, const std::string& kept) {
  if (!io::is_there(config.model.file)) return false;
  try {
    return read_network(config).text != kept;
  } catch (const UserError&) {
    return true;
  }
}

/// The network of model.file, for a run that goes on as it was when it began.
std::string network_of(Job& job) {
  if (job.config.model.file.empty()) return "";
  const std::string path = job.folder ? job.folder->file(kNetworkFile) : "";
  if (!path.empty() && io::is_there(path)) {
    std::string kept = read_kept_network(path, job.config.model.file);
    if (has_changed(job.config, kept)) {
      job.notes.push_back(str(job.config.model.file, " is not what the run began with: it goes on ",
                              "with its own graphs, ", path));
    }
    return kept;
  }
  NetworkFile network = read_network(job.config);
  for (std::string& note : network.notes) job.notes.push_back(std::move(note));
  return network.text;
}

void make_session(Job& job, ir::Package package) {
  const auto seed = static_cast<std::uint64_t>(job.config.train.seed);
  TargetOptions options;
  options.threads = static_cast<int>(job.config.train.threads);
  options.tf32 = job.config.train.fp32 == "tf32";
  options.fast = job.config.train.fast;
  const std::string& backend = job.config.train.backend;
  job.step = {"train", {}, {}};
  job.eval = evaluation_request(package);
  std::unique_ptr<Target> target = make_target(backend, options);
  const Target& kept = *target;
  job.threads = target->threads();
  job.session = std::make_unique<Session>(std::move(package), std::move(target), seed);
  std::vector<const RunRequest*> requests{&job.step};
  if (job.config.eval.every > 0) requests.push_back(&job.eval);
  for (const RunRequest* request : requests) {
    load_program(*job.session, {*request, kept}, *job.folder, job.notes);
    const program::Program& program = job.session->program(*request);
    if (request != &job.step) continue;
    for (const program::Step& step : program.steps) {
      job.operations += static_cast<double>(evaluate(step.operations, {}));
    }
  }
  job.memory_bytes = job.session->planned_bytes();
  job.operations *= static_cast<double>(job.config.train.accumulate);
}

std::int64_t steps_of(const Job& job) {
  if (job.config.train.steps > 0) return job.config.train.steps;
  const Sampler sampler(*job.sources.train, 0);
  const std::int64_t epochs = job.config.train.epochs, each = sampler.epoch_length();
  if (epochs > kMostCount / each) {
    fail("train.epochs = ", epochs, " of ", each, " samples each: more than ", kMostCount,
         " samples in all");
  }
  return std::max<std::int64_t>(1, epochs * each / job.samples_per_step());
}

void begin_folder(Job& job, const TrainRequest& request, const std::string& network) {
  job.folder = std::make_unique<RunFolder>(job.config.output.folder, request.open);
  if (reads_own_text(job.config)) {
    job.folder->write(kTextFile, io::read_file(request.own_text));
  }
  if (job.vocabulary) job.folder->write(kVocabFile, job.vocabulary->json());
  if (!network.empty()) job.folder->write(kNetworkFile, network);
  if (!job.classes.empty()) job.folder->write(kClassesFile, classes_text(job.classes));
}

/// Before the first step, so that no step is taken for nothing.
void claim_files(RunFolder& folder) {
  for (const char* name : {kConfigFile, kMetricsFile, kCurveFile, kSummaryFile}) folder.claim(name);
}

}  // namespace

Job open_job(const TrainRequest& request) {
  Job job;
  job.config = request.config;
  const bool resumes = request.open == RunFolder::Open::resume;
  if (resumes) {
    job.folder = std::make_unique<RunFolder>(job.config.output.folder, request.open);
  }
  make_absolute(job.config.data.path);
  make_absolute(job.config.data.valid_path);
  make_absolute(job.config.model.init_from);
  make_absolute(job.config.model.file);
  const Data data =
      resumes ? reopen_data(job, request) : Data(data_settings(job.config, request.own_text));
  job.vocabulary = data.vocabulary();
  job.classes = data.classes();
  fit(job.config, data);
  const std::string network = network_of(job);
  ir::Package package = build_package(job.config, network);
  const ir::Graph& step = find_graph(package, "train");
  job.sources = data.sources(feeds_of(step), limit_of(job.config, step, data));
  if (job.config.eval.every > 0 && !job.sources.validation) {
    fail("data.one_chunk leaves nothing to evaluate on: say data.valid_path, or eval.every = 0");
  }
  job.steps = steps_of(job);
  job.data = str(job.sources.train->fingerprint());
  job.parameters = parameters_of(package);
  FirstWeights first;  // restore() reads them where a run has no checkpoint
  if (!resumes) first = read_first_weights(job.config.model, state_table(package));
  if (!resumes) begin_folder(job, request, network);
  claim_files(*job.folder);
  for (const std::string& note : job.folder->notes()) job.notes.push_back(note);
  for (std::string& note : data.notes()) job.notes.push_back(std::move(note));
  for (std::string& note : first.notes) job.notes.push_back(std::move(note));
  make_session(job, std::move(package));
  if (std::string note = rate_note(job); !note.empty()) job.notes.push_back(std::move(note));
  set_weights(*job.session, std::move(first.taken));
  return job;
}

void start_over(Job& job) {
  reset_states(*job.session, static_cast<std::uint64_t>(job.config.train.seed));
  set_weights(*job.session,
              read_first_weights(job.config.model, state_table(job.session->package())).taken);
}

std::string classes_text(const std::vector<std::string>& classes) {
  return io::Json(classes).dump(-1, ' ', false, io::Json::error_handler_t::replace) + "\n";
}

std::string config_hash(const Config& config) {
  Config decides = config;
  decides.output = {};
  decides.checkpoint = {};
  decides.eval = {};
  decides.sample = {};
  decides.data.prefetch = 0;
  decides.data.path = decides.data.valid_path = {};  // what they hold has its own fingerprint
  decides.train.threads = 0;
  const Config::Schedule& schedule = config.schedule;
  const bool ends = schedule.kind != "constant" && schedule.kind != "step";
  if (!ends || schedule.decay_steps > 0) decides.train.steps = decides.train.epochs = 0;
  return hex_digits(fnv1a64(lasting_text(decides)));
}

}  // namespace plait::train
