// Single ops against PyTorch: forward and gradients of every case in tests/fixtures/ops.safetensors
// and of the recurrence in wkv.safetensors. Attributes are PyTorch's, translated here.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "backends/backends.h"
#include "io/safetensors.h"
#include "ops/ops.h"
#include "passes/differentiate.h"
#include "tests/ops/harness.h"

namespace plait {
namespace {

using Json = nlohmann::json;

/// One op call as Plait makes it.
struct Call {
  std::string op;
  std::vector<std::string> operands;
  ir::Attrs attrs;
};

ops::Conv2d conv_attrs(const Json& a) {
  return {a["stride"], a["padding"], a["dilation"], a["groups"], "NCHW"};
}

Call convolution(const Json& a) {
  if (a["op"] == "conv2d") return {"conv2d", {"x", "w", "b"}, ir::encode(conv_attrs(a))};
  ops::ConvTranspose2d attrs{conv_attrs(a), a["output_padding"]};
  return {"conv_transpose2d", {"x", "w", "b"}, ir::encode(attrs)};
}

Call pooling(const Json& a) {
  if (a["op"] == "max_pool2d") {
    const ops::MaxPool2d attrs{a["kernel_size"], a["stride"],
                               a["padding"],     a.value("dilation", Sizes{1, 1}),
                               a["ceil_mode"],   "NCHW"};
    return {"max_pool2d", {"x"}, ir::encode(attrs)};
  }
  const ops::AvgPool2d attrs{a["kernel_size"],       a["stride"], a["padding"], a["ceil_mode"],
                             a["count_include_pad"], "NCHW"};
  return {"avg_pool2d", {"x"}, ir::encode(attrs)};
}

Call norm(const Json& a) {
  const std::vector<std::string> affine{"x", "weight", "bias"};
  if (a["op"] == "layer_norm") {
    return {"layer_norm", affine, ir::encode(ops::LayerNorm{a["axes"], a["eps"]})};
  }
  if (a["op"] == "group_norm") {
    return {"group_norm", affine, ir::encode(ops::GroupNorm{a["groups"], a["eps"], "NCHW"})};
  }
  const ir::Attrs attrs = ir::encode(ops::BatchNorm{a["eps"], "NCHW"});
  if (a["train"]) return {"batch_norm", affine, attrs};
  return {"batch_norm_inference", {"x", "weight", "bias", "running_mean", "running_var"}, attrs};
}

Call cross_entropy(const Json& a) {
  const ops::CrossEntropy attrs{a["axis"], a["ignore_index"], a["label_smoothing"], a["reduction"]};
  return {"cross_entropy", {"x", "labels"}, ir::encode(attrs)};
}

Call attention(const Json& a) {
  return {"attention", {"q", "k", "v"}, ir::encode(ops::Attention{a["causal"], a["scale"]})};
}

Call resize(const Json& a) {
  const ops::Resize attrs{shape_of(a["size"].get<Sizes>()), "NCHW"};
  return {"resize_nearest", {"x"}, ir::encode(attrs)};
}

Call of_one_operand(const Json& a) {
  const std::string op = a["op"];
  if (op == "gelu") return {op, {"x"}, ir::encode(ops::Gelu{a["approximate"]})};
  if (op == "cumsum") return {op, {"x"}, ir::encode(ops::Cumulative{a["axis"], false, false})};
  if (op == "logsumexp") return {op, {"x"}, ir::encode(ops::Reduction{a["axes"], a["keep"]})};
  const ops::Softplus attrs{a.value("beta", 1.0), a.value("threshold", 1e9)};  // else: the formula
  return {op, {"x"}, ir::encode(attrs)};
}

Call translated(const Json& a) {
  const std::string op = a["op"];
  if (op.starts_with("conv")) return convolution(a);
  if (op.ends_with("pool2d")) return pooling(a);
  if (op.ends_with("norm")) return norm(a);
  if (op == "cross_entropy") return cross_entropy(a);
  if (op == "scaled_dot_product_attention") return attention(a);
  if (op == "resize_nearest") return resize(a);
  return of_one_operand(a);
}

const io::TensorFile& fixture() {
  static const io::TensorFile kFile = io::read_safetensors("tests/fixtures/ops.safetensors");
  return kFile;
}

std::vector<std::string> case_names() {
  std::vector<std::string> names;
  for (const auto& [key, text] : fixture().metadata) {
    if (key.ends_with(".attr")) names.push_back(key.substr(0, key.size() - 5));
  }
  return names;
}

class TorchCase : public testing::TestWithParam<std::string> {};

// Results are stored in f64: nothing but the order of sums separates us from them.
TEST_P(TorchCase, AgreesForwardAndBackward) {
  const std::string at = GetParam() + ".";
  const Call call = translated(Json::parse(fixture().metadata.at(at + "attr")));
  Builder b("case");
  std::vector<Tensor> operands, wrt;
  std::vector<Array> feeds;
  std::vector<std::string> expected{at + "out"};
  for (const std::string& name : call.operands) {
    const Array& given = fixture().tensor(at + "in." + name);
    feeds.push_back(is_float(given.dtype()) ? given.cast(DType::f64) : given);
    operands.push_back(b.feed(name, feeds.back().dtype(), shape_of(given.sizes())));
    if (!fixture().tensors.count(at + "din." + name)) continue;
    wrt.push_back(operands.back());
    expected.push_back(at + "din." + name);
  }
  const Tensor y = b.add(call.op, operands, call.attrs)[0];
  feeds.push_back(fixture().tensor(at + "dout").cast(DType::f64));
  const Tensor dy = b.feed("dout", DType::f64, shape_of(feeds.back().sizes()));
  b.fetch("y", y);
  for (const Tensor& g : gradients({y}, {dy}, wrt)) b.fetch("d", g);
  const std::vector<Array> got = run_graph(b.graph(), feeds);
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_LT(largest_error(got[i], fixture().tensor(expected[i])), 1e-14) << expected[i];
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, TorchCase, testing::ValuesIn(case_names()),
                         [](const auto& info) { return info.param; });

TEST(TorchCases, AreAllThere) { EXPECT_EQ(case_names().size(), 48u); }

/// Runs wkv on tensors of wkv.safetensors under `at`, from time `from` to `to`, in f64.
struct Recurrence {
  io::TensorFile file = io::read_safetensors("tests/fixtures/wkv.safetensors");
  std::string at;

