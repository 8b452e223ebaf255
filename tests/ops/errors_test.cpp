// What a misused op says: one case per kind of mistake, the whole text compared.
#include <gtest/gtest.h>

#include <string>

#include "ir/text.h"
#include "ops/verify.h"
#include "tests/raises.h"

namespace plait {
namespace {

struct Case {
  const char* call;
  const char* type;  // that the text states
  const char* message;
};

constexpr Case kCases[] = {
    {"add(x, y)", "f32[2,3]",
     "[add] sizes 3 and 4 do not broadcast: a is f32[2,3], b is f32[4] (%r)"},
    {"add(x, h)", "f32[2,3]",
     "[add] operand dtypes differ: a is f32[2,3], b is f16[2,3] (%r). Cast one of them"},
    {"add(x)", "f32[2,3]", "[add] takes 2 operands, given 1 (%r)"},
    {"add(x, x, x)", "f32[2,3]", "[add] takes 2 operands, given 3 (%r)"},
    {"add(x, _)", "f32[2,3]", "[add] operand b may not be left out (%r)"},
    {"relu(x, axis=1)", "f32[2,3]", "[relu] has no attribute 'axis'. (%r)"},
    {"leaky_relu(x, slop=0.1)", "f32[2,3]",
     "[leaky_relu] has no attribute 'slop'. Did you mean 'slope'? (%r)"},
    {"leaky_relu(x, slope=\"a\")", "f32[2,3]", "[leaky_relu] attribute slope cannot be \"a\" (%r)"},
    {"leaky_relu(x, slope=-1.0)", "f32[2,3]",
     "[leaky_relu] slope must not be negative, is -1 (%r)"},
    {"gelu(x, approximate=\"fast\")", "f32[2,3]",
     "[gelu] approximate must be \"none\" or \"tanh\", is \"fast\" (%r)"},
    {"clip(x, lo=2.0, hi=1.0)", "f32[2,3]", "[clip] lo must not exceed hi: lo is 2, hi is 1 (%r)"},
    {"where(x, x, x)", "f32[2,3]",
     "[where] condition cannot be f32 (%r). It takes bool; cast first"},
    {"reshape(x, shape=[4,2])", "f32[4,2]",
     "[reshape] x is f32[2,3], 6 elements, does not fit [4,2], 8 (%r)"},
    {"reshape(x, shape=[-1,-1])", "f32[4,2]", "[reshape] two sizes of [-1,-1] are -1 (%r)"},
    {"reshape(x, shape=[4,-1])", "f32[4,2]",
     "[reshape] x is f32[2,3] does not divide into [4,-1] (%r)"},
    {"transpose(x, order=[0])", "f32[2]", "[transpose] order has 1 axes: x is f32[2,3] (%r)"},
    {"transpose(x, order=[0,0])", "f32[2]",
     "[transpose] axes name one axis twice: x is f32[2,3] (%r)"},
    {"transpose(x, order=[0,2])", "f32[2]",
     "[transpose] axis 2 is outside a rank of 2: x is f32[2,3] (%r)"},
    {"broadcast_to(x, shape=[3])", "f32[3]",
     "[broadcast_to] x is f32[2,3] does not broadcast to [3] (%r)"},
    {"squeeze(x, axes=[0])", "f32[3]", "[squeeze] axis 0 has size 2, not 1: x is f32[2,3] (%r)"},
    {"unsqueeze(x, axes=[5])", "f32[3]",
     "[unsqueeze] axis 5 is outside a rank of 3: x is f32[2,3] (%r)"},
    {"slice(x, axes=[0], starts=[0], stops=[1], steps=[-1])", "f32[1,3]",
     "[slice] step -1 is not positive (%r). Use flip to go backwards"},
    {"slice(x, axes=[0], starts=[0,1], stops=[1])", "f32[1,3]",
     "[slice] axes, starts, stops and steps must have one length, given 1, 2, 1 and 0 (%r)"},
    {"pad(x, low=[0], high=[0])", "f32[1,3]",
     "[pad] low and high must have one size per axis: x is f32[2,3], low is [0], high is [0] (%r)"},
    {"pad(x, low=[-2,0], high=[-2,0])", "f32[1,3]",
     "[pad] axis 0 of f32[2,3] cannot lose 4 elements (%r)"},
    {"pad(i, low=[1], high=[0], value=nan)", "i64[5]",
     "[pad] value is nan; i64 holds whole numbers from -9223372036854775808 to "
     "9223372036854775807: x is i64[4] (%r)"},
    {"pad(i, low=[1], high=[0], value=0.5)", "i64[5]",
     "[pad] value is 0.5; i64 holds whole numbers from -9223372036854775808 to "
     "9223372036854775807: x is i64[4] (%r)"},
    {"pad(h, low=[1,0], high=[0,0], value=1e6)", "f16[3,3]",
     "[pad] value is 1e+06; f16 holds nothing above 65504: x is f16[2,3] (%r)"},
    {"concat(x, y, axis=0)", "f32[1,3]",
     "[concat] operand xs must have rank 2: xs0 is f32[2,3], xs1 is f32[4] (%r)"},
    {"concat(x, axis=4)", "f32[1,3]",
     "[concat] axis 4 is outside a rank of 2: xs0 is f32[2,3] (%r)"},
    {"split(x, sizes=[1,2])", "f32[1,3]", "[split] sizes [1,2] add up to 3: x is f32[2,3] (%r)"},
    {"iota(shape=[3], axis=2)", "i64[3]", "[iota] axis 2 is outside a rank of 1 (%r)"},
    {"constant()", "f32[]", "[constant] has no value. Write value=f32[2]{1.0,2.0} (%r)"},
    {"sum(x, axes=[2])", "f32[]", "[sum] axis 2 is outside a rank of 2: x is f32[2,3] (%r)"},
    {"sum(x, axes=[0,0])", "f32[]", "[sum] axes name one axis twice: x is f32[2,3] (%r)"},
    {"mean(i)", "f32[]", "[mean] x cannot be i64 (%r). It takes f64, f32, f16, bf16; cast first"},
    {"max(e, axes=[0])", "f32[]", "[max] has no elements to choose from: x is f32[0,3] (%r)"},
    {"argmax(x, axis=3)", "i64[2]", "[argmax] axis 3 is outside a rank of 2: x is f32[2,3] (%r)"},
    {"cumsum(x, axis=2)", "f32[2,3]", "[cumsum] axis 2 is outside a rank of 2: x is f32[2,3] (%r)"},
    {"matmul(x, x)", "f32[2,2]",
     "[matmul] inner sizes differ: a is f32[2,3], b is f32[2,3] (%r). Transpose b?"},
    {"matmul(i, i)", "f32[2,2]",
     "[matmul] operands must have at least two axes: a is i64[4], b is i64[4] (%r). Unsqueeze a "
     "vector to a matrix"},
    {"linear(x, w, y)", "f32[2,5]",
     "[linear] operand bias must be [5] (one number per row of w): x is f32[2,3], w is f32[5,3], "
     "bias is f32[4] (%r)"},
    {"einsum(x, x, equation=\"ij,jk->ik\")", "f32[2,2]",
     "[einsum] index j is both 3 and 2: xs0 is f32[2,3], xs1 is f32[2,3] (%r)"},
    {"einsum(x, equation=\"ijk->i\")", "f32[2]",
     "[einsum] operand 0 has rank 2, its indices are 'ijk': xs0 is f32[2,3] (%r)"},
    {"gather(x, x)", "f32[2,3]",
     "[gather] operand indices must be i32 or i64: x is f32[2,3], indices is f32[2,3] (%r)"},
    {"gather(x, i, axis=2)", "f32[4,3]",
     "[gather] axis 2 is outside a rank of 2: x is f32[2,3], indices is i64[4] (%r)"},
    {"embedding(x, h)", "f32[4,3]",
     "[embedding] operand ids must be i32 or i64: weight is f32[2,3], ids is f16[2,3] (%r)"},
    {"one_hot(x)", "f32[2,3]", "[one_hot] ids cannot be f32 (%r). It takes i64, i32; cast first"},
    {"conv2d(x, x)", "f32[1]",
     "[conv2d] operand x must have rank 4: x is f32[2,3], w is f32[2,3] (%r)"},
    {"conv2d(im, k)", "f32[1]",
     "[conv2d] weights must be [4,3,3,3] for 3 channels in 1 groups (NCHW): x is f32[1,3,8,8], w "
     "is f32[4,2,3,3] (%r)"},
    {"conv2d(im, k3, stride=[0,1])", "f32[1]",
     "[conv2d] stride must be two numbers of at least 1 (height, width), given [0,1] (%r)"},
    {"conv2d(im, k3, groups=2)", "f32[1]",
     "[conv2d] 3 channels do not divide into 2 groups: x is f32[1,3,8,8], w is f32[4,3,3,3] (%r)"},
    {"conv2d(im, big)", "f32[1]",
     "[conv2d] a window that reaches over 9 does not fit into height 8 padded by 0 and 0: x is "
     "f32[1,3,8,8], w is f32[4,3,9,9] (%r)"},
    {"max_pool2d(im)", "f32[1]",
     "[max_pool2d] kernel must be two numbers of at least 1 (height, width), given [] (%r)"},
    {"max_pool2d(im, kernel=[9,9])", "f32[1]",
     "[max_pool2d] a window that reaches over 9 does not fit into height 8 padded by 0 and 0: x is "
     "f32[1,3,8,8] (%r)"},
    {"avg_pool2d(im, kernel=[2,2], padding=[2,2])", "f32[1]",
     "[avg_pool2d] padding must be less than the 2 that a window reaches over, given [2,2] (%r)"},
    {"resize_nearest(im)", "f32[1]",
     "[resize_nearest] size must be two sizes of at least 1 (height, width), given [] (%r)"},
    {"layer_norm(x, y)", "f32[2,3]",
     "[layer_norm] operand weight must be [3] (the normalised axes): x is f32[2,3], weight is "
     "f32[4] (%r)"},
    {"batch_norm(im, y, y)", "f32[1]",
     "[batch_norm] operand weight must be [3] (the channels): x is f32[1,3,8,8], weight is f32[4], "
     "bias is f32[4] (%r)"},
    {"group_norm(im, groups=2)", "f32[1]",
     "[group_norm] groups=2 does not divide the 3 channels (NCHW): x is f32[1,3,8,8] (%r)"},
    {"softmax(x, axis=2)", "f32[2,3]",
     "[softmax] axis 2 is outside a rank of 2: x is f32[2,3] (%r)"},
    {"cross_entropy(x, x)", "f32[]",
     "[cross_entropy] operand targets must be i64 or i32: logits is f32[2,3], targets is f32[2,3] "
     "(%r)"},
    {"cross_entropy(x, i)", "f32[]",
     "[cross_entropy] operand targets must be [2] (the logits without the classes): logits is "
     "f32[2,3], targets is i64[4] (%r)"},
    {"cross_entropy(x, i, reduction=\"avg\")", "f32[]",
     "[cross_entropy] reduction cannot be \"avg\" (%r). It is mean, sum or none"},
    {"mse_loss(x, y)", "f32[]",
     "[mse_loss] operand target must be [2,3] (the prediction's): pred is f32[2,3], target is "
     "f32[4] (%r)"},
    {"dropout(x, i)", "f32[2,3]",
     "[dropout] operand key must be [2] (seed and step): x is f32[2,3], key is i64[4] (%r)"},
    {"dropout(x, key, p=1.5)", "f32[2,3]", "[dropout] p=1.5 must be between 0 and 1 (%r)"},
    {"uniform(i, shape=[2])", "f32[2]",
     "[uniform] operand key must be [2] (seed and step): key is i64[4] (%r)"},
    {"wkv(x, x, y, y)", "f32[2,3]",
     "[wkv] operand k must have rank 3: k is f32[2,3], v is f32[2,3], w is f32[4], u is f32[4] "
     "(%r)"},
    {"sgd_update(x, y, x)", "f32[2,3]",
     "[sgd_update] operand g must be [2,3] (w's): w is f32[2,3], g is f32[4], lr is f32[2,3] (%r)"},
    {"adam_update(x, x, x, x, x, x)", "f32[2,3]",
     "[adam_update] operand lr must be [] (a scalar): w is f32[2,3], g is f32[2,3], lr is "
     "f32[2,3], m is f32[2,3], v is f32[2,3], step is f32[2,3] (%r)"},
    {"cast(x, dtype=3)", "f32[2,3]", "[cast] attribute dtype cannot be 3 (%r)"},
};

class OpError : public testing::TestWithParam<Case> {};

TEST_P(OpError, SaysWhatTheValuesWhereAndAHint) {
  const std::string text = str(
      "graph g(x: f32[2,3], y: f32[4], h: f16[2,3], i: i64[4], e: f32[0,3], w: f32[5,3], "
      "im: f32[1,3,8,8], k: f32[4,2,3,3], k3: f32[4,3,3,3], big: f32[4,3,9,9], key: i64[2]) {\n",
      "  %r = ", GetParam().call, " : ", GetParam().type, "\n}");
  const ir::Graph graph = ir::parse_graph(text);
  EXPECT_EQ(test::message_of([&] { verify_types(graph); }), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(Ops, OpError, testing::ValuesIn(kCases));

}  // namespace
}  // namespace plait
