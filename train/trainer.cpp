// The loop: steps, metrics, evaluations, checkpoints; and how a run ends.
#include "train/trainer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>

#include "base/text.h"
#include "nn/optimizer.h"
#include "profile/profile.h"
#include "train/checkpoint.h"
#include "train/data/loader.h"
#include "train/ending.h"
#include "train/evaluate.h"
#include "train/generate.h"
#include "train/job.h"
#include "train/metrics.h"
#include "train/resume.h"
#include "train/states.h"
#include "train/stepper.h"

namespace plait::train {
namespace {

constexpr int kPeakTries = 4;
constexpr int kMostLeftOut = 100;  // updates in a row; then the run has diverged

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// Operations per second that so many threads could do: that many times what one does, the best of
/// a few tries. All of them at once would show how busy the machine is, not what it can do; where
/// threads share a core this is too high, and MFU too low. Kept; `again` measures more.
double measured_peak(int threads, bool again) {
  static double one = 0;
  for (int i = 0; i < kPeakTries && (again || i > 0 || one == 0); ++i) {
    one = std::max(one, profile::measure_peaks(1).gflops * 1e9);
  }
  return one * threads;
}

/// 0: not known, and MFU is not told.
double peak_of(const Job& job) {
  const bool by_threads = job.config.train.backend == "cpu";
  return by_threads && job.operations > 0 ? measured_peak(job.threads, false) : 0;
}

bool lies_in(const std::string& file, const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code error;
  const std::string inside = fs::weakly_canonical(folder, error).string() + "/";
  return !file.empty() && fs::weakly_canonical(file, error).string().starts_with(inside);
}

class Trainer {
 public:
  explicit Trainer(const TrainRequest& request);
  TrainResult run();
  /// Whether the folder holds this run.
  bool begun() const { return job_.folder->in_place(); }

 private:
  void begin();
  void say_what_runs();
  /// The first step is done: the run takes its place in the folder, and is told of there.
  void settle();
  void open_metrics();
  StepResult take_step();
  void after_step(const StepResult& result);
  Record record_of(const StepResult& result);
  /// A rate above the peak shows that the peak was measured while the machine was busy.
  void correct_peak(Record& record);
  void evaluate_into(Record& record);
  void save();
  /// A checkpoint of the states as they are now, where the run's files lie now.
  Written write_states();
  void fill_state();
  /// What the model writes, from its last checkpoint; empty where no sample is asked for.
  std::string sample();
  void finish(TrainResult& result);
  [[noreturn]] void stop_at_non_finite(const std::string& what);
  double seconds_since_begin() const { return request_.place.seconds() - begin_; }

