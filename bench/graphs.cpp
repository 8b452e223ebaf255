// Graphs to time, as text: concats of many pieces and their slices, depthwise and grouped
// convolutions and their gradients, an unrolled LSTM and a MobileNet. `plait bench` and `plait
// profile` take what it prints; which graphs there are, and their keys, is in kGraphs.
#include <cstdio>
#include <map>
#include <string>

#include "base/text.h"
#include "plait/plait.h"

namespace {

using namespace plait;

class Keys {
 public:
  Keys(int count, char** words, const std::string& known) {
    for (int i = 0; i < count; ++i) {
      const std::string word = words[i];
      const std::size_t cut = word.find('=');
      if (cut == std::string::npos ||
          (" " + known).find(" " + word.substr(0, cut + 1)) == std::string::npos) {
        fail("'", word, "' is none of the keys ", known);
      }
      given_[word.substr(0, cut)] = word.substr(cut + 1);
    }
  }
  std::string text(const std::string& key, const std::string& otherwise) const {
    const auto it = given_.find(key);
    return it == given_.end() ? otherwise : it->second;
  }
  std::int64_t operator()(const std::string& key, std::int64_t otherwise) const {
    const auto it = given_.find(key);
    return it == given_.end() ? otherwise : parse_integer(it->second, key);
  }
  DType dtype() const {
    const std::string name = text("dtype", "f32");
    const std::optional<DType> found = dtype_named(name);
    if (!found) fail("there is no dtype ", name);
    return *found;
  }

 private:
  std::map<std::string, std::string> given_;
};

/// Pieces [outer, size + i % more, inner], joined along the middle axis, or sliced from it.
ir::Graph concat(const Keys& keys) {
  Builder b("concat");
  const std::string what = keys.text("what", "join");
  if (what != "join" && what != "slice") fail("what=", what, " is none of join and slice");
  const std::int64_t outer = keys("outer", 1), inner = keys("inner", 1);
  std::vector<Operand> pieces;
  std::vector<std::int64_t> starts{0};
  for (std::int64_t i = 0; i < keys("pieces", 8); ++i) {
    const std::int64_t size = keys("size", 4096) + i % keys("more", 1);
    starts.push_back(starts.back() + size);
    if (what == "join") {
      pieces.push_back(b.feed(str("x", i), keys.dtype(), {outer, size, inner}));
    }
  }
  if (what == "join") {
    b.fetch("y", ops::concat.all(pieces, ops::Axis{1})[0]);
    return b.take();
  }
  const Tensor y = b.feed("y", keys.dtype(), {outer, starts.back(), inner});
  for (std::size_t i = 0; i + 1 < starts.size(); ++i) {
    b.fetch(str("x", i), y.slice(1, starts[i], starts[i + 1]));
  }
  return b.take();
}

/// Sizes are those of the convolution's input.
ir::Graph convolution(const Keys& keys) {
  const std::int64_t n = keys("batch", 8), c = keys("channels", 128), h = keys("height", 56),
                     w = keys("width", h), k = keys("kernel", 3), s = keys("stride", 1);
  ops::Conv2d how;
  how.stride = {s, s};
  how.padding = {k / 2, k / 2};
  how.groups = keys("groups", c);
  how.layout = keys.text("layout", "NHWC");
  const bool last = how.layout == "NHWC";
  const std::int64_t out = c * keys("multiplier", 1), each = c / how.groups;
  const auto size = [&](std::int64_t length) { return (length + k / 2 * 2 - k) / s + 1; };
  const auto image = [&](std::int64_t channels, std::int64_t height, std::int64_t width) {
    return last ? Shape{n, height, width, channels} : Shape{n, channels, height, width};
  };
  const Shape weights = last ? Shape{out, k, k, each} : Shape{out, each, k, k};
  const Shape result = image(out, size(h), size(w));
  Builder b("convolution");
  const std::string what = keys.text("what", "forward");
  if (what == "forward") {
    const Tensor x = b.feed("x", keys.dtype(), image(c, h, w));
    b.fetch("y", ops::conv2d(x, b.feed("w", keys.dtype(), weights), how));
  } else if (what == "input") {
    const Tensor dy = b.feed("dy", keys.dtype(), result);
    b.fetch("dx", ops::conv2d_input_grad(dy, b.feed("w", keys.dtype(), weights),
                                         ops::Conv2dInputGrad{how, {h, w}}));
  } else if (what == "weight") {
    const Tensor x = b.feed("x", keys.dtype(), image(c, h, w));
    b.fetch("dw", ops::conv2d_weight_grad(x, b.feed("dy", keys.dtype(), result),
                                          ops::Conv2dWeightGrad{how, {k, k}}));
  } else {
    fail("what=", what, " is none of forward, input and weight");
  }
  return b.take();
}

/// Every step is written out; the input's part of the gates is one product for all of them.
struct Lstm : nn::Module {
  Lstm(std::int64_t in, std::int64_t width)
      : from_input(this, "input", in, 4 * width),
        from_state(this, "state", width, 4 * width, false),
        head(this, "head", width, in) {}
  nn::Linear from_input, from_state, head;

