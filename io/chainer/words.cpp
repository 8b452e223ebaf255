// Which word a node gets: Chainer's function, or its own name with all that reading it back takes.
#include "io/chainer/words.h"

#include <algorithm>

#include "io/chainer/words_rows.h"

namespace plait::io::chainer {
namespace {

std::vector<int> first(int n) {
  std::vector<int> out;
  for (int i = 0; i < n; ++i) out.push_back(i);
  return out;
}

/// Whether the function's operands are known to whoever reads it: those that nothing makes and
/// whose shape the function does not tell are images, rows or ids.
bool readable(const Told& t, const Words& w) {
  constexpr std::string_view kTelling[] = {"Convolution2DFunction",   "Deconvolution2DFunction",
                                           "LinearFunction",          "BatchNormalization",
                                           "FixedBatchNormalization", "SoftmaxCrossEntropy",
                                           "MeanSquaredError",        "EmbedIDFunction"};
  if (std::find(std::begin(kTelling), std::end(kTelling), w.function) != std::end(kTelling)) {
    return true;
  }
  if (w.operands.size() == 2) return true;  // judged where the word was found
  return std::none_of(w.operands.begin(), w.operands.end(), [&](int i) { return t.is_root(i); });
}

Words own_words(const Told& t) {
  Words w{t.node.op, {}, {}};
  for (const auto& [name, value] : t.node.attrs) w.attributes.push_back({name, attr_value(value)});
  std::vector<Value> shapes, dtypes;
  Sizes positions;
  for (int i = 0; i < t.view.count(); ++i) {
    if (!t.view.has(i)) continue;
    w.operands.push_back(i);
    positions.push_back(i);
    shapes.push_back(ints(t.sizes(i)));
    dtypes.emplace_back().data = std::string(name_of(t.in(i).dtype));
  }
  const bool gaps = static_cast<int>(positions.size()) != t.view.count();
  w.attributes.push_back({std::string(kShapes), {std::move(shapes)}});
  w.attributes.push_back({std::string(kDTypes), {std::move(dtypes)}});
  if (gaps) w.attributes.push_back({std::string(kPositions), ints(positions)});
  w.outputs = static_cast<int>(t.node.outputs.size());
  return w;
}

}  // namespace

Value ints(const Sizes& sizes) {
  std::vector<Value> out;
  for (std::int64_t n : sizes) out.emplace_back().data = n;
  return {std::move(out)};
}

Words word(std::string function, Members attributes, int operands) {
  return {std::move(function), std::move(attributes), first(operands)};
}

Words words_of(const ir::Graph& graph, const ir::Node& node) {
  const Told told{graph, node, view_of(graph, node)};
  for (const auto family : {layer_words(), array_words()}) {
    for (const WordRow& row : family) {
      if (row.op != node.op) continue;
      if (const Word word = row.word(told); word && readable(told, *word)) return *word;
    }
  }
  return own_words(told);
}

}  // namespace plait::io::chainer