  const TrainRequest& request_;
  double opened_;  // when
  Job job_;
  TrainState state_;
  std::unique_ptr<Progress> progress_;
  std::unique_ptr<Metrics> metrics_;
  std::unique_ptr<Loader> loader_;
  Stepper stepper_;
  double peak_;
  Throughput throughput_;
  Smoothed smoothed_;
  Record last_;  // with the rates and the evaluation that were last measured
  std::string checkpoint_;
  std::int64_t saved_step_ = -1;
  std::int64_t left_out_ = 0;
  int left_out_in_a_row_ = 0;
  double begin_ = 0, elapsed_before_ = 0;
};

Trainer::Trainer(const TrainRequest& request)
    : request_(request),
      opened_(request.place.seconds()),
      job_(open_job(request)),
      state_(first_state(job_)),
      stepper_(job_),
      peak_(peak_of(job_)),
      throughput_(job_.operations, peak_) {
  begin();
}

void Trainer::begin() {
  const std::string& run = job_.folder->path();
  if (request_.open == RunFolder::Open::resume) {
    state_ = restore(job_, job_.notes);
    if (state_.step > 0) saved_step_ = state_.step;
    const auto before = rewind_metrics(job_.folder->file(kMetricsFile), state_.step, job_.notes);
    if (!before.empty()) last_ = before.back();
    if (job_.config.eval.every == 0)
      last_.eval_loss = last_.eval_perplexity = last_.eval_accuracy = {};
    const auto checkpoints = checkpoints_of(run);
    for (const std::string& path : checkpoints) {
      if (checkpoint_.empty() && check_checkpoint(path)) checkpoint_ = path;
    }
  }
  // A run that cannot go on as asked keeps the config that it has.
  job_.folder->write(kConfigFile, to_toml(job_.config));
  smoothed_ = {state_.loss_sum, state_.loss_weight};
  elapsed_before_ = state_.elapsed_seconds;
  if (job_.folder->in_place()) open_metrics();
  progress_ = std::make_unique<Progress>(request_.place, state_.step, job_.steps);
  const LoaderOptions options{job_.config.train.batch, static_cast<int>(job_.config.data.prefetch),
                              1};
  loader_ = std::make_unique<Loader>(job_.sources.train,
                                     training_sampler(job_, {state_.epoch, state_.index}), options);
  say_what_runs();
  begin_ = request_.place.seconds();
  throughput_.start(begin_);
}

void Trainer::open_metrics() {
  metrics_ = std::make_unique<Metrics>(job_.folder->path(), state_.step, wall_seconds());
  job_.folder->own(std::filesystem::path(metrics_->event_path()).filename().string());
}

void Trainer::settle() {
  // Its first weights may be those of the run that goes: then it must never have to begin anew.
  const std::string& run = job_.folder->path();
  const bool from_here = lies_in(job_.config.model.init_from, run);
  if (from_here) write_states();
  job_.folder->take_place();
  if (from_here) checkpoint_ = checkpoints_of(run)[0];
  if (from_here) saved_step_ = state_.step;
  open_metrics();
}

void Trainer::say_what_runs() {
  const Config& c = job_.config;
  for (const std::string& note : job_.notes) progress_->note("note: " + note);
  progress_->note(
      str(model_title(c), ": ", with_commas(job_.parameters), " parameters, ", c.train.precision,
          " on ", c.train.backend,
          c.train.backend == "cuda"
              ? ""
              : ", " + counted(static_cast<std::size_t>(job_.threads), "thread", "threads"),
          job_.memory_bytes > 0 ? ", memory " + bytes_text(job_.memory_bytes) : "", "; ready in ",
          span_text(request_.place.seconds() - opened_)));
  progress_->note("data: " + job_.sources.train->describe());
  progress_->note(str("run: ", job_.folder->path(), ", ",
                      state_.step > 0 ? str("from step ", state_.step, " to ") : "", job_.steps,
                      " steps of ", job_.samples_per_step(),
                      " samples; smoothed: exponential moving average, decay ", Smoothed::kConstant,
                      peak_ > 0 ? "; MFU: share of the threads' f32 peak" : ""));
}

StepResult Trainer::take_step() {
  const StepResult result = stepper_.take(
      state_.step, [&](Batch& into) { return loader_->next(into); }, state_.step + 1 < job_.steps);
  ++state_.step;
  state_.epoch = result.behind.epoch;
  state_.index = result.behind.index;
  state_.samples += result.samples;
  state_.tokens += result.tokens;
  smoothed_.add(result.loss);
  throughput_.add_step(result.samples, result.tokens);
  return result;
}

Record Trainer::record_of(const StepResult& result) {
  Record record;
  record.step = state_.step;
  record.loss = result.loss;
  record.smoothed_loss = smoothed_.value();
  record.smoothing = Smoothed::kConstant;
  record.lr = result.lr;
  record.gradient_norm = result.gradient_norm;
  if (job_.memory_bytes > 0) record.memory_bytes = static_cast<double>(job_.memory_bytes);
  return record;
}

void Trainer::after_step(const StepResult& result) {
  const Config& c = job_.config;
  const bool last = state_.step == job_.steps;
  const bool evaluates = c.eval.every > 0 && (last || state_.step % c.eval.every == 0);
  const bool logs = evaluates || last || state_.step == 1 || state_.step % c.output.log_every == 0;
  Record record = record_of(result);
  if (logs) {
    throughput_.fill(record, request_.place.seconds());
    correct_peak(record);
    record.elapsed_seconds = elapsed_before_ + seconds_since_begin();
    const std::string scale(nn::kScaleState);
    const auto names = job_.session->state_names();
    if (std::find(names.begin(), names.end(), scale) != names.end()) {
      record.loss_scale = job_.session->state(scale).real(0);
    }
  } else {  // a redrawn line keeps showing what was measured last
    record.samples_per_second = last_.samples_per_second;
    record.tokens_per_second = last_.tokens_per_second;
    record.mfu = last_.mfu;
  }
  if (evaluates) evaluate_into(record);
  if (logs) metrics_->log(record, wall_seconds());
  progress_->step_done(record, logs);
  if (!evaluates) {
    record.eval_loss = last_.eval_loss;
    record.eval_perplexity = last_.eval_perplexity;
    record.eval_accuracy = last_.eval_accuracy;
  }
  last_ = record;
}

void Trainer::correct_peak(Record& record) {
  if (!record.mfu || *record.mfu <= 1) return;
  const double operations = *record.mfu * peak_;
  peak_ = measured_peak(job_.threads, true);
  throughput_ = Throughput(job_.operations, peak_);
  throughput_.start(request_.place.seconds());
  record.mfu = operations / peak_;
  if (*record.mfu > 1) record.mfu.reset();  // still not the machine's peak: nothing to compare with
}

void Trainer::evaluate_into(Record& record) {
  const double start = request_.place.seconds();
  const Evaluation e = evaluate(*job_.session, job_.eval, *job_.sources.validation,
                                job_.config.train.batch, job_.config.eval.batches);
  record.eval_loss = e.loss;
  record.eval_perplexity = e.perplexity;
  record.eval_accuracy = e.accuracy;
  throughput_.leave_out(request_.place.seconds() - start);
}

void Trainer::fill_state() {
  state_.loss_sum = smoothed_.sum;
  state_.loss_weight = smoothed_.weight;
  state_.elapsed_seconds = elapsed_before_ + seconds_since_begin();
}

Written Trainer::write_states() {
  fill_state();
  const States states = states_of(*job_.session);
  const std::string bad = first_non_finite(states.weights);
  if (!bad.empty()) stop_at_non_finite(str("state ", bad, " is not finite"));
  if (const auto scale = states.others.find(std::string(nn::kScaleState));
      scale != states.others.end()) {
    state_.loss_scale = scale->second.real(0);
    state_.good_steps = states.others.at(std::string(nn::kGoodState)).integer(0);
  }
  return write_checkpoint(job_.folder->root(), state_, states.weights, states.others,
                          static_cast<int>(job_.config.checkpoint.keep));
}

void Trainer::save() {
  if (saved_step_ == state_.step) return;
  const double start = request_.place.seconds();
  metrics_->sync();
  const Written written = write_states();
  checkpoint_ = written.path;
  saved_step_ = state_.step;
  for (const std::string& note : written.notes) progress_->note("note: " + note);
  progress_->note(
      str("checkpoint ", written.path, ", ", bytes_text(static_cast<std::int64_t>(written.bytes))));
  throughput_.leave_out(request_.place.seconds() - start);
}

void Trainer::stop_at_non_finite(const std::string& what) {
  const std::string found = str(what, " at step ", state_.step);
  progress_->note(found);
  const std::string why = explain_non_finite(job_, state_.step - 1,
                                             [&](std::string_view text) { progress_->note(text); });
  const std::string stands = checkpoint_.empty()
                                 ? "no checkpoint was written before it"
                                 : "the last checkpoint is " + checkpoint_ + ", from before it";
  throw RunError(str(found, ": ", why, "; ", stands,
                     ". A smaller optimizer.lr, train.clip or train.on_nan=skip may help"));
}

TrainResult Trainer::run() {
  TrainResult out{false, false, state_.step, job_.steps, job_.folder->path()};
  while (state_.step < job_.steps && !request_.stop()) {
    const StepResult result = take_step();
    if (!result.skipped && std::isfinite(result.loss)) left_out_in_a_row_ = 0;
    if (result.skipped) {
      ++left_out_;
      if (++left_out_in_a_row_ == kMostLeftOut) {
        stop_at_non_finite(str("no update for ", kMostLeftOut, " steps: gradients are not finite"));
      }
    }
    if (!std::isfinite(result.loss) && job_.config.train.on_nan == "stop") {
      stop_at_non_finite(std::isnan(result.loss) ? "loss is NaN" : str("loss is ", result.loss));
    }
    if (!job_.folder->in_place()) settle();
    after_step(result);
    const std::int64_t every = job_.config.checkpoint.every;
    if (every > 0 && state_.step % every == 0) save();
  }
  if (job_.folder->in_place() && state_.step > 0) save();
  out.step = state_.step;
  out.checkpoint = checkpoint_;
  out.begun = begun();
  out.finished = state_.step >= job_.steps;
  if (out.finished) finish(out);
  return out;
}

std::string Trainer::sample() {
  const Config::Sample& wanted = job_.config.sample;
  if (wanted.length == 0 || !job_.vocabulary) return "";
  GenerateOptions options;
  options.prompt = wanted.prompt;
  options.length = wanted.length;
  options.sampling.temperature = wanted.temperature;
  options.sampling.top_p = wanted.top_p;
  options.sampling.seed = state_.seed;
  options.threads = static_cast<int>(job_.config.train.threads);
  return wanted.prompt + generate(job_.folder->path(), options).text;
}

void Trainer::finish(TrainResult& result) {
  fill_state();
  const Finished finished{state_, last_, checkpoint_, left_out_, sample(), request_.program};
  result.summary = write_ending(job_, finished);
  progress_->note(ending_text(job_, finished));
}

}  // namespace

TrainResult train(const TrainRequest& request) {
  request.place.print(str(model_title(request.config), ": reading data, compiling\n"));
  bool begun = request.open == RunFolder::Open::resume;
  try {
    Trainer trainer(request);
    try {
      return trainer.run();
    } catch (...) {
      begun = trainer.begun();
      throw;
    }
  } catch (const RunError& e) {
    if (!begun) throw;
    std::string said = e.what();
    while (said.ends_with('.')) said.pop_back();
    throw RunError(str(said, ". To go on: ", request.program, " train --resume ",
                       request.config.output.folder));
  }
}

}  // namespace plait::train
