// A program that no graph gave, small enough to be damaged in every place.
#pragma once

#include "program/program.h"

namespace plait::program {

inline constexpr ViewId kS{0}, kC{1}, kX{2}, kY{3}, kCopy{4};  // its views and their buffers

/// A state and a copy of it, a feed, a constant; a loop, a product, a hand kernel.
inline Program small_program() {
  Program p;
  p.symbols = {{"n", Dim::symbol("n", 1, 4)}};
  const Dim n = p.symbols["n"];
  p.graph_name = "g";
  p.arena_bytes = 128;
  p.states_bytes = 192;
  p.constants_bytes = 64;
  p.shared_bytes = 64;
  p.persistent_bytes = 64;
  p.scratch_bytes = 128;
  p.buffers = {{"s", Region::kState, 64, 0, 0, 2},
               {"c", Region::kConstant, 64, 0, 0, 2},
               {"x", Region::kArena, 64, 0, 0, 2},
               {"y", Region::kArena, 64, 64, 1, 2},
               {"s.kept", Region::kState, 64, 64, 0, 2}};
  const ir::Type type{DType::f32, {n, 4}};
  p.views = {{"s", type, {0, 1}, BufferId(0)},
             {"c", {DType::f32, {2}}, {0}, BufferId(1)},
             {"x", type, {1, 0}, BufferId(2)},
             {"y", type, {0, 1}, BufferId(3)},
             {"s.kept", {DType::bf16, {n, 4}}, {0, 1}, BufferId(4)}};
  p.states = {{{"s", type, ir::Role::kParam, {}}, kS}};
  p.rounded = {{"s", kCopy}};
  p.constants = {{kC, Array::of(DType::f32, {2}, {1, 2})}};
  p.feeds = {{"x", kX}};
  p.fetches = {{"y", kY}};
  p.steps.resize(3);
  p.steps[0].name = "loop";
  LoopCall loop{{"k_1", {n}}, {{kS}, {kX, Access::kWrite}}, {}, 0, 0, n, 0, n * 4};
  p.steps[0].calls = {loop};
  p.steps[1].name = "product";
  ProductCall product{.a = kX, .b = kS, .c = kY, .b_constant = true, .parts = {}};
  product.parts.resize(1);
  product.parts[0].contraction.m = {{n, 4, 0, 4}};
  product.parts[0].workspace = {0, 64};
  product.parts[0].packed = {0, 64};
  p.steps[1].calls = {product};
  p.steps[1].shared_bytes = 64;
  p.steps[2].name = "hand";
  p.steps[2].calls = {HandCall{"cumsum", {}, {type}, {type}, {kY}, {kX}, {}, "hand_1"}};
  p.texts = {{"k_1", "void k_1(void) {}\n"}, {"hand_1", "void hand_1(void) {}"}};
  p.log = {{"place", "%y", "placed", "here"}};
  return p;
}

}  // namespace plait::program
