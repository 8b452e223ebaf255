// From model.file to graphs that train and evaluate.
#include "train/network.h"

#include <algorithm>
#include <deque>

#include "base/text.h"
#include "io/document.h"
#include "io/file.h"
#include "ir/text.h"
#include "models/registry.h"
#include "nn/module.h"
#include "nn/optimizer.h"
#include "ops/verify.h"
#include "passes/amp.h"
#include "run/index_bound.h"
#include "run/session.h"
#include "train/cut.h"
#include "train/data/source.h"
#include "train/schema.h"

namespace plait::train {
namespace {

constexpr const char* kTrain = "train";
constexpr const char* kEval = "eval";
constexpr const char* kLoss = "loss";
constexpr std::string_view kGradients = "d_";  // fetches of documents

using Names = std::map<std::string, std::string>;  // old to new

const ir::Graph* graph_named(const ir::Package& package, std::string_view name) {
  for (const ir::Graph& graph : package.graphs) {
    if (graph.name == name) return &graph;
  }
  return nullptr;
}

const ir::Fetch* fetch_named(const ir::Graph& graph, std::string_view name) {
  for (const ir::Fetch& fetch : graph.fetches) {
    if (fetch.name == name) return &fetch;
  }
  return nullptr;
}

std::string fetches_text(const ir::Graph& graph) {
  std::vector<std::string> names;
  for (const ir::Fetch& fetch : graph.fetches) {
    if (!fetch.name.starts_with(kGradients))
      names.push_back(str(fetch.name, " ", graph.type(fetch.value)));
  }
  return names.empty() ? "nothing" : join(names, ", ");
}

bool is_one_float(const ir::Type& type) {
  const auto is_one = [](const Dim& size) { return size.is(1); };
  return is_float(type.dtype) && std::all_of(type.shape.begin(), type.shape.end(), is_one);
}

void require_loss(const ir::Graph& graph, const Config::Model& model) {
  const ir::Fetch* loss = fetch_named(graph, model.loss);
  if (loss && is_one_float(graph.type(loss->value))) return;
  fail(model.file, ": graph ", graph.name, " returns ", loss ? "" : "no ", quoted(model.loss),
       loss ? str(" as ", graph.type(loss->value)) : "",
       ": what is trained is a float scalar. Say model.loss; it returns ", fetches_text(graph));
}

/// `train`, or else the first that returns the loss.
const ir::Graph& training_graph(const ir::Package& package, const Config::Model& model) {
  if (package.graphs.empty()) fail(model.file, ": holds no graph");
  const ir::Graph* chosen = graph_named(package, kTrain);
  for (const ir::Graph& graph : package.graphs) {
    if (!chosen && fetch_named(graph, model.loss)) chosen = &graph;
  }
  const ir::Graph& graph = chosen ? *chosen : package.graphs[0];
  require_loss(graph, model);
  return graph;
}

/// `a=b` of a list in the config.
Names pairs_of(const std::vector<std::string>& list, const char* key) {
  Names pairs;
  for (const std::string& text : list) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
      fail(key, " takes texts like \"name=value\", is given ", quoted(text));
    }
    if (!pairs.emplace(text.substr(0, equals), text.substr(equals + 1)).second) {
      fail(key, " gives ", text.substr(0, equals), " twice");
    }
  }
  return pairs;
}

/// A loss of shape [1] or [1,1] becomes a scalar.
void flatten_loss(ir::Graph& graph) {
  ir::Fetch& loss = graph.fetches[0];
  if (graph.type(loss.value).rank() == 0) return;
  Builder b(std::move(graph));
  b.set_source(ir::Source{});
  const ir::ValueId scalar = b.value(b.graph().fetches[0].value).reshape({}).id();
  graph = b.take();
  graph.fetches[0].value = scalar;
}

/// What the trainer reads of a step besides the loss.
std::vector<ir::Fetch> step_fetches(const ir::Graph& graph, const std::string& loss) {
  std::vector<ir::Fetch> fetches{{kLoss, fetch_named(graph, loss)->value}};
  for (const char* name : {"grad_norm", "skipped"}) {
    if (const ir::Fetch* fetch = fetch_named(graph, name)) fetches.push_back(*fetch);
  }
  return fetches;
}

/// The loss and what else the forward part returns.
std::vector<ir::Fetch> eval_fetches(const ir::Graph& graph, const std::string& loss) {
  std::vector<ir::Fetch> fetches{{kLoss, fetch_named(graph, loss)->value}};
  for (const ir::Fetch& fetch : graph.fetches) {
    const bool of_step = fetch.name == "grad_norm" || fetch.name == "skipped";
    if (fetch.name == loss || of_step || fetch.name.starts_with(kGradients)) continue;
    fetches.push_back(fetch);
  }
  return fetches;
}

