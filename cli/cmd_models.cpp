// plait models
#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/json.h"
#include "models/registry.h"

namespace plait::cli {
namespace {

constexpr Flag kModelsFlags[] = {kJsonFlag};

Json models_json() {
  Json list = Json::array();
  for (const models::Entry& entry : models::all_models()) {
    Json keys = Json::array();
    for (const models::Key& key : models::keys_of(entry)) {
      keys.push_back({{"name", key.name}, {"default", key.value}, {"doc", key.doc}});
    }
    list.push_back({{"name", entry.name}, {"doc", entry.doc}, {"keys", keys}});
  }
  return list;
}

void run_models(const Args& args) {
  if (args.has("--json")) return print_json(models_json());
  Table table;
  for (const models::Entry& entry : models::all_models()) {
    table.rows.push_back({std::string(entry.name), "", std::string(entry.doc)});
    for (const models::Key& key : models::keys_of(entry)) {
      table.rows.push_back({"", str(key.name, "=", key.value), std::string(key.doc)});
    }
  }
  print(table.text());
}

}  // namespace

constinit const Command kModels{
    .name = "models",
    .usage = "[options]",
    .doc = "lists the networks that Plait can build, with their keys and defaults",
    .flags = kModelsFlags,
    .details =
        "A network is named as FILE wherever a command takes one: model:NAME, or\n"
        "model:NAME?key=value&key=value with keys that differ from their defaults.\n",
    .example =
        "  $ plait models\n"
        "  mlp                       two-layer perceptron; mean squared error; SGD\n"
        "            batch=64        rows of x\n"
        "            dtype=f16       f32, f16, bf16 or f64: of parameters and activations\n"
        "  ...\n",
    .run = run_models};

}  // namespace plait::cli
