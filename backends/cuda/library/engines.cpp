// Which of cuDNN's engines may run a graph, by their notes on numbers, and their names as text.
#include <algorithm>
#include <array>

#include "backends/cuda/library/dnn_graph.h"

namespace plait::cuda {
namespace {

constexpr std::int64_t kMostEngines = 32;
constexpr std::int64_t kShift = 2;  // settings may be -1, and no word of a text is 0

Descriptor engine_of(const DnnApi& api, const Descriptor& config) {
  Descriptor engine(api, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t raw = engine.raw();
  config.get(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &raw);
  return engine;
}

template <class Note>
std::vector<Note> notes_of(const Descriptor& engine, cudnnBackendAttributeName_t what,
                           cudnnBackendAttributeType_t type) {
  std::vector<Note> notes(32);
  const std::int64_t room = static_cast<std::int64_t>(notes.size());
  notes.resize(
      static_cast<std::size_t>(std::min(room, engine.get(what, type, room, notes.data()))));
  return notes;
}

bool is_allowed(const Descriptor& engine, const LibraryProblem& problem) {
  const LibraryOptions& options = problem.options;
  for (const auto note : notes_of<cudnnBackendNumericalNote_t>(
           engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE)) {
    switch (note) {
      case CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC:
        if (options.deterministic) return false;
        break;
      case CUDNN_NUMERICAL_NOTE_TENSOR_CORE:
        if (problem.dtype == DType::f32 && !options.tf32) return false;
        break;
      case CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS:
      case CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION:
      case CUDNN_NUMERICAL_NOTE_FFT:
      case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6:
      case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13:
        return false;  // less exact than a sum in f32
      default:
        break;
    }
  }
  for (const auto note : notes_of<cudnnBackendBehaviorNote_t>(
           engine, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE)) {
    if (note == CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION && !options.compile_engines) return false;
  }
  return true;
}

std::string text_of(const Descriptor& engine, const Descriptor& config) {
  const auto word = [](std::int64_t n) { return static_cast<std::uint64_t>(n + kShift); };
  std::vector<std::uint64_t> words{word(engine.number(CUDNN_ATTR_ENGINE_GLOBAL_INDEX))};
  for (const Descriptor& knob :
       config.list(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR,
                   CUDNN_KNOB_TYPE_COUNTS)) {
    cudnnBackendKnobType_t type{};
    knob.get(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1, &type);
    words.push_back(word(type));
    words.push_back(word(knob.number(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE)));
  }
  return words_text(words);
}

/// In cuDNN's order; none when this way of asking has no answer.
std::vector<Descriptor> configs_of(const DnnApi& api, const DnnGraph& graph,
                                   cudnnBackendHeurMode_t mode) {
  try {
    Descriptor heuristic(api, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph.graph);
    heuristic.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode);
    heuristic.finalize();
    return heuristic.list(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR,
                          kMostEngines);
  } catch (const RunError&) {
    return {};
  }
}

}  // namespace

std::vector<DnnEngine> find_engines(const DnnApi& api, const DnnGraph& graph,
                                    const LibraryProblem& problem) {
  std::vector<DnnEngine> out;
  for (const cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    for (Descriptor& config : configs_of(api, graph, mode)) {
      const Descriptor engine = engine_of(api, config);
      if (!is_allowed(engine, problem)) continue;
      std::string text = text_of(engine, config);
      const bool known =
          std::any_of(out.begin(), out.end(), [&](const DnnEngine& e) { return e.text == text; });
      if (!known) out.push_back({std::move(config), std::move(text)});
    }
  }
  return out;
}

DnnEngine engine_from(const DnnApi& api, const DnnGraph& graph, const std::string& text) {
  const std::vector<std::uint64_t> words = words_from(text);
  const bool sound = words.size() % 2 == 1 &&
                     std::none_of(words.begin(), words.end(), [](auto w) { return w == 0; });
  if (!sound) throw RunError(str("'", text, "' is no engine"));
  const auto number = [&](std::size_t i) { return static_cast<std::int64_t>(words[i]) - kShift; };
  Descriptor engine(api, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  engine.set(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph.graph);
  engine.set(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, number(0));
  engine.finalize();
  std::vector<Descriptor> knobs;
  for (std::size_t i = 1; i < words.size(); i += 2) {
    Descriptor knob(api, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
    const auto type = static_cast<cudnnBackendKnobType_t>(number(i));
    knob.set(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, type);
    knob.set(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, number(i + 1));
    knob.finalize();
    knobs.push_back(std::move(knob));
  }
  Descriptor config(api, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  config.set(CUDNN_ATTR_ENGINECFG_ENGINE, engine);
  if (!knobs.empty()) config.set(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, knobs);
  config.finalize();
  return {std::move(config), text};
}

}  // namespace plait::cuda
