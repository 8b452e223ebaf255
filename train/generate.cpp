// From a run's folder to text.
#include "train/generate.h"

#include <chrono>
#include <set>

#include "base/text.h"
#include "train/data/utf8.h"
#include "train/run_folder.h"
#include "train/text_model.h"
#include "train/trained_run.h"
#include "train/utf8_stream.h"

namespace plait::train {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
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

}  // namespace

Trained load_trained(const std::string& path) {
  TrainedRun run = open_run(path);
  if (run.config.data.kind != "text") {
    fail("run '", run.folder, "' was trained on ", run.config.data.kind,
         ", which has no characters: only models of text write");
  }
  std::optional<Vocabulary> vocabulary = vocabulary_of(run);
  if (!vocabulary) fail("run '", run.folder, "' has no ", kVocabFile);
  load_weights(run);
  fit_to_data(run.config, "vocab", vocabulary->size());
  return {std::move(run.config),
          std::move(*vocabulary),
          std::move(run.weights),
          std::move(run.source),
          run.step,
          std::move(run.notes)};
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
