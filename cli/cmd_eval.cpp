// plait eval: the loss, accuracy and perplexity of a trained model on any data.
#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/json.h"
#include "cli/output.h"
#include "cli/own_text.h"
#include "cli/summary.h"
#include "train/evaluate_run.h"

namespace plait::cli {

namespace {

constexpr Flag kEvalFlags[] = {
    {"--weights", "F.safetensors", "these weights, not the checkpoint's"},
    {"--batches", "N", "at most so many batches; every sample unless said"},
    {"--backend", "NAME", "cpu, cuda, ref or null; what the run's config says unless said"},
    {"--threads", "N", "of the cpu backend; what the config says unless said"},
    kJsonFlag,
};

/// `360 (one of 8 is the last batch)`, or how many are left out.
std::string eval_samples(const train::Evaluated& e) {
  std::string out = with_commas(e.samples);
  if (e.tokens > 0) out += str(", ", with_commas(e.tokens), " tokens");
  if (e.left_out > 0) out += str("; ", with_commas(e.left_out), " left out");
  return out;
}

std::string eval_text(const train::Evaluated& e) {
  Table table;
  table.rows.push_back({"model", str(e.model, ", ", with_commas(e.parameters), " parameters")});
  table.rows.push_back({"weights", e.weights + (e.step ? str(", step ", *e.step) : "")});
  table.rows.push_back({"data", e.data});
  table.rows.push_back({"samples", eval_samples(e)});
  table.rows.push_back({"loss", short_text(e.result.loss)});
  if (e.result.perplexity) table.rows.push_back({"perplexity", short_text(*e.result.perplexity)});
  if (e.result.accuracy) table.rows.push_back({"accuracy", short_text(*e.result.accuracy)});
  return table.text();
}

Json eval_json(const train::Evaluated& e) {
  const auto number = [](const std::optional<double>& x) { return x ? Json(*x) : Json(); };
  return {{"model", e.model},
          {"parameters", e.parameters},
          {"weights", e.weights},
          {"step", e.step ? Json(*e.step) : Json()},
          {"data", e.data},
          {"samples", e.samples},
          {"left_out", e.left_out},
          {"tokens", e.tokens},
          {"loss", e.result.loss},
          {"perplexity", number(e.result.perplexity)},
          {"accuracy", number(e.result.accuracy)},
          {"notes", e.notes}};
}

void run_eval(const Args& args) {
  train::EvaluateRequest request;
  request.source = args.words()[0];
  request.arguments.assign(args.words().begin() + 1, args.words().end());
  for (const char* flag : {"--backend", "--threads"}) {
    if (args.has(flag)) request.arguments.push_back(str("train.", flag + 2, "=", args.text(flag)));
  }
  request.weights = args.text("--weights");
  request.batches = args.whole("--batches", 0, 1);
  request.own_text = own_text();
  const train::Evaluated e = train::evaluate_run(request);
  if (args.has("--json")) return print_json(eval_json(e));
  for (const std::string& text : e.notes) note(text);
  print(eval_text(e));
}

}  // namespace

constinit const Command kEval{
    .name = "eval",
    .usage = "RUN|CONFIG.toml|preset:NAME [key=value ...]",
    .doc = "loss, accuracy and perplexity of a trained model on any data",
    .least_words = 1,
    .most_words = 1000,
    .flags = kEvalFlags,
    .details =
        "RUN is the folder of a run (its newest whole checkpoint) or one of its checkpoints. The\n"
        "data is what the run kept for evaluation, or else what it trained on; data.path=... (and\n"
        "data.kind=...) names any other, all of which is taken. Every sample counts: what is left\n"
        "behind the last whole batch is a smaller batch. A config is evaluated with --weights,\n"
        "with its model.init_from, or with its initial weights, which the table says.\n",
    .example =
        "  $ plait eval runs/pets\n"
        "  $ plait eval runs/pets data.path=more_pets --json\n"
        "  $ plait eval preset:rwkv4-small vocab=256 --weights w.safetensors data.path=book.txt\n",
    .run = run_eval};

}  // namespace plait::cli
