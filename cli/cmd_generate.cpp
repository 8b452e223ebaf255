// plait generate RUN: what a trained model of text writes, as it writes it.
#include <cmath>

#include "base/cpus.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/json.h"
#include "cli/output.h"
#include "cli/summary.h"
#include "train/generate.h"

namespace plait::cli {

extern const Command kGenerate;

namespace {

constexpr Flag kGenerateFlags[] = {
    {.name = "--prompt",
     .value = "TEXT",
     .doc = "what the text begins with; a newline unless said",
     .may_be_empty = true},
    {"--length", "N", "tokens to write; 200 unless said"},
    {"--temperature", "X", "divides the logits; 0: the likeliest token always; 1 unless said"},
    {"--top-p", "X", "draw among the likeliest tokens that together have this probability"},
    {"--top-k", "N", "draw among so many of the likeliest tokens"},
    {"--seed", "N", "of what is drawn; 0 unless said"},
    {"--backend", "NAME", "cpu (the default), cuda or ref"},
    {"--threads", "N", "of the cpu backend; as many as there are cpus unless said"},
    kJsonFlag,
};

double real(const Args& args, std::string_view flag, double otherwise) {
  return args.has(flag) ? parse_real(args.text(flag), flag) : otherwise;
}

train::GenerateOptions options_of(const Args& args) {
  train::GenerateOptions options;
  options.prompt = args.text("--prompt");
  options.length = args.whole("--length", options.length, 1);
  options.sampling.temperature = real(args, "--temperature", options.sampling.temperature);
  options.sampling.top_p = real(args, "--top-p", options.sampling.top_p);
  options.sampling.top_k = args.whole("--top-k", options.sampling.top_k, 0);
  options.sampling.seed = static_cast<std::uint64_t>(args.whole("--seed", 0, 0));
  options.backend = args.text("--backend", options.backend);
  options.threads = static_cast<int>(args.whole("--threads", 0, 0, kMostThreads));
  train::check_sampling(options.sampling);
  return options;
}

/// `200 tokens in 27 ms: 7,416 tokens/s, after a prompt of 7 in 2.5 ms; ...`
std::string summary(const train::Generated& g) {
  const std::string out =
      str(counted(static_cast<std::size_t>(g.tokens), "token", "tokens"), " in ",
          duration_text(g.seconds), ": ", with_commas(std::llround(g.tokens_per_second())),
          " tokens/s, after a prompt of ", with_commas(g.prompt_tokens), " in ",
          duration_text(g.prompt_seconds));
  if (g.tokens_read > 1) return str(out, "; each token reads ", g.tokens_read, " again");
  return str(out, "; memory of the past ", bytes_text(g.kept_bytes), " whatever its length");
}

Json json_of(const train::Generated& g, const train::GenerateOptions& options,
             const std::string& checkpoint, std::int64_t step) {
  return {{"checkpoint", checkpoint},
          {"step", step},
          {"prompt", options.prompt},
          {"text", g.text},
          {"prompt_tokens", g.prompt_tokens},
          {"tokens", g.tokens},
          {"prompt_seconds", g.prompt_seconds},
          {"seconds", g.seconds},
          {"tokens_per_second", g.tokens_per_second()},
          {"kept_bytes", g.kept_bytes},
          {"notes", g.notes}};
}

void run_generate(const Args& args) {
  const train::GenerateOptions options = options_of(args);
  const bool json = args.has("--json");
  train::Trained trained = train::load_trained(args.words()[0]);
  const std::string checkpoint = trained.source;
  const std::int64_t step = trained.step;
  // The prompt is the text's beginning; it is shown once nothing is wrong with it.
  bool begun = false;
  const train::TextSink sink = [&](std::string_view text) {
    if (!begun) print(options.prompt);
    begun = true;
    print(text);
  };
  const train::Generated g =
      train::generate(std::move(trained), options, json ? train::TextSink() : sink);
  if (json) return print_json(json_of(g, options, checkpoint, step));
  if (!g.text.ends_with('\n')) print("\n");
  for (const std::string& text : g.notes) note(text);
  note(summary(g));
}

}  // namespace

constinit const Command kGenerate{
    .name = "generate",
    .usage = "RUN [options]",
    .doc = "writes text with a model that `plait train` trained",
    .least_words = 1,
    .most_words = 1,
    .flags = kGenerateFlags,
    .details =
        "RUN is the folder of a run, or one of its checkpoints (RUN/checkpoints/step-...). Of a\n"
        "run the newest whole checkpoint is taken. The text goes to standard output as it is\n"
        "written, speed and memory to standard error. The same options give the same text.\n"
        "RWKV-4 runs in its recurrent form: a token costs the same time and memory wherever it\n"
        "stands. GPT-2 reads its whole context again for every token.\n",
    .run = run_generate};

}  // namespace plait::cli
