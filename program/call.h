// What a step asks of a backend, as data: functions by name, arguments by view, sizes over the
// program's symbols. No graph, no loop, no address.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "ir/graph.h"
#include "loop/contraction.h"
#include "program/ids.h"

namespace plait::program {

enum class Access { kRead, kWrite };

struct Argument {
  ViewId view{};  // none: a product in the step's workspace
  Access access = Access::kRead;
};

/// Bytes of the step's workspace that are a call's own while the step runs.
struct Workspace {
  std::int64_t offset = 0, bytes = 0;
};

/// A generated function and the numbers a call of it needs.
struct Function {
  std::string name;               // made from its text
  std::vector<Dim> parameters{};  // over the program's symbols
  bool many = false;  // NAME_many is there: one launch of several calls, of what behind it too
};

/// A generated loop kernel: rows in parallel, then the second stage of column reductions.
struct LoopCall {
  Function function;
  std::vector<Argument> arguments;
  std::vector<Dim> column_sizes{};  // elements of each column reduction's partial results
  int scratch_rows = 0;             // rows of scratch, each of scratch_row_size elements
  Dim scratch_row_size = 0;
  Dim rows = 1, finish_rows = 0;
  Dim work = 0;          // scalar operations and elements moved, over all rows: how finely to cut
  std::string kernel{};  // id
  // Where a target launches blocks: `rows` are those of the kernel, `finish_rows` those of its
  // second stage, and a block has this many threads and bytes of shared memory.
  int threads = 0, block_bytes = 0;
  int maps = 0;             // operands that TMA brings: the last words say how they lie
  int element_threads = 0;  // of a product without tiles: threads that share an element
  bool table = false;  // a launch has several calls of it; `rows` are the blocks that each fills
  bool interleaved = false;  // what it and the calls beside it write takes turns in memory, by rows
  Workspace workspace{};
};

/// A contraction, or the phases of one, each with what follows it.
struct ProductCall {
  struct Part {
    loop::Contraction contraction;
    Function epilogue{};  // no name: the product is the result
    Dim epilogue_rows = 0;
    std::vector<Argument> arguments{};  // of the epilogue
    LoopCall generated{};           // with a name: runs as this loop kernel instead of the engine
    std::string variant{};          // of the engine, in the backend's own words
    bool epilogue_along_m = false;  // the epilogue's rows are n and its inner index is m
    Workspace workspace{};
    Workspace packed{};  // of the program's packed weights, where b is constant
  };
  ViewId a{}, b{}, c{};     // c is none with an epilogue
  bool b_constant = false;  // not changed by the program: packed once
  std::vector<Part> parts;
};

/// A node that the backend has written out.
struct HandCall {
  std::string op;
  ir::Attrs attrs;
  std::vector<ir::Type> inputs, outputs;
  std::vector<ViewId> input_views;   // none: left out
  std::vector<ViewId> output_views;  // none: nobody reads it
  Workspace workspace{};
  std::string code{};  // its text among the program's; empty: the backend has it compiled
};

using Call = std::variant<LoopCall, ProductCall, HandCall>;

/// visit(view, access) of every argument; `view` may be changed where the call may.
template <class C, class Visit>
void each_argument(C& call, Visit visit) {
  const auto all = [&](auto& arguments) {
    for (auto& argument : arguments) {
      if (argument.view.valid()) visit(argument.view, argument.access);
    }
  };
  const auto one = [&](auto& view, Access access) {
    if (view.valid()) visit(view, access);
  };
  if (auto* loop = std::get_if<LoopCall>(&call)) all(loop->arguments);
  if (auto* hand = std::get_if<HandCall>(&call)) {
    for (auto& view : hand->input_views) one(view, Access::kRead);
    for (auto& view : hand->output_views) one(view, Access::kWrite);
  }
  if (auto* product = std::get_if<ProductCall>(&call)) {
    one(product->a, Access::kRead);
    one(product->b, Access::kRead);
    one(product->c, Access::kWrite);
    for (auto& part : product->parts) {
      all(part.arguments);
      all(part.generated.arguments);
    }
  }
}

}  // namespace plait::program
