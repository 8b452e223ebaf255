// A program that no graph gave, small enough to be damaged in every place.
#pragma once

#include "plan/program.h"

namespace plait::plan {

/// A state, a feed, a constant; a loop, a product, a hand kernel.
inline Program small_program() {
  Program p;
  p.symbols = {{"n", Dim::symbol("n", 1, 4)}};
  const Dim n = p.symbols["n"];
  p.graph_name = "g";
  p.arena_bytes = 128;
  p.states_bytes = 128;
  p.shared_bytes = 64;
  p.scratch_bytes = 64;
  p.buffers = {{"s", Space::kState, 64, 0, 0, 3},
               {"c", Space::kConstant, 64, 64, 0, 3},
               {"x", Space::kArena, 64, 0, 0, 2},
               {"y", Space::kArena, 64, 64, 1, 2}};
  const ir::Type type{DType::f32, {n, 4}};
  p.values = {{"s", type, {0, 1}, 0},
              {"c", {DType::f32, {2}}, {0}, 1},
              {"x", type, {1, 0}, 2},
              {"y", type, {0, 1}, 3}};
  p.states = {{{"s", type, ir::Role::kParam, {}}, 0}};
  p.rounded = {{"s", 3}};
  p.constants = {{1, Array::of(DType::f32, {2}, {1, 2})}};
  p.feeds = {{"x", 2}};
  p.fetches = {{"y", 3}};
  p.steps.resize(3);
  p.steps[0].name = "loop";
  p.steps[0].calls = {LoopCall{{"k_1", {n}}, {0, 2}, {}, 0, 0, n, 0, n * 4}};
  p.steps[0].reads = {0};
  p.steps[0].writes = {2};
  p.steps[1].name = "product";
  ProductCall product{.a = 2, .b = 0, .c = 3, .b_constant = true, .parts = {}};
  product.parts.resize(1);
  product.parts[0].contraction.m = {{n, 4, 0, 4}};
  p.steps[1].calls = {product};
  p.steps[1].shared_bytes = 64;
  p.steps[2].name = "hand";
  p.steps[2].calls = {HandCall{"cumsum", {}, {type}, {type}, {3}, {2}}};
  p.texts = {"void k_1(void) {}\n"};
  p.log = {{"place", "%y", "placed", "here"}};
  return p;
}

}  // namespace plait::plan
