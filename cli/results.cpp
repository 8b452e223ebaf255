// Values into a run and out of it.
#include "cli/results.h"

#include "base/error.h"
#include "base/text.h"
#include "cli/summary.h"
#include "io/file.h"
#include "io/npy.h"

namespace plait::cli {
namespace {

/// `  loss 4.1589  accuracy 0.25`: the scalars of a step.
std::string scalars_text(const std::vector<std::string>& names, const Arrays& fetched) {
  std::string out;
  for (const std::string& name : names) {
    const Array& array = fetched.at(name);
    if (!array.sizes().empty()) continue;
    const bool real = is_float(array.dtype());
    out += str("  ", name, " ", real ? short_text(array.real(0), true) : element_text(array, 0));
  }
  return out;
}

Json scalars_json(const std::vector<std::string>& names, const Arrays& fetched) {
  Json out = Json::object();
  for (const std::string& name : names) {
    const Array& array = fetched.at(name);
    if (array.sizes().empty()) out[name] = array.real(0);
  }
  return out;
}

std::string fetches_text(const std::vector<Summary>& summaries) {
  Table table{{"fetch", "type", "min", "max", "mean", "hash", "value"},
              {false, false, true, true, true, false, true},
              {}};
  const auto number = [](const std::optional<double>& x) {
    return x ? short_text(*x) : std::string("-");
  };
  for (const Summary& s : summaries) {
    table.rows.push_back(
        {s.name, s.type, number(s.min), number(s.max), number(s.mean), s.hash, s.value});
  }
  return table.text();
}

Json fetches_json(const std::vector<Summary>& summaries) {
  Json list = Json::array();
  const auto number = [](const std::optional<double>& x) { return x ? Json(*x) : Json(); };
  for (const Summary& s : summaries) {
    list.push_back({{"name", s.name},
                    {"type", s.type},
                    {"min", number(s.min)},
                    {"max", number(s.max)},
                    {"mean", number(s.mean)},
                    {"hash", s.hash}});
    if (!s.value.empty()) list.back()["value"] = s.value;
  }
  return list;
}

std::vector<Summary> summaries_of(const std::vector<std::string>& names, const Arrays& fetched) {
  std::vector<Summary> summaries;
  for (const std::string& name : names) summaries.push_back(summarise(name, fetched.at(name)));
  return summaries;
}

void write_folder(const std::string& folder, const Arrays& arrays) {
  io::make_folder(folder);
  for (const auto& [name, array] : arrays) {
    io::write_npy(str(folder, "/", io::file_name_for(name), ".npy"), array);
  }
}

}  // namespace

Array read_value(const std::string& path, DType wanted) {
  Array array = io::read_npy(path);
  const bool widened = wanted == DType::bf16 && array.dtype() == DType::f32;
  return widened ? array.cast(DType::bf16) : array;
}

Arrays given_feeds(const ir::Graph& graph, const Args& args) {
  Arrays feeds;
  for (const std::string& text : args.all("--feed")) {
    const auto [name, path] = name_and_value("--feed", text);
    const ir::ValueId id = graph.find_value(name);
    const DType wanted = id == ir::kNone ? DType::f32 : graph.type(id).dtype;
    if (!feeds.emplace(name, read_value(path, wanted)).second) {
      throw UsageError(str("--feed gives ", name, " twice"));
    }
  }
  return feeds;
}

void add_random_feeds(const ir::Graph& graph, std::uint64_t seed, Arrays& feeds) {
  std::vector<std::string> random;
  for (ir::ValueId id : graph.feeds) {
    const ir::Value& feed = graph.value(id);
    if (feeds.count(feed.name)) continue;
    feeds.emplace(feed.name, random_feed(graph, id, seed));
    random.push_back(str(feed.name, " ", feed.type));
  }
  if (!random.empty()) {
    note(str("random feeds, the same in every step (seed ", seed, "): ", join(random, ", ")));
  }
}

std::vector<std::string> asked_fetches(const Args& args) {
  std::vector<std::string> names;
  for (const std::string& list : args.all("--fetch")) {
    for (const std::string& name : split(list, ',')) names.push_back(name);
  }
  return names;
}

StepResults run_steps(std::int64_t steps, const std::vector<std::string>& names, bool json,
                      Progress& progress, const std::function<Arrays()>& step) {
  StepResults out;
  progress.start();
  for (std::int64_t i = 1; i <= steps; ++i) {
    out.fetched = step();
    const double seconds = progress.step_done(scalars_text(names, out.fetched));
    if (!json) continue;
    out.steps.push_back({{"step", i}, {"ms", seconds * 1e3}});
    out.steps.back().update(scalars_json(names, out.fetched));
  }
  return out;
}

Json result_json(const std::string& graph, const std::vector<std::string>& names,
                 const StepResults& results) {
  return {{"graph", graph},
          {"steps", results.steps},
          {"fetches", fetches_json(summaries_of(names, results.fetched))}};
}

void print_fetches(const std::vector<std::string>& names, const Arrays& fetched) {
  if (!names.empty()) print(fetches_text(summaries_of(names, fetched)));
}

void write_results(const Args& args, const Arrays& fetched, const std::function<Arrays()>& states) {
  if (!args.has("--out")) return;
  write_folder(args.text("--out"), fetched);
  if (args.has("--states")) write_folder(args.text("--out") + "/states", states());
}

}  // namespace plait::cli