  ir::Graph step(std::int64_t batch, std::int64_t time, std::int64_t in, std::int64_t width) {
    Builder b("lstm");
    const Tensor gates = from_input(b.feed("x", DType::f32, {batch, time, in}));
    Tensor h = b.full(0, DType::f32, {batch, width}), c = h;
    std::vector<Operand> outputs;
    for (std::int64_t t = 0; t < time; ++t) {
      const Tensor all = gates.slice(1, t, t + 1).reshape({batch, 4 * width}) + from_state(h);
      const auto gate = [&](std::int64_t i) { return all.slice(1, i * width, (i + 1) * width); };
      c = ops::sigmoid(gate(0)) * c + ops::sigmoid(gate(1)) * ops::tanh(gate(2));
      h = ops::sigmoid(gate(3)) * ops::tanh(c);
      outputs.push_back(h.unsqueeze({1}));
    }
    const Tensor y = head(ops::concat.all(outputs, ops::Axis{1})[0]);
    const Tensor loss = ops::mse_loss(y, b.feed("t", DType::f32, {batch, time, in}));
    b.fetch("loss", loss);
    nn::minimize(loss, parameters(), nn::Sgd{.lr = 0.1});
    return b.take();
  }
};

ir::Graph lstm(const Keys& keys) {
  const std::int64_t in = keys("in", 64), width = keys("width", 64);
  return Lstm(in, width).step(keys("batch", 16), keys("time", 128), in, width);
}

/// A convolution of one channel or of all, its batch norm and a rectifier.
struct Layer : nn::ModuleOf<Layer> {
  Layer(nn::Module* parent, const std::string& name, std::int64_t in, std::int64_t out,
        std::int64_t kernel, std::int64_t stride, std::int64_t groups)
      : ModuleOf(parent, name),
        conv(this, "conv", in, out, kernel,
             {.stride = stride, .padding = kernel / 2, .groups = groups, .bias = false}),
        norm(this, "norm", out) {}
  Tensor forward(const Tensor& x) { return ops::relu(norm(conv(x))); }
  nn::Conv2d conv;
  nn::BatchNorm2d norm;
};

struct MobileNet : nn::ModuleOf<MobileNet> {
  MobileNet(std::int64_t divided, std::int64_t classes)
      : layers(this, "layers"), head(this, "head", 1024 / divided, classes) {
    std::int64_t channels = 32 / divided;
    layers.add(3, channels, 3, 2, 1);
    for (const auto& [out, stride] :
         {std::pair(64, 1), std::pair(128, 2), std::pair(128, 1), std::pair(256, 2),
          std::pair(256, 1), std::pair(512, 2), std::pair(512, 1), std::pair(512, 1),
          std::pair(512, 1), std::pair(512, 1), std::pair(512, 1), std::pair(1024, 2),
          std::pair(1024, 1)}) {
      layers.add(channels, channels, 3, stride, channels);
      layers.add(channels, out / divided, 1, 1, 1);
      channels = out / divided;
    }
  }
  Tensor forward(Tensor x) {
    for (Layer& layer : layers) x = layer(x);
    return head(x.mean({2, 3}));
  }
  nn::ModuleList<Layer> layers;
  nn::Linear head;
};

ir::Graph mobilenet(const Keys& keys) {
  const std::int64_t batch = keys("batch", 8), image = keys("image", 224),
                     classes = keys("classes", 1000);
  MobileNet net(keys("divided", 1), classes);
  Builder b("mobilenet");
  const Tensor logits = net(b.feed("image", DType::f32, {batch, 3, image, image}));
  const Tensor loss = ops::cross_entropy(logits, b.feed("label", DType::i64, {batch}));
  b.fetch("loss", loss);
  nn::minimize(loss, net.parameters(), nn::Sgd{.lr = 0.01, .momentum = 0.9});
  return b.take();
}

struct Entry {
  const char* name;
  const char* keys;
  ir::Graph (*build)(const Keys&);
};

constexpr Entry kGraphs[] = {
    {"concat", "what= pieces= outer= size= more= inner= dtype=", concat},
    {"conv",
     "what= batch= channels= groups= multiplier= height= width= kernel= stride= layout= "
     "dtype=",
     convolution},
    {"lstm", "time= batch= in= width=", lstm},
    {"mobilenet", "batch= image= classes= divided=", mobilenet},
};

}  // namespace

int main(int argc, char** argv) try {
  for (const Entry& e : kGraphs) {
    if (argc < 2 || std::string_view(argv[1]) != e.name) continue;
    std::fputs(ir::print(e.build(Keys(argc - 2, argv + 2, e.keys))).c_str(), stdout);
    return 0;
  }
  std::fprintf(stderr, "usage: plait_graphs NAME key=value..., the graph as text:\n");
  for (const Entry& e : kGraphs) std::fprintf(stderr, "  %-10s %s\n", e.name, e.keys);
  return 2;
} catch (const plait::UserError& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