/// The first size of all feeds: a number, or a symbol with a range.
Dim batch_of(const ir::Graph& graph, const std::string& file) {
  std::optional<Dim> batch;
  std::vector<std::string> feeds;
  bool one = true;
  for (const ir::ValueId id : graph.feeds) {
    const ir::Value& feed = graph.value(id);
    feeds.push_back(str(feed.name, " ", feed.type));
    if (feed.type.rank() == 0) {
      one = false;
      continue;
    }
    one = one && (!batch || *batch == feed.type.shape[0]);
    batch = feed.type.shape[0];
  }
  std::map<std::string, Dim> symbols;
  if (batch) batch->collect_symbols(symbols);
  const bool plain =
      batch && (batch->is_const() || (symbols.size() == 1 && *batch == symbols.begin()->second));
  if (one && plain) return *batch;
  fail(file, ": graph ", graph.name, " feeds ", feeds.empty() ? "nothing" : join(feeds, ", "),
       ": the first size of every feed must be the batch, one number or one name");
}

/// Every named size but the batch, by model.sizes or the document.
ir::Package with_sizes(const io::Import& import, const Config::Model& model) {
  const std::map<std::string, Dim> symbols = symbols_of(import.package);
  DimBindings bindings;
  for (const auto& [name, text] : pairs_of(model.sizes, "model.sizes")) {
    std::vector<std::string> names;
    for (const auto& [known, symbol] : symbols) names.push_back(known);
    const auto symbol = symbols.find(name);
    if (symbol == symbols.end()) {
      fail("model.sizes: ", model.file, " has no size named ", quoted(name), ".",
           suggestion(name, names), " It has ", names.empty() ? "none" : join(names, ", "));
    }
    const std::int64_t value = parse_integer(text, "model.sizes: " + name);
    if (value < symbol->second.lo() || value > symbol->second.hi()) {
      fail("model.sizes: ", name, " must be in ", symbol->second.lo(), "..", symbol->second.hi(),
           ", is ", value);
    }
    bindings.emplace(name, Dim(value));
  }
  // The batch keeps its name, unless model.sizes says a number.
  const Dim batch = batch_of(training_graph(import.package, model), model.file);
  for (const auto& [name, dim] : import.bindings()) {
    if (!batch.is_const() && name == batch.text()) continue;
    bindings.emplace(name, dim);
  }
  ir::Package out;
  for (const ir::Graph& graph : import.package.graphs) {
    out.graphs.push_back(bindings.empty() ? graph : substitute(graph, bindings));
  }
  return out;
}

Names feed_names(const ir::Graph& graph, const Config::Model& model) {
  Names names;
  std::vector<std::string> known;
  for (const ir::ValueId id : graph.feeds) known.push_back(graph.value(id).name);
  for (const auto& [ours, theirs] : pairs_of(model.feeds, "model.feeds")) {
    if (std::find(known.begin(), known.end(), theirs) == known.end()) {
      fail("model.feeds: ", model.file, " has no feed ", quoted(theirs), ".",
           suggestion(theirs, known), " It has ", join(known, ", "));
    }
    names.emplace(theirs, ours);
  }
  return names;
}

bool updates_weights(const ir::Graph& graph) {
  return std::any_of(graph.nexts.begin(), graph.nexts.end(), [&](const ir::NextState& next) {
    return graph.find_state(next.state)->state.role == ir::Role::kParam;
  });
}

void check_optimizer(const ir::Graph& graph, const Config& config) {
  const bool own = config.optimizer.kind == "own";
  if (own == updates_weights(graph)) return;
  fail(config.model.file, ": graph ", graph.name,
       own ? " names no next value of a weight: say optimizer.kind = \"sgd\", \"adam\" or \"adamw\""
           : " updates its weights itself: say optimizer.kind = \"own\"");
}

/// Appends gradients of the loss and updates of all parameters.
ir::Graph with_updates(const ir::Graph& forward, const models::Settings& settings) {
  Builder b(forward);
  nn::Module root;
  std::deque<nn::Parameter> parameters;
  for (const ir::StateUse& use : forward.states) {
    const ir::State& s = use.state;
    if (s.role != ir::Role::kParam) continue;
    parameters.emplace_back(&root, s.name, s.type.shape, s.init, s.role, s.type.dtype);
  }
  const nn::Step step =
      nn::minimize(b.value(fetch_named(forward, kLoss)->value), root.parameters(),
                   settings.optimizer(nn::Adam{}), settings.step(root.parameters()));
  if (step.grad_norm) b.fetch("grad_norm", step.grad_norm);
  if (step.skipped) b.fetch("skipped", step.skipped);
  return b.take();
}

void check_batch(const Dim& batch, const Config& config) {
  const std::int64_t wanted = config.train.batch;
  if (batch.lo() <= wanted && wanted <= batch.hi()) return;
  fail("train.batch is ", wanted, ", but the batch of ", config.model.file, " is ",
       batch.is_const() ? batch.text() : str("from ", batch.lo(), " to ", batch.hi()));
}

