// Restoring a run, and replaying it.
#include "train/resume.h"

#include <algorithm>

#include "base/text.h"
#include "io/file.h"
#include "train/states.h"
#include "train/stepper.h"
#include "train/trace.h"

namespace plait::train {
namespace {

constexpr const char* kFingerprint = "data";  // in TrainState::more

void check_same_data(const Job& job, const TrainState& state, const std::string& path) {
  const auto stored = state.more.find(kFingerprint);
  if (stored == state.more.end() || stored->second == job.data) return;
  if (stored->second == str(job.sources.train->older_fingerprint())) return;
  fail("the data is not what it was when ", path, " was written: it is now ",
       job.sources.train->describe(),
       ". Restore it, or begin a new run (model.init_from takes the weights along)");
}

/// Written again where the file no longer says what the pictures, which are as they were, say.
void renew_classes(Job& job, std::vector<std::string>& notes) {
  if (job.classes.empty()) return;
  const std::string path = job.folder->file(kClassesFile), text = classes_text(job.classes);
  const bool there = io::is_there(path);
  if (there && io::read_file(path) == text) return;
  job.folder->write(kClassesFile, text);
  notes.push_back(str(path, there ? " was not the list of the run's classes" : " was missing",
                      ": written again"));
}

/// One update, batch by batch, looking at every result.
std::optional<std::string> trace_step(Job& job, const Stepper& stepper, std::int64_t step,
                                      Tracer& tracer, Sampler& sampler) {
  for (const auto& [name, rate] : stepper.rates_of(step)) tracer.set_state(name, rate);
  Batch batch;
  for (std::int64_t i = 0; i < job.config.train.accumulate; ++i) {
    read_batch(*job.sources.train, sampler, job.config.train.batch, batch);
    if (auto found = tracer.run(batch.feeds)) return found;
  }
  return std::nullopt;
}

}  // namespace

Sampler training_sampler(const Job& job, Position position) {
  Sampler sampler(*job.sources.train, static_cast<std::uint64_t>(job.config.train.seed),
                  job.config.data.shuffle ? Order::kShuffled : Order::kSequential);
  sampler.seek(position);
  return sampler;
}

TrainState first_state(const Job& job) {
  TrainState state;
  state.seed = static_cast<std::uint64_t>(job.config.train.seed);
  state.config_hash = config_hash(job.config);
  state.more[kFingerprint] = job.data;
  return state;
}

TrainState restore(Job& job, std::vector<std::string>& notes) {
  // Before a run is in place, what lies there is another one's.
  if (checkpoints_of(job.folder->root()).empty()) {
    start_over(job);
    return first_state(job);
  }
  Latest latest = load_latest(job.folder->root());
  notes.insert(notes.end(), latest.notes.begin(), latest.notes.end());
  TrainState& state = latest.checkpoint.state;
  check_same_data(job, state, latest.path);
  state.more[kFingerprint] = job.data;
  set_states(*job.session, latest.checkpoint, latest.path);
  renew_classes(job, notes);
  const std::string hash = config_hash(job.config);
  if (state.config_hash != hash) {
    notes.push_back(
        "the config is not the one that the checkpoint was written with: what follows "
        "is no longer the run that it would have been");
    state.config_hash = hash;
  }
  return state;
}

std::string explain_non_finite(Job& job, std::int64_t step,
                               const std::function<void(std::string_view)>& note) {
  std::vector<std::string> ignored;
  const TrainState from = restore(job, ignored);
  const std::int64_t traced = std::max(from.step, step - 1);
  note(str("looking for the op that made it: ",
           counted(static_cast<std::size_t>(traced - from.step), "step", "steps"),
           " again from step ", from.step));
  Sampler sampler = training_sampler(job, {from.epoch, from.index});
  Stepper stepper(job);
  for (std::int64_t s = from.step; s < traced; ++s) {
    stepper.take(
        s,
        [&](Batch& into) {
          read_batch(*job.sources.train, sampler, job.config.train.batch, into);
          return sampler.position();
        },
        false);
  }
  const std::string bad = first_non_finite(states_of(*job.session).weights);
  if (!bad.empty())
    return str("before step ", traced + 1, " state ", bad, " is already not finite");
  Tracer tracer(*job.session, job.step, job.threads);
  for (std::int64_t s = traced; s <= step; ++s) {
    const auto found = trace_step(job, stepper, s, tracer, sampler);
    if (found) return str("in step ", s + 1, " ", *found);
  }
  return "run op by op from the same states, every value is finite";
}

}  // namespace plait::train