  Array part(const std::string& name, std::int64_t from, std::int64_t to) const {
    const Array& whole = file.tensor(at + name);  // [batch,time,channels]
    const std::int64_t batch = whole.sizes()[0], time = whole.sizes()[1], c = whole.sizes()[2];
    Array out(DType::f64, {batch, to - from, c});
    for (std::int64_t i = 0; i < out.count(); ++i) {
      const std::int64_t row = i / (out.sizes()[1] * c), rest = i % (out.sizes()[1] * c);
      out.set(i, whole.real((row * time + from) * c + rest));
    }
    return out;
  }
  Array wide(const std::string& name) const { return file.tensor(at + name).cast(DType::f64); }

  /// y, a, b, o, then the gradients of k v time_decay u a0 b0 o0 for the cotangent gy.
  std::vector<Array> run(std::int64_t from, std::int64_t to, const std::string& state) const {
    Builder b("wkv");
    std::vector<Array> feeds{part("k", from, to), part("v", from, to), wide("time_decay"),
                             wide("u"),           wide("a" + state),   wide("b" + state),
                             wide("o" + state),   part("gy", from, to)};
    std::vector<Tensor> in;
    for (const Array& f : feeds) {
      in.push_back(b.feed(str("in", in.size()), DType::f64, shape_of(f.sizes())));
    }
    const Tensor w = -in[2].exp();
    const auto out = ops::wkv.all({in[0], in[1], w, in[3], in[4], in[5], in[6]});
    for (const Tensor& t : out) b.fetch("out", t);
    const std::vector<Tensor> wrt{in[0], in[1], in[2], in[3], in[4], in[5], in[6], w};
    for (const Tensor& g : gradients({out[0]}, {in[7]}, wrt)) b.fetch("grad", g);
    return run_graph(b.graph(), feeds);
  }
};

// Stored in f32: 6e-8 of each value, and of the state that the second half starts from.
constexpr double kStored = 1e-7;

TEST(TorchWkv, AgreesForwardAndBackward) {
  for (const std::string at : {"", "big."}) {
    const Recurrence r{.at = at};
    const std::int64_t time = r.wide("k").sizes()[1];
    const std::vector<Array> got = r.run(0, time, "0");
    std::vector<std::string> names{"y", "aT", "bT", "oT", "gk", "gv", "gtime_decay", "gu"};
    if (at.empty()) names.insert(names.end(), {"ga0", "gb0", "go0"});
    for (std::size_t i = 0; i < names.size(); ++i) {
      EXPECT_LT(largest_error(got[i], r.wide(names[i])), kStored) << at << names[i];
    }
    EXPECT_LT(largest_error(got.back(), r.wide("gw")), kStored) << at << "gw";
  }
}

TEST(TorchWkv, CarriesItsStateFromOneRunToTheNext) {
  const Recurrence r{.at = ""};
  const std::int64_t time = r.wide("k").sizes()[1], half = time / 2;
  const std::vector<Array> first = r.run(0, half, "0"), second = r.run(half, time, "M");
  for (int i = 0; i < 3; ++i) {
    const std::string name(1, "abo"[i]);
    const auto at = static_cast<std::size_t>(i) + 1;
    EXPECT_LT(largest_error(first[at], r.wide(name + "M")), kStored);
    EXPECT_LT(largest_error(second[at], r.wide(name + "T")), kStored);
  }
  EXPECT_LT(largest_error(second[0], r.part("y", half, time)), kStored);
}

}  // namespace
}  // namespace plait
