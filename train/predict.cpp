// From files to predictions, batch by batch.
#include "train/predict.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/text.h"
#include "io/file.h"
#include "io/npy.h"
#include "train/cut.h"
#include "train/data/image_set.h"
#include "train/data/text_files.h"
#include "train/evaluate.h"
#include "train/model_session.h"
#include "train/network.h"

namespace plait::train {
namespace {

constexpr std::string_view kInputSuffixes[] = {".png", ".jpg", ".jpeg", ".npy"};

/// The eval graph without its loss, and the one feed that its results come from.
struct Predictor {
  ir::Graph graph;
  FeedType input;
  std::string classes;  // the fetch with a value per class; empty where there is none
  std::int64_t batch = 1;
};

/// Of the fetches the one that accuracy would compare with labels of one per sample.
std::string class_fetch(const ir::Package& package) {
  const RunRequest request = evaluation_request(package);
  const ir::Graph& graph = find_graph(package, request.graph);
  for (const std::string& name : request.fetches) {
    for (const ir::Fetch& fetch : graph.fetches) {
      if (name != "loss" && fetch.name == name && graph.type(fetch.value).rank() == 2) return name;
    }
  }
  return "";
}

FeedType only_input(const ir::Graph& graph, const std::string& model) {
  const std::vector<int> uses = use_counts(graph);
  const std::vector<FeedType> feeds = feeds_of(graph);
  std::vector<FeedType> used;
  for (std::size_t i = 0; i < feeds.size(); ++i) {
    if (uses[static_cast<std::size_t>(graph.feeds[i])] > 0) used.push_back(feeds[i]);
  }
  if (used.size() == 1) return used[0];
  fail("the results of ", model, " come from ", used.empty() ? "no feed" : feeds_text(used),
       ": predict takes models of one input. `plait run --weights ... --feed` takes any");
}

Predictor make_predictor(const TrainedRun& run) {
  Predictor out;
  const ir::Package package = build_package(run.config, network_of(run));
  const ir::Graph& eval = find_graph(package, "eval");
  std::vector<ir::Fetch> results;
  for (const ir::Fetch& fetch : eval.fetches) {
    if (fetch.name != "loss") results.push_back(fetch);
  }
  const std::string model = model_title(run.config);
  if (results.empty()) fail(model, " returns nothing but its loss: there is nothing to predict");
  out.classes = class_fetch(package);
  out.graph = cut_out(eval, {"eval", results, false, false});
  out.input = only_input(out.graph, model);
  out.batch = run.config.train.batch;
  return out;
}

/// The values of one sample, in the dtype of the feed.
struct Sample {
  std::string name;
  Array value;
};

std::vector<Sample> read_arrays(const std::string& path, const FeedType& input) {
  const Array array = io::read_npy(path);
  const Sizes& sizes = array.sizes();
  const bool one = sizes == input.sizes;
  const bool several = !sizes.empty() && Sizes(sizes.begin() + 1, sizes.end()) == input.sizes;
  if ((!one && !several) || is_float(array.dtype()) != is_float(input.dtype)) {
    fail(path, ": ", type_text(array), "; the model wants ", feeds_text({&input, 1}),
         ", or several of them along a first axis");
  }
  const Array values = array.cast(input.dtype);
  const std::int64_t count = one ? 1 : sizes[0];
  std::vector<Sample> out;
  for (std::int64_t i = 0; i < count; ++i) {
    Array sample(input.dtype, input.sizes);
    std::memcpy(sample.data(), values.data() + static_cast<std::size_t>(i) * sample.byte_count(),
                sample.byte_count());
    out.push_back({one ? path : str(path, "[", i, "]"), std::move(sample)});
  }
  return out;
}

std::vector<Sample> read_samples(const std::string& path, const FeedType& input,
                                 const Normal& normal) {
  if (path.ends_with(".npy")) return read_arrays(path, input);
  const PictureForm form = picture_form(input, normal);
  std::vector<float> values(form.elements());
  resample(read_image(path), form, values);
  Array array(DType::f32, input.sizes);
  std::memcpy(array.data(), values.data(), array.byte_count());
  return {{path, array.cast(input.dtype)}};
}

std::vector<std::string> input_files(const std::string& input, std::vector<std::string>& notes) {
  if (!io::is_folder(input)) return {input};
  std::vector<std::string> files = files_below(input, kInputSuffixes);
  const std::size_t left_out = files_below(input).size() - files.size();
  const std::string suffixes = join({std::begin(kInputSuffixes), std::end(kInputSuffixes)}, ", ");
  if (files.empty()) fail(input, ": no inputs in it (", suffixes, ")");
  if (left_out > 0) {
    notes.push_back(
        str(input, ": ", counted(left_out, "file", "files"), " left out (no ", suffixes, ")"));
  }
  return files;
}

/// Row `row` of a batch, without the batch's axis.
Array row_of(const Array& batch, std::int64_t row) {
  Array out(batch.dtype(), Sizes(batch.sizes().begin() + 1, batch.sizes().end()));
  std::memcpy(out.data(), batch.data() + static_cast<std::size_t>(row) * out.byte_count(),
              out.byte_count());
  return out;
}

/// As they are where they are probabilities already, otherwise their softmax.
std::vector<double> probabilities(const Array& scores) {
  std::vector<double> out(static_cast<std::size_t>(scores.count()));
  double sum = 0, largest = scores.real(0);
  bool positive = true;
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = scores.real(static_cast<std::int64_t>(i));
    sum += out[i];
    largest = std::max(largest, out[i]);
    positive = positive && out[i] >= 0;
  }
  constexpr double kRounding = 1e-2;  // of a sum of halves
  if (positive && std::abs(sum - 1) < kRounding) return out;
  sum = 0;
  for (double& x : out) sum += x = std::exp(x - largest);
  for (double& x : out) x /= sum;
  return out;
}

std::vector<ClassScore> best(const Array& scores, std::int64_t top,
                             const std::vector<std::string>& names) {
  const std::vector<double> all = probabilities(scores);
  std::vector<std::size_t> order(all.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return all[a] > all[b]; });
  order.resize(std::min(order.size(), static_cast<std::size_t>(top)));
  std::vector<ClassScore> out;
  for (const std::size_t i : order) {
    out.push_back({static_cast<std::int64_t>(i), i < names.size() ? names[i] : "", all[i]});
  }
  return out;
}

