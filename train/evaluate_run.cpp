// Evaluating runs and configs.
#include "train/evaluate_run.h"

#include "base/text.h"
#include "io/file.h"
#include "train/first_weights.h"
#include "train/model_session.h"
#include "train/network.h"
#include "train/run_data.h"
#include "train/run_folder.h"
#include "train/states.h"

namespace plait::train {
namespace {

/// A model to evaluate, and what is known of its data.
struct Subject {
  Config config;
  std::string network, own_text;
  std::optional<TrainedRun> run;
  bool other_data = false;  // the arguments name data
};

bool same_data(const Config::Data& a, const Config::Data& b) {
  return a.kind == b.kind && a.path == b.path;
}

Subject subject_of(const EvaluateRequest& request, std::vector<std::string>& notes) {
  Subject out;
  out.own_text = request.own_text;
  if (is_run(request.source)) {
    const Config as_trained = open_run(request.source).config;
    out.run = load_run(request.source, request.arguments);
    out.config = out.run->config;
    out.network = network_of(*out.run);
    out.other_data = !same_data(out.config.data, as_trained.data);
    notes = out.run->notes;
    const std::string kept = out.run->folder + "/" + kTextFile;
    if (reads_own_text(out.config) && io::is_there(kept)) out.own_text = kept;
    return out;
  }
  out.config = load_config(request.source, request.arguments);
  if (out.config.model.file.empty()) return out;
  NetworkFile network = read_network(out.config);
  out.network = std::move(network.text);
  notes = std::move(network.notes);
  return out;
}

Data open_data(Subject& subject) {
  Config& config = subject.config;
  if (subject.other_data) {
    config.data.valid_fraction = 0;
    config.data.valid_path.clear();
  }
  std::optional<Vocabulary> vocabulary;
  if (subject.run && config.data.kind == "text") vocabulary = vocabulary_of(*subject.run);
  Data data(data_settings(config, subject.own_text), std::move(vocabulary));
  const std::vector<std::string> trained =
      subject.run ? classes_of(*subject.run) : std::vector<std::string>{};
  const std::vector<std::string> found = data.classes();
  if (!trained.empty() && !found.empty() && trained != found) {
    fail(join(config.data.path, ", "), ": its classes (", join(found, ", "),
         ") are not those that the model was trained on (", join(trained, ", "), ")");
  }
  fit(config, data);
  return data;
}

/// Whether the batch can be any number.
bool is_any_batch(const Subject& subject) {
  return subject.config.model.file.empty() || has_open_batch(subject.network);
}

ir::Package eval_package(const Subject& subject, std::int64_t batch) {
  Config config = subject.config;
  config.train.batch = batch;
  return {{find_graph(build_package(config, subject.network), "eval")}};
}

/// Sets the session's weights and says where they come from.
std::string take_weights(const Subject& subject, const std::string& file, Session& session,
                         std::vector<std::string>& notes) {
  const Config::Model& model = subject.config.model;
  if (!file.empty()) {
    const std::string said = set_weights(session, model.name, file);
    const bool is_new = std::find(notes.begin(), notes.end(), said) == notes.end();
    if (!said.empty() && is_new) notes.push_back(said);
    return file;
  }
  if (!subject.run && !model.init_from.empty()) {
    set_weights(session, read_first_weights(model, state_table(session.package())).taken);
    return model.init_from;
  }
  if (!subject.run) return "initial values, not trained";
  give_weights(session, subject.run->weights, subject.run->source);
  return subject.run->source;
}

/// The next `batches` batches, by a session for batches of this size.
void add_part(const Subject& subject, const std::string& weights, const Source& source,
              Sampler& sampler, std::int64_t batch, std::int64_t batches, Tally& tally,
              Evaluated& out) {
  ir::Package package = eval_package(subject, batch);
  out.parameters = parameters_of(package);
  RunRequest request = evaluation_request(package);
  Session session = model_session(std::move(package), subject.config);
  out.weights = take_weights(subject, weights, session, out.notes);
  add_batches(session, request, source, sampler, batch, batches, tally);
}

/// The source to evaluate on, and which it is.
std::pair<std::shared_ptr<const Source>, std::string> choose(const Subject& subject,
                                                             const Sources& sources) {
  const bool kept = sources.validation != nullptr;
  const auto& source = kept ? sources.validation : sources.train;
  const char* which = kept ? " (kept for evaluation)" : subject.other_data ? "" : " (trained on)";
  return {source, source->describe() + which};
}

}  // namespace

Evaluated evaluate_run(const EvaluateRequest& request) {
  Evaluated out;
  Subject subject = subject_of(request, out.notes);
  const Data data = open_data(subject);
  for (std::string& note : data.notes()) out.notes.push_back(std::move(note));
  const Config& config = subject.config;
  const ir::Graph graph = eval_package(subject, config.train.batch).graphs[0];
  const auto [source, which] =
      choose(subject, data.sources(feeds_of(graph), limit_of(config, graph, data)));
  out.model = model_title(config);
  out.data = which;
  if (subject.run && request.weights.empty()) out.step = subject.run->step;

  Sampler sampler(*source, 0, Order::kSequential);
  const std::int64_t batch = config.train.batch, all = sampler.epoch_length();
  const std::int64_t limit = request.batches > 0 ? request.batches : all;
  const std::int64_t whole = std::min(all / batch, limit);
  const std::int64_t rest = whole == limit ? 0 : all % batch;
  if (whole == 0 && !is_any_batch(subject)) {
    fail(source->describe(), ": less than one batch of ", batch, ", which ", config.model.file,
         " fixes");
  }
  Tally tally;
  if (whole > 0) add_part(subject, request.weights, *source, sampler, batch, whole, tally, out);
  if (rest > 0 && is_any_batch(subject)) {
    add_part(subject, request.weights, *source, sampler, rest, 1, tally, out);
  }
  out.result = evaluation_of(tally, *source);
  out.samples = tally.samples;
  out.left_out = all - tally.samples;
  out.tokens = source->tokens() * tally.samples;
  return out;
}

}  // namespace plait::train
