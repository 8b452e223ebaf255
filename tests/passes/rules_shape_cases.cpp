// Cases of the rules that are about shapes: renaming, cutting and joining elements.
#include "rule_case.h"

namespace plait::test {
namespace {

constexpr RuleCase kCases[] = {
    {"reshape_same", "x: f32[2,3]", "%a = reshape(x, shape=[2,-1]) : f32[2,3] return %a",
     "return a = x"},
    {"reshape_same", "x: f32[2,3]", "%a = squeeze(x) : f32[2,3] return %a", "return a = x"},
    {"reshape_same", "x: f32[2,3]", "%a = unsqueeze(x) : f32[2,3] return %a", "return a = x"},
    {"reshape_reshape", "x: f32[2,3]",
     "%a = reshape(x, shape=[6]) : f32[6] %b = reshape(%a, shape=[3,-1]) : f32[3,2] return %b",
     "%b = reshape(x, shape=[3,2]) : f32[3,2] return %b"},
    {"reshape_reshape", "x: f32[2,3]",
     "%a = unsqueeze(x, axes=[1]) : f32[2,1,3] %b = squeeze(%a) : f32[2,3] return %b",
     "return b = x"},
    {"transpose_identity", "x: f32[2,3]", "%a = transpose(x, order=[0,-1]) : f32[2,3] return %a",
     "return a = x"},
    {"transpose_transpose", "x: f32[2,3,4]",
     "%a = transpose(x, order=[1,2,0]) : f32[3,4,2] "
     "%b = transpose(%a, order=[1,0,2]) : f32[4,3,2] return %b",
     "%b = transpose(x, order=[2,1,0]) : f32[4,3,2] return %b"},
    {"transpose_transpose", "x: f32[2,3]",
     "%a = transpose(x, order=[1,0]) : f32[3,2] "
     "%b = transpose(%a, order=[1,0]) : f32[2,3] return %b",
     "return b = x"},
    {"transpose_ones", "x: f32[1,2,3]", "%a = transpose(x, order=[1,0,2]) : f32[2,1,3] return %a",
     "%a = reshape(x, shape=[2,1,3]) : f32[2,1,3] return %a"},
    {"", "x: f32[1,2,3]", "%a = transpose(x, order=[2,0,1]) : f32[3,1,2] return %a", ""},
    {"broadcast_same", "x: f32[2,3]", "%a = broadcast_to(x, shape=[2,3]) : f32[2,3] return %a",
     "return a = x"},
    {"broadcast_broadcast", "x: f32[3]",
     "%a = broadcast_to(x, shape=[2,3]) : f32[2,3] "
     "%b = broadcast_to(%a, shape=[4,2,3]) : f32[4,2,3] return %b",
     "%b = broadcast_to(x, shape=[4,2,3]) : f32[4,2,3] return %b"},
    {"broadcast_leading", "x: f32[3]",
     "%a = unsqueeze(x, axes=[0]) : f32[1,3] "
     "%b = broadcast_to(%a, shape=[2,3]) : f32[2,3] return %b",
     "%b = broadcast_to(x, shape=[2,3]) : f32[2,3] return %b"},
    {"", "x: f32[3]",
     "%a = unsqueeze(x, axes=[1]) : f32[3,1] "
     "%b = broadcast_to(%a, shape=[3,3]) : f32[3,3] return %b",
     ""},
    {"broadcast_operand", "x: f32[3], y: f32[2,3]",
     "%a = broadcast_to(x, shape=[2,3]) : f32[2,3] %b = sub(y, %a) : f32[2,3] return %b",
     "%b = sub(y, x) : f32[2,3] return %b"},
    // The other operand has to keep the shape.
    {"broadcast_operand", "x: f32[3], y: f32[2,1]",
     "%a = broadcast_to(x, shape=[4,2,3]) : f32[4,2,3] "
     "%b = broadcast_to(y, shape=[4,2,3]) : f32[4,2,3] %c = sub(%a, %b) : f32[4,2,3] return %c",
     "%b = broadcast_to(y, shape=[4,2,3]) : f32[4,2,3] %c = sub(x, %b) : f32[4,2,3] return %c"},
    {"", "x: f32[3]",
     "%a = broadcast_to(x, shape=[2,3]) : f32[2,3] %b = exp(%a) : f32[2,3] return %b", ""},
    {"move_scalar", "x: f32[]",
     "%a = broadcast_to(x, shape=[2,3]) : f32[2,3] %b = transpose(%a, order=[1,0]) : f32[3,2] "
     "%c = slice(%b, axes=[0], starts=[1], stops=[3]) : f32[2,2] "
     "%d = flip(%c) : f32[2,2] return %d",
     "%d = broadcast_to(x, shape=[2,2]) : f32[2,2] return %d"},
    {"flip_ones", "x: f32[1,3]", "%a = flip(x, axes=[0]) : f32[1,3] return %a", "return a = x"},
    {"flip_flip", "x: f32[2,3]",
     "%a = flip(x) : f32[2,3] %b = flip(%a, axes=[-1]) : f32[2,3] return %b",
     "%b = flip(x, axes=[0]) : f32[2,3] return %b"},
    {"flip_flip", "x: f32[2,3]",
     "%a = flip(x) : f32[2,3] %b = flip(%a, axes=[1,0]) : f32[2,3] return %b", "return b = x"},

    {"slice_all", "x: f32[4]", "%a = slice(x, axes=[0], starts=[-9], stops=[9]) : f32[4] return %a",
     "return a = x"},
    {"slice_slice", "x: f32[9,2]",
     "%a = slice(x, axes=[0], starts=[2], stops=[-1]) : f32[6,2] "
     "%b = slice(%a, axes=[1,0], starts=[0,1], stops=[1,4]) : f32[3,1] return %b",
     "%b = slice(x, axes=[0,1], starts=[3,0], stops=[6,1]) : f32[3,1] return %b"},
    {"slice_slice", "x: f32[9]",
     "%a = slice(x, axes=[0], starts=[1], stops=[9], steps=[2]) : f32[4] "
     "%b = slice(%a, axes=[0], starts=[1], stops=[4], steps=[2]) : f32[2] return %b",
     "%b = slice(x, axes=[0], starts=[3], stops=[8], steps=[4]) : f32[2] return %b"},
    {"slice_slice", "x: f32[9]",
     "%a = slice(x, axes=[0], starts=[2], stops=[5]) : f32[3] "
     "%b = slice(%a, axes=[0], starts=[3], stops=[1]) : f32[0] return %b",
     "%b = slice(x, axes=[0], starts=[0], stops=[0]) : f32[0] return %b"},
    {"pad_nothing", "x: f32[3]",
     "%a = pad(x, low=[0], high=[0], interior=[0], value=1.0) : f32[3] return %a", "return a = x"},
    {"", "x: f32[3]", "%a = pad(x, low=[1], high=[-1]) : f32[3] return %a", ""},
    {"pad_pad", "x: f32[3]",
     "%a = pad(x, low=[1], high=[0], value=2.0) : f32[4] "
     "%b = pad(%a, low=[1], high=[3], value=2.0) : f32[8] return %b",
     "%b = pad(x, high=[3], low=[2], value=2.0) : f32[8] return %b"},
    {"", "x: f32[3]",
     "%a = pad(x, low=[1], high=[0]) : f32[4] "
     "%b = pad(%a, low=[1], high=[3], value=-0.0) : f32[8] return %b",
     ""},
    {"", "x: f32[3]",
     "%a = pad(x, low=[-1], high=[0]) : f32[2] %b = pad(%a, low=[1], high=[0]) : f32[3] return %b",
     ""},
    {"concat_one", "x: f32[3]", "%a = concat(x) : f32[3] return %a", "return a = x"},
    {"concat_empty", "x: f32[3], e: f32[0], y: f32[1]",
     "%a = concat(x, e, y, axis=0) : f32[4] return %a",
     "%a = concat(x, y, axis=0) : f32[4] return %a"},
    {"concat_split", "x: f32[2,3]",
     "%a, %b = split(x, axis=1, sizes=[1,2]) : f32[2,1], f32[2,2] %c = concat(%a, %b) : f32[2,3] "
     "return %c",
     "return c = x"},
    {"", "x: f32[2,2]",
     "%a, %b = split(x, axis=1, sizes=[1,1]) : f32[2,1], f32[2,1] %c = concat(%b, %a) : f32[2,2] "
     "return %c",
     ""},
    {"split_one", "x: f32[3]", "%a = split(x, sizes=[3]) : f32[3] return %a", "return a = x"},
};

}  // namespace

std::span<const RuleCase> shape_cases() { return kCases; }

}  // namespace plait::test
