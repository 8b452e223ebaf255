// Convolutions and matrix products. AITemplate's names say layouts and epilogues word by word:
// gemm_rcr_bias_add_relu, conv2d_bias_hardswish_few_channels.
#include <algorithm>

#include "base/text.h"
#include "io/aitemplate/kernel.h"
#include "ops/activation.h"
#include "ops/arithmetic.h"
#include "ops/contract.h"
#include "ops/conv.h"
#include "ops/shape.h"

namespace plait::io::aitemplate {
namespace {

/// The words after the first `skip` of an op's name; `fast_gelu` and `few_channels` are one.
std::vector<std::string> words_after(const std::string& op, std::size_t prefix) {
  std::vector<std::string> out;
  if (op.size() <= prefix) return out;
  for (std::string& word : split(std::string_view(op).substr(prefix + 1), '_')) {
    const bool second = !out.empty() && (out.back() == "fast" || out.back() == "few");
    if (second) {
      out.back() += "_" + word;
    } else {
      out.push_back(std::move(word));
    }
  }
  return out;
}

bool is_known_word(const std::string& word) {
  for (std::string_view known :
       {"bias", "add", "mul", "relu", "gelu", "fast_gelu", "sigmoid", "tanh", "swish", "silu",
        "hardswish", "identity", "few_channels", "depthwise", "softmax"}) {
    if (word == known) return true;
  }
  return false;
}

bool all_known(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (!is_known_word(word)) return false;
  }
  return true;
}

/// What stands in the name behind the product: each word in turn, operands from `next` on.
Results with_epilogue(Kernel& k, Tensor y, const std::vector<std::string>& words,
                      std::size_t next) {
  for (const std::string& word : words) {
    if (word == "identity" || word == "few_channels" || word == "depthwise") continue;
    if (word == "bias" || word == "add" || word == "mul") {
      if (next >= k.in.size()) k.fail("has no operand left for '", word, "' of its name");
      const Tensor operand = k.in[next++];
      k.unify_broadcast(y, operand);
      y = k.add(word == "mul" ? ops::mul : ops::add, {y, operand});
      continue;
    }
    const std::optional<Tensor> active = activation(k, word, y);
    if (!active) return std::nullopt;
    y = *active;
  }
  if (next != k.in.size()) {
    k.fail("has ", counted(k.in.size(), "input", "inputs"), ", its name asks for ", next);
  }
  return std::vector<Tensor>{y};
}

/// Takes a leading `bias` as the third operand of the product; says how many operands are used.
std::size_t take_bias(Kernel& k, std::vector<std::string>& words, std::vector<Tensor>& operands) {
  if (words.empty() || words[0] != "bias") return 2;
  k.want_inputs(3);
  if (k.in[2].rank() != 1) return 2;  // a full tensor: an addition
  words.erase(words.begin());
  operands.push_back(k.in[2]);
  return 3;
}

/// The kernel's height and width are numbers; images are at least as large.
void fit_windows(Kernel& k, const ops::Conv2d& a) {
  const int first = a.layout == "NCHW" ? 2 : 1;
  for (int i = 0; i < 2; ++i) {
    const auto at = static_cast<std::size_t>(i);
    k.pin(k.in[1], first + i);
    if (k.in[1].rank() != 4 || a.dilation[at] < 1 || a.padding[2 * at] < 0) continue;
    const std::int64_t taps = k.sizes.number(k.in[1].dim(first + i));
    if (taps < 1 || taps > (1 << 20) || a.dilation[at] > (1 << 20)) continue;
    k.fit_window(k.in[0], first + i, (taps - 1) * a.dilation[at] + 1,
                 2 * std::min<std::int64_t>(a.padding[2 * at], 1 << 20));
  }
}

Results conv2d(Kernel& k, bool transposed, std::vector<std::string> words) {
  if (!all_known(words)) return std::nullopt;
  k.want_inputs(2);
  ops::ConvTranspose2d a;
  a.stride = k.pair("stride", 1);
  const Sizes pad = k.pair("pad", 0);
  a.padding = {pad[0], pad[0], pad[1], pad[1]};
  a.dilation = k.pair("dilate", 1);
  a.groups = k.op.find("group") ? k.whole("group") : 1;
  const PyValue* layout = k.op.find("layout");
  a.layout = layout && layout->is(PyValue::kText) ? layout->text : "NHWC";
  const int channel = a.layout == "NCHW" ? 1 : 3;
  std::erase_if(words, [](const std::string& w) { return w == "depthwise"; });
  std::vector<Tensor> operands{k.in[0], k.in[1]};
  if (a.groups == 1) {
    k.unify(k.in[0], channel, k.in[1], transposed ? 0 : channel);
  } else {
    k.pin(k.in[0], channel);
    for (int axis : {0, channel}) k.pin(k.in[1], axis);
  }
  if (!transposed) fit_windows(k, a);
  const std::size_t used = take_bias(k, words, operands);
  if (used == 3) k.unify(k.in[1], transposed ? channel : 0, k.in[2], 0);
  const ops::Conv2d plain = a;
  const Tensor y =
      transposed ? k.add(ops::conv_transpose2d, operands, a) : k.add(ops::conv2d, operands, plain);
  return with_epilogue(k, y, words, used);
}

bool are_layouts(std::string_view letters) {
  return letters.size() == 3 && letters.find_first_not_of("rc") == std::string_view::npos;
}

/// A [..., K]; B [N, K] when the second letter is c, [K, N] when r.
Results gemm(Kernel& k) {
  const std::string_view letters = std::string_view(k.op.op).substr(5, 3);
  std::vector<std::string> words = words_after(k.op.op, 8);
  if (!are_layouts(letters) || letters[0] != 'r' || letters[2] != 'r' || !all_known(words)) {
    return std::nullopt;
  }
  k.want_inputs(2);
  const bool b_is_nk = letters[1] == 'c';
  k.unify(k.in[0], -1, k.in[1], b_is_nk ? 1 : 0);
  std::vector<Tensor> operands{k.in[0], k.in[1]};
  if (!b_is_nk) return with_epilogue(k, k.add(ops::matmul, operands), words, 2);
  const std::size_t used = take_bias(k, words, operands);
  if (used == 3) k.unify(k.in[1], 0, k.in[2], 0);
  return with_epilogue(k, k.add(ops::linear, operands), words, used);
}

/// A [B, M, K] for r, [B, K, M] for c; B [B, K, N] for r, [B, N, K] for c; C likewise.
Results bmm(Kernel& k) {
  const std::string_view letters = std::string_view(k.op.op).substr(4, 3);
  const std::vector<std::string> words = words_after(k.op.op, 7);
  if (!are_layouts(letters) || !all_known(words)) return std::nullopt;
  k.want_inputs(2);
  const ops::Matmul a{.transpose_a = letters[0] == 'c', .transpose_b = letters[1] == 'c'};
  k.unify(k.in[0], a.transpose_a ? -2 : -1, k.in[1], a.transpose_b ? -1 : -2);
  k.unify(k.in[0], -3, k.in[1], -3);
  Tensor y = k.add(ops::matmul, {k.in[0], k.in[1]}, a);
  if (letters[2] == 'c') y = k.add(ops::transpose, {y}, ops::Order{.order = {0, 2, 1}});
  return with_epilogue(k, y, words, 2);
}

}  // namespace

Results contraction(Kernel& k) {
  const std::string& op = k.op.op;
  for (const std::string_view name : {"conv2d", "transposed_conv2d"}) {
    if (op == name || op.starts_with(std::string(name) + "_")) {
      return conv2d(k, name != "conv2d", words_after(op, name.size()));
    }
  }
  if (op.starts_with("gemm_")) return gemm(k);
  if (op.starts_with("bmm_")) return bmm(k);
  return std::nullopt;
}

}  // namespace plait::io::aitemplate
