// From a config to its data.
#include "train/run_data.h"

#include "base/error.h"
#include "base/text.h"
#include "io/file.h"
#include "train/config_checks.h"
#include "train/network.h"

namespace plait::train {

constexpr std::int64_t kMostFromData = 1 << 20;  // the largest vocabularies have a quarter of it
constexpr std::int64_t kMostSize = 1 << 30;      // of a model's key (models/registry.h)

bool reads_own_text(const Config& config) {
  return config.data.kind == "text" && config.data.path.empty();
}

DataSettings data_settings(const Config& config, const std::string& own_text) {
  DataSettings settings;
  settings.kind = config.data.kind;
  settings.paths = config.data.path;
  settings.validation_paths = config.data.valid_path;
  settings.validation = config.data.valid_fraction;
  settings.unit = config.data.unit;
  settings.one_chunk = config.data.one_chunk;
  settings.samples = config.data.samples;
  settings.seed = static_cast<std::uint64_t>(config.train.seed);
  if (reads_own_text(config)) {
    if (own_text.empty() || !io::is_there(own_text)) {
      fail("Plait's own text is not there", own_text.empty() ? "" : " (" + own_text + ")",
           ": say data.path=FILE");
    }
    settings.paths = {own_text};
  }
  return settings;
}

void fit(Config& config, const Data& data) {
  const std::int64_t limit = data.limit();
  if (limit == 0) return;
  const auto vocab = config.model.keys.find("vocab");
  const bool from_data = vocab != config.model.keys.end() && vocab->second == kFromData;
  if (from_data && limit > kMostFromData) {  // one stray number would make a model of any size
    fail(data.largest(), " would make a vocabulary of ", with_commas(limit), "; more than ",
         with_commas(kMostFromData), " are not taken from data. ",
         limit > kMostSize ? str("No model takes more than ", with_commas(kMostSize))
                           : str("If it is one, say model.vocab=", limit));
  }
  fit_to_data(config, "vocab", limit);
  fit_to_data(config, "classes", limit);
}

/// Ids or classes that the model can take.
std::int64_t limit_of(const Config& config, const ir::Graph& graph, const Data& data) {
  for (const char* key : {"vocab", "classes"}) {
    if (const auto size = model_size(config, key)) return *size;
  }
  const std::int64_t limit = config.model.file.empty() ? 0 : index_limit(graph);
  return limit > 0 ? limit : data.limit();
}

}  // namespace plait::train