ir::Package package_from(const std::string& text, const Config& config) {
  const ir::Package kept = ir::parse(text, config.model.file);
  for (const ir::Graph& graph : kept.graphs) verify_types(graph);  // it may have been edited
  const ir::Graph& train = find_graph(kept, kTrain);
  const Dim batch = batch_of(train, config.model.file);
  check_batch(batch, config);
  DimBindings bindings;
  if (!batch.is_const()) bindings.emplace(batch.text(), Dim(config.train.batch));
  const auto sized = [&](const ir::Graph& graph) {
    return bindings.empty() ? graph : substitute(graph, bindings);
  };
  const ir::Graph step = sized(train);
  check_optimizer(step, config);
  const ir::Graph* own_eval = graph_named(kept, kEval);
  const Cut forward{kEval, eval_fetches(step, kLoss), false, false};
  const models::Settings settings = training_settings(config);
  ir::Package package;
  const bool own = config.optimizer.kind == "own";
  const Cut trained{kTrain, step_fetches(step, kLoss), true, true};
  const ir::Graph cut = cut_out(step, trained);
  package.graphs.push_back(own ? cut : with_updates(cut, settings));
  package.graphs.push_back(own_eval ? sized(*own_eval) : cut_out(step, forward));
  DecisionLog log;
  for (ir::Graph& graph : package.graphs) {
    verify_types(graph);
    if (settings.mixed()) graph = amp(graph, *settings.mixed(), log);
  }
  return package;
}

}  // namespace

NetworkFile read_network(const Config& config) {
  const Config::Model& model = config.model;
  io::Document document = io::read_document(model.file);
  NetworkFile out;
  for (const std::string& note : document.import.notes)
    out.notes.push_back(model.file + ": " + note);
  const ir::Package sized = with_sizes(document.import, model);
  const ir::Graph& train = training_graph(sized, model);
  const Names names = feed_names(train, model);
  std::vector<ir::Fetch> fetches = eval_fetches(train, model.loss);
  const std::vector<ir::Fetch> of_step = step_fetches(train, model.loss);
  fetches.insert(fetches.end(), of_step.begin() + 1, of_step.end());
  ir::Package kept;
  kept.graphs.push_back(cut_out(train, {kTrain, fetches, true, true, names}));
  const ir::Graph* eval = graph_named(sized, kEval);
  if (eval) {
    require_loss(*eval, model);
    kept.graphs.push_back(
        cut_out(*eval, {kEval, eval_fetches(*eval, model.loss), false, true, names}));
    if (feeds_of(kept.graphs[0]) != feeds_of(kept.graphs[1])) {
      fail(model.file, ": graph train feeds ", feeds_text(feeds_of(kept.graphs[0])),
           ", graph eval ", feeds_text(feeds_of(kept.graphs[1])), ": both must take the same data");
    }
    if (!(batch_of(kept.graphs[0], model.file) == batch_of(kept.graphs[1], model.file))) {
      fail(model.file, ": graphs train and eval have batches of different sizes");
    }
  } else if (std::any_of(train.nodes.begin(), train.nodes.end(),
                         [](const ir::Node& node) { return node.op == "batch_norm"; })) {
    out.notes.push_back(model.file +
                        " has no graph `eval`: it is evaluated as it is trained, "
                        "normalising by each batch's own mean and variance");
  }
  for (ir::Graph& graph : kept.graphs) flatten_loss(graph);
  check_optimizer(train, config);
  check_batch(batch_of(kept.graphs[0], model.file), config);
  out.text = ir::print(kept);
  return out;
}

std::string read_kept_network(const std::string& path, const std::string& original) {
  std::string text = io::read_file(path);
  try {
    const ir::Package kept = ir::parse(text, path);
    for (const ir::Graph& graph : kept.graphs) verify_types(graph);
    static_cast<void>(batch_of(find_graph(kept, kTrain), path));
  } catch (const UserError& e) {
    const std::string_view what = e.what();
    fail(what.starts_with(path) ? "" : path + ": ", what, ". It is what the run keeps of ",
         original, ": put it back as it was, or begin a new run");
  }
  return text;
}

bool has_open_batch(const std::string& network) {
  const ir::Package kept = ir::parse(network, kTrain);
  return !batch_of(find_graph(kept, kTrain), kTrain).is_const();
}

ir::Package build_package(const Config& config, const std::string& network) {
  if (config.model.file.empty()) return models::build(model_spec(config));
  return package_from(network, config);
}

std::int64_t index_limit(const ir::Graph& graph) {
  std::int64_t limit = 0;
  for (const ir::ValueId id : graph.feeds) {
    if (is_float(graph.type(id).dtype)) continue;
    const std::optional<std::int64_t> bound = index_bound(graph, id);
    if (bound) limit = limit == 0 ? *bound : std::min(limit, *bound);
  }
  return limit;
}

}  // namespace plait::train
