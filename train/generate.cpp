// From a run's folder to text.
#include "train/generate.h"

#include <chrono>
#include <filesystem>
#include <set>

#include "base/text.h"
#include "io/file.h"
#include "train/data/utf8.h"
#include "train/run_folder.h"
#include "train/text_model.h"
#include "train/utf8_stream.h"

namespace plait::train {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

bool is_there(const fs::path& path) {
  std::error_code unreadable;
  return fs::exists(path, unreadable);
}

/// Characters of a prompt that the vocabulary lacks, each once, quoted.
std::vector<std::string> unknown_characters(const Vocabulary& vocabulary, std::string_view prompt) {
  std::vector<std::string> unknown;
  if (vocabulary.unit() == Unit::kByte) return unknown;
  std::set<std::string> seen;
  for (std::int64_t id = 0; id < vocabulary.size(); ++id) seen.insert(vocabulary.decode(id));
  for_each_code_point(prompt, "the prompt", [&](std::uint32_t code, std::size_t) {
    std::string character;
    append_utf8(character, code);
    if (seen.insert(character).second) unknown.push_back(plait::quoted(character));
  });
  return unknown;
}

std::vector<std::int64_t> encode(const Vocabulary& vocabulary, const std::string& prompt) {
  const std::vector<std::string> unknown = unknown_characters(vocabulary, prompt);
  if (!unknown.empty() && prompt != "\n") {
    fail("the prompt has ", counted(unknown.size(), "character", "characters"),
         " that the training text lacks: ", join(unknown, ", "));
  }
  if (!unknown.empty()) return {0};  // a text of one line: it begins with any character
  const Tokens tokens = vocabulary.encode(prompt, "the prompt");
  std::vector<std::int64_t> ids(static_cast<std::size_t>(tokens.size()));
  tokens.copy(0, ids);
  return ids;
}

/// The folder of the run that the path names or lies in, and the checkpoint if it names one.
struct Place {
  std::string run, checkpoint;
};

Place place_of(const std::string& path) {
  const fs::path given = fs::path(path).lexically_normal();
  const fs::path folder = given.has_filename() ? given : given.parent_path();
  if (is_there(folder / kConfigFile)) return {folder.string(), ""};
  const fs::path run = fs::absolute(folder).parent_path().parent_path();
  if (is_there(folder / kStateFile) && is_there(run / kConfigFile)) {
    return {run.string(), folder.string()};
  }
  if (!is_there(folder)) fail("there is no run '", path, "': no such folder");
  fail("'", path, "' is no run: it has no ", kConfigFile, ", and is no checkpoint of one");
}

Vocabulary vocabulary_of(const std::string& run, const Config& config) {
  const std::string path = (fs::path(run) / kVocabFile).string();
  if (config.data.kind == "text" && is_there(path)) {
    return Vocabulary::from_json(io::read_file(path), path);
  }
  if (config.data.kind == "text") fail("run '", run, "' has no ", kVocabFile);
  fail("run '", run, "' was trained on ", config.data.kind,
       ", which has no characters: only models of text write");
}

}  // namespace

Trained load_trained(const std::string& path) {
  const Place place = place_of(path);
  Config config = load_config((fs::path(place.run) / kConfigFile).string());
  Vocabulary vocabulary = vocabulary_of(place.run, config);
  fit_to_data(config, "vocab", vocabulary.size());
  Trained out{std::move(config), std::move(vocabulary), {}, place.checkpoint, 0, {}};
  Checkpoint checkpoint;
  if (place.checkpoint.empty()) {
    Latest latest = load_latest(place.run, Need::weights);
    checkpoint = std::move(latest.checkpoint);
    out.source = latest.path;
    out.notes = std::move(latest.notes);
  } else {
    checkpoint = read_checkpoint(place.checkpoint, Need::weights);
  }
  out.weights = std::move(checkpoint.weights);
  out.step = checkpoint.state.step;
  return out;
}

Generated generate(Trained trained, const GenerateOptions& options, const TextSink& sink) {
  check_sampling(options.sampling);
  if (options.length < 0) fail("the length to write must be 0 or above, is ", options.length);
  const std::vector<std::int64_t> prompt =
      encode(trained.vocabulary, options.prompt.empty() ? "\n" : options.prompt);
  const std::unique_ptr<TextModel> model = make_text_model(
      trained.config, std::move(trained.weights), trained.source, options.backend, options.threads);
  const TokenCost cost = model->cost();
  Generated out;
  out.notes = std::move(trained.notes);
  out.notes.insert(out.notes.end(), cost.notes.begin(), cost.notes.end());
  out.kept_bytes = cost.kept_bytes;
  out.tokens_read = cost.tokens_read;
  Utf8Stream stream;
  const auto pass_on = [&](const std::string& text) {
    out.text += text;
    if (sink && !text.empty()) sink(text);
  };

  Clock::time_point start = Clock::now();
  Array logits = model->read(prompt);
  out.prompt_tokens = static_cast<std::int64_t>(prompt.size());
  out.prompt_seconds = seconds_since(start);
  // A model may have room for more ids than the text has characters: those mean nothing.
  const auto known = static_cast<std::size_t>(trained.vocabulary.size());
  start = Clock::now();
  while (out.tokens < options.length) {
    const auto position = static_cast<std::uint64_t>(out.prompt_tokens + out.tokens);
    const std::int64_t token = draw(logits.as<float>().first(known), options.sampling, position);
    pass_on(stream.add(trained.vocabulary.decode(token)));
    if (++out.tokens < options.length) logits = model->read({&token, 1});
  }
  pass_on(stream.finish());
  out.seconds = seconds_since(start);
  return out;
}

Generated generate(const std::string& path, const GenerateOptions& options, const TextSink& sink) {
  return generate(load_trained(path), options, sink);
}

}  // namespace plait::train
