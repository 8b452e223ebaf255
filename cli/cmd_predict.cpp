// plait predict: what a trained model says of pictures and arrays.
#include <cstdio>
#include <filesystem>

#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/json.h"
#include "cli/output.h"
#include "io/file.h"
#include "io/npy.h"
#include "train/predict.h"

namespace plait::cli {
namespace {

constexpr Flag kPredictFlags[] = {
    {"--input", "FILE|DIR", "a picture (.png, .jpg), an array (.npy), or a folder of them"},
    {"--top", "N", "so many of the likeliest classes; 5 unless said"},
    {"--out", "DIR", "write the model's results of every sample to DIR/INPUT.RESULT.npy"},
    {"--backend", "NAME", "cpu, cuda, ref or null; what the run's config says unless said"},
    {"--threads", "N", "of the cpu backend; what the config says unless said"},
    {"--json", "", "a line of JSON per sample instead of text"},
};

/// `cats/1.png[3]` as part of a file's name.
std::string file_stem_of(const std::string& input, const std::string& sample) {
  const std::string relative = std::filesystem::path(sample).lexically_relative(input).string();
  const bool inside = !relative.empty() && relative != "." && !relative.starts_with("..");
  return io::file_name_for(inside ? relative : std::filesystem::path(sample).filename().string());
}

/// Writes the results; the files' names by result.
Json write_results_of(const train::Prediction& p, const std::string& folder,
                      const std::string& input) {
  Json files = Json::object();
  for (const auto& [name, array] : p.results) {
    const std::string path =
        str(folder, "/", file_stem_of(input, p.input), ".", io::file_name_for(name), ".npy");
    io::write_npy(path, array);
    files[name] = path;
  }
  return files;
}

Json prediction_json(const train::Prediction& p, const Json& files) {
  Json out{{"input", p.input}};
  if (!p.top.empty()) out["top"] = Json::array();
  for (const train::ClassScore& s : p.top) {
    out["top"].push_back({{"label", s.label},
                          {"class", s.name.empty() ? Json() : Json(s.name)},
                          {"probability", s.probability}});
  }
  if (!files.empty()) out["results"] = files;
  return out;
}

/// `cats/1.png  cat 93.10%  dog 6.90%`
std::string prediction_text(const train::Prediction& p, const Json& files) {
  std::string out = p.input;
  for (const train::ClassScore& s : p.top) {
    char percent[32];
    std::snprintf(percent, sizeof percent, "%.2f%%", s.probability * 100);
    out += str("  ", s.name.empty() ? std::to_string(s.label) : s.name, " ", percent);
  }
  for (const auto& [name, path] : files.items()) {
    out += str("  ", name, " ", type_text(p.results.at(name)), " ", path.get<std::string>());
  }
  return out + "\n";
}

void run_predict(const Args& args) {
  if (!args.has("--input")) throw UsageError("wants --input FILE or DIR");
  std::vector<std::string> arguments;
  for (const char* flag : {"--backend", "--threads"}) {
    if (args.has(flag)) arguments.push_back(str("train.", flag + 2, "=", args.text(flag)));
  }
  train::PredictRequest request;
  request.run = train::load_run(args.words()[0], arguments);
  request.input = args.text("--input");
  request.top = args.whole("--top", request.top, 1);
  request.wants_results = args.has("--out");
  const std::string folder = args.text("--out");
  if (request.wants_results) io::make_folder(folder);
  const std::vector<std::string> notes = train::predict(request, [&](const train::Prediction& p) {
    const Json files = write_results_of(p, folder, request.input);
    print(args.has("--json")
              ? prediction_json(p, files).dump(-1, ' ', false, Json::error_handler_t::replace) +
                    "\n"
              : prediction_text(p, files));
  });
  for (const std::string& text : notes) note(text);
}

}  // namespace

constinit const Command kPredict{
    .name = "predict",
    .usage = "RUN --input FILE|DIR [options]",
    .doc = "classes or results of a trained model for pictures and arrays",
    .least_words = 1,
    .most_words = 1,
    .flags = kPredictFlags,
    .details =
        "RUN is the folder of a run (its newest whole checkpoint) or one of its checkpoints.\n"
        "Pictures are scaled, cut and normalised as they were for training. An array has the\n"
        "sizes of the model's input, or one more axis before them, of samples. A classifier\n"
        "gives its likeliest classes by name, with their probabilities; of any model --out DIR\n"
        "keeps the results as .npy.\n",
    .example =
        "  $ plait predict runs/pets --input new_pets --top 2\n"
        "  $ plait predict runs/pets --input new_pets/1.jpg --json\n",
    .run = run_predict};

}  // namespace plait::cli