/// Runs batches; a short one is filled up with zeros, whose results are left out.
class Runner {
 public:
  Runner(const PredictRequest& request, const Predictor& predictor,
         const std::function<void(const Prediction&)>& sink)
      : request_(request),
        predictor_(predictor),
        sink_(sink),
        names_(classes_of(request.run)),
        session_(model_session({{predictor.graph}}, request.run.config)) {
    give_weights(session_, request.run.weights, request.run.source);
    batch_.shape(feeds_of(predictor.graph), predictor.batch);
  }

  void add(Sample sample) {
    Array& to = batch_.feeds.at(predictor_.input.name);
    const std::size_t bytes = sample.value.byte_count();
    std::memcpy(to.data() + waiting_.size() * bytes, sample.value.data(), bytes);
    waiting_.push_back(std::move(sample.name));
    if (static_cast<std::int64_t>(waiting_.size()) == predictor_.batch) run();
  }

  void run() {
    if (waiting_.empty()) return;
    const Arrays results = session_.run({"eval", batch_.feeds, {}});
    for (std::size_t i = 0; i < waiting_.size(); ++i) {
      const auto row = static_cast<std::int64_t>(i);
      Prediction p{waiting_[i], {}, {}};
      if (!predictor_.classes.empty()) {
        p.top = best(row_of(results.at(predictor_.classes), row), request_.top, names_);
      }
      for (const auto& [name, array] : results) {
        if (request_.wants_results) p.results.emplace(name, row_of(array, row));
      }
      sink_(p);
    }
    waiting_.clear();
  }

 private:
  const PredictRequest& request_;
  const Predictor& predictor_;
  const std::function<void(const Prediction&)>& sink_;
  std::vector<std::string> names_;
  Session session_;
  Batch batch_;
  std::vector<std::string> waiting_;  // names of the batch's first rows
};

}  // namespace

std::vector<std::string> predict(const PredictRequest& request,
                                 const std::function<void(const Prediction&)>& sink) {
  std::vector<std::string> notes = request.run.notes;
  const std::vector<std::string> files = input_files(request.input, notes);
  PredictRequest sized = request;
  const std::string network = network_of(request.run);
  const bool pictures = std::none_of(
      files.begin(), files.end(), [](const std::string& file) { return file.ends_with(".npy"); });
  if (pictures && (network.empty() || has_open_batch(network))) {  // an array may hold many samples
    const auto count = static_cast<std::int64_t>(files.size());
    sized.run.config.train.batch = std::min(count, request.run.config.train.batch);
  }
  const Predictor predictor = make_predictor(sized.run);
  if (predictor.classes.empty() && !request.wants_results) {
    fail(model_title(sized.run.config), " has no classes: say where its results go (--out DIR)");
  }
  const Normal normal = usual_normal(request.run.config.data.kind);
  Runner runner(sized, predictor, sink);
  for (const std::string& file : files) {
    for (Sample& sample : read_samples(file, predictor.input, normal))
      runner.add(std::move(sample));
  }
  runner.run();
  return notes;
}

}  // namespace plait::train
