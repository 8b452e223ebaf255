// Contractions: matrix products, linear layers, and einsum on top of them.
#pragma once

#include "ops/builder.h"
#include "ops/infer.h"

namespace plait::ops {

struct Matmul {
  bool transpose_a = false, transpose_b = false;  // the last two axes exchanged
  bool wide = false;  // of halves: the sums stay f32, as products that are added up want them
  bool operator==(const Matmul&) const = default;
  static constexpr auto fields() {
    return std::tuple{ir::Field{"transpose_a", &Matmul::transpose_a},
                      ir::Field{"transpose_b", &Matmul::transpose_b},
                      ir::Field{"wide", &Matmul::wide}};
  }
};
struct Einsum {
  std::string equation;  // `bij,bjk->bik`; without the arrow: every index that stands once, sorted
  bool operator==(const Einsum&) const = default;
  static constexpr auto fields() { return std::tuple{ir::Field{"equation", &Einsum::equation}}; }
};

std::vector<ir::Type> infer_matmul(const NodeView& v);
std::vector<ir::Type> infer_linear(const NodeView& v);
std::vector<ir::Type> infer_einsum(const NodeView& v);
loop::Nest nest_matmul(const NodeView& v);
loop::Nest nest_linear(const NodeView& v);
std::vector<Tensor> decompose_einsum(DecomposeCtx& c);
Grads grad_matmul(GradCtx& g);
Grads grad_linear(GradCtx& g);
Grads grad_einsum(GradCtx& g);

// Entries are laid out by hand.
// clang-format off
inline constexpr Op matmul{
    .name = "matmul", .inputs = {"a", "b"}, .dtypes = kNumbers, .attrs = &ir::kSchema<Matmul>,
    .infer = infer_matmul, .nest = nest_matmul, .grads = {{"a,b", grad_matmul}},
    .colour = Colour::kWhite,
    .samples = "f32[3,5], f32[5,4]; f32[1,7], f32[7,1]; f32[5,3], f32[5,4] | transpose_a=true; "
               "f32[3,5], f32[4,5] | transpose_b=true; "
               "f32[5,3], f32[4,5] | transpose_a=true, transpose_b=true; "
               "f32[2,3,4], f32[2,4,5]; f32[2,3,4], f32[4,5]; f32[3,4], f32[2,4,5]; "
               "f32[2,4,3], f32[4,2] | transpose_a=true; f32[2,3,4], f32[5,4] | transpose_b=true; "
               "f32[2,1,3,4], f32[3,4,2]; "
               "f32[2,1,4,3], f32[3,2,4] | transpose_a=true, transpose_b=true; "
               "f32[0,3], f32[3,2]; f32[2,0], f32[0,3]; i64[2,3], i64[3,2]; "
               "f32[5,3], f32[5,4] | transpose_a=true, wide=true; "
               "f32[2,3,4], f32[5,4] | transpose_b=true, wide=true",
    .doc = "matrices in the last two axes; the axes before them broadcast. wide: of halves, in f32"};

inline constexpr Op linear{
    .name = "linear", .inputs = {"x", "w", "bias?"}, .dtypes = kFloats,
    .infer = infer_linear, .nest = nest_linear, .grads = {{"w,x", grad_linear}},
    .colour = Colour::kWhite,
    .samples = "f32[3,5], f32[4,5], f32[4]; f32[2,3,5], f32[4,5]; f32[2,2,3,4], f32[2,4], f32[2]; "
               "f32[5], f32[3,5], f32[3]; f32[1,1], f32[1,1]; f32[0,3], f32[2,3], f32[2]; "
               "f32[2,0], f32[3,0], f32[3]",
    .doc = "x times w transposed, plus bias: x [..., in], w [out, in], bias [out]"};

inline constexpr Op einsum{
    .name = "einsum", .inputs = {"xs..."}, .dtypes = kNumbers, .attrs = &ir::kSchema<Einsum>,
    .infer = infer_einsum, .decompose = decompose_einsum, .grads = {{"xs", grad_einsum}},
    .colour = Colour::kWhite,
    .samples = "f32[2,3,4], f32[2,4,5] | equation=\"bij,bjk->bik\"; "
               "f32[2,3,2,4], f32[2,5,2,4] | equation=\"bqhd,bkhd->bhqk\"; "
               "f32[2,3], f32[3,4], f32[4,2] | equation=\"ij,jk,kl\"; "
               "f32[2,3], f32[2,3] | equation=\"ij,ij->\"; f32[2], f32[3] | equation=\"i,j->ij\"; "
               "f32[2,3], f32[2,4] | equation=\"ab,ac->cba\"; f32[3,2] | equation=\"ij -> ji\"; "
               "f32[2,3,4] | equation=\"abc->b\"; f32[3,3] | equation=\"ii\"; "
               "f32[3,2,3] | equation=\"iji->ij\"; f32[2,2,2] | equation=\"iii->i\"; "
               "f32[3,3], f32[3,2] | equation=\"ii,ij->j\"; "
               "f32[3,4], f32[3] | equation=\"ij,i->i\"; "
               "f32[2,3,4], f32[4,3,2] | equation=\"abc,cbd->ad\"; "
               "f32[3], f32[], f32[3] | equation=\"i,,i->i\"; "
               "f32[2,0], f32[0,3] | equation=\"ij,jk->ik\"; "
               "f32[2,3] | equation=\"ij->ij\"; i64[2,3], i64[3] | equation=\"ij,j->i\"",
    .doc = "sum of products by named indices, two operands at a time from the left"};
// clang-format on

inline constexpr const Op* kContract[] = {&matmul, &linear, &einsum};

}  // namespace plait::ops
