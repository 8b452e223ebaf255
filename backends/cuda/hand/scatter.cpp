// scatter_add, scatter_add_along and scatter_columns: how their kernels follow each other.
#include <algorithm>
#include <bit>
#include <climits>

#include "backends/cuda/hand/families.h"
#include "backends/cuda/hand/parts.h"
#include "backends/cuda/hand/sources.h"
#include "base/text.h"
#include "ops/index.h"
#include "ops/shape.h"

namespace plait::cuda {
namespace {

// As in the text.
constexpr std::int64_t kTile = 2048, kRuns = 32, kPiece = 64;
constexpr std::int64_t kListed = 8192, kRun = 32, kRows = 4;

constexpr std::int64_t kBlocks = 264;             // that list, so that all of the device is busy
constexpr std::int64_t kMostRange = 1 << 18;      // places of one
constexpr std::int64_t kMostStaged = 128 * 1024;  // bytes of shared memory

DType dtype_of(const HandCall& call) { return call.outputs[0].dtype; }

std::string name_of_call(const HandCall& call) {
  return str("hand_", call.op, "_", dtype_of(call), "_", call.inputs[1].dtype);
}

/// Rows and updates are counted in 32 bits.
void want_countable(const HandCall& call, std::int64_t count) {
  if (count > INT32_MAX) {
    fail("[", call.op, "] ", count, " rows or updates along the axis are too many");
  }
}

/// Updates by number, each with an index: (outer, which of `count`, inner) to (outer, index,
/// inner).
struct Targets {
  std::int64_t updates, count, size, inners;
  std::int64_t places() const { return updates / (count * inners) * size * inners; }
  int bits() const {
    return std::max(1, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(updates))));
  }
};

/// Sorts the keys of all updates; where they lie in the end. There is at least one.
std::int64_t add_sort(HandPlan& plan, const HandCall& call, const Targets& t) {
  want_countable(call, t.updates);
  check(std::bit_width(static_cast<std::uint64_t>(t.places())) + t.bits() < 64, "[", call.op,
        "] keys of ", t.places(), " places and ", t.updates, " updates");
  const auto width = std::bit_ceil(static_cast<std::uint64_t>(t.updates));
  const std::int64_t tile = std::clamp<std::int64_t>(static_cast<std::int64_t>(width), 64, kTile);
  std::int64_t from = add_scratch(plan, t.updates * 8);
  const std::string name = name_of_call(call);
  plan.launches.push_back(
      {name + "_sort",
       ceil_div(t.updates, tile),
       static_cast<int>(tile / 2),
       0,
       {input(call, 1), scratch(from), bad(), number(t.updates), number(t.count), number(t.size),
        number(t.inners), number(t.places()), number(std::int64_t{t.bits()}), number(tile)}});
  if (t.updates <= tile) return from;
  std::int64_t to = add_scratch(plan, t.updates * 8);
  for (std::int64_t run = tile; run < t.updates; run *= kRuns) {
    add_items(plan, name + "_merge", t.updates,
              {scratch(from), scratch(to), number(t.updates), number(run)});
    std::swap(from, to);
  }
  return from;
}

void add_fill(HandPlan& plan, const HandCall& call, std::int64_t elements) {
  const std::int64_t bytes = elements * static_cast<std::int64_t>(size_of(dtype_of(call)));
  add_items(plan, name_of_call(call) + "_fill", ceil_div(bytes, 64),
            {input(call, 0), output(call), number(bytes)});
}

/// Adds sorted updates [outers, updates, inners] to out [outers, size, inners].
void add_sums(HandPlan& plan, const HandCall& call, const Targets& t, const ops::Lines& lines) {
  if (t.updates == 0 || lines.outers * lines.inners == 0) return;
  const std::int64_t keys = add_sort(plan, call, t);
  const std::string name = name_of_call(call);
  const std::int64_t lanes = lines.outers * lines.inners, pieces = t.updates / kPiece * lanes;
  const std::int64_t sums = add_scratch(plan, pieces * 8);
  const HandWord count = number(t.updates), bits = number(std::int64_t{t.bits()});
  const HandWord outers = number(lines.outers), inners = number(lines.inners);
  const HandWord places = number(t.places());
  add_items(plan, name + "_pieces", pieces,
            {scratch(keys), input(call, 2), scratch(sums), count, bits, outers, inners, places});
  add_items(plan, name + "_add", t.updates * lanes,
            {scratch(keys), input(call, 2), scratch(sums), output(call), count, bits, outers,
             inners, places, number(lines.size)});
}

/// Where lists of updates lie in scratch: see the text.
struct Lists {
  HandWord order, begins;
  std::int64_t stride;
};

/// Lists `count` updates in each of so many groups, by their places, `size` in each.
Lists add_lists(HandPlan& plan, const HandCall& call, std::int64_t groups, std::int64_t count,
                std::int64_t size) {
  const std::int64_t stride = ceil_div(size + 1, 16) * 16, updates = groups * count;
  want_countable(call, std::max(updates, stride));
  const Lists lists{scratch(add_scratch(plan, updates * 4)),
                    scratch(add_scratch(plan, groups * stride * 4)), stride};
  const std::string name = name_of_call(call);
  if (count <= kListed) {
    const std::int64_t ranges =
        std::clamp<std::int64_t>(ceil_div(kBlocks, groups), ceil_div(size, kMostRange),
                                 std::max(ceil_div(size, 16), std::int64_t{1}));
    const std::int64_t range = ceil_div(size, ranges);
    plan.launches.push_back(
        {name + "_lists",
         groups * ceil_div(size, range),
         count <= 1024 ? 256 : 512,
         0,
         {input(call, 1), lists.order, lists.begins, bad(), number(count), number(size),
          number(stride), number(ceil_div(size, range)), number(range)}});
    return lists;
  }
  const Targets t{updates, count, size, 1};
  const std::int64_t keys = add_sort(plan, call, t);
  add_items(
      plan, name + "_begins", std::max(updates, groups * stride),
      {scratch(keys), lists.order, lists.begins, number(updates), number(std::int64_t{t.bits()}),
       number(groups), number(count), number(size), number(stride)});
  return lists;
}

}  // namespace

std::string scatter_text(const HandCall& call) {
  const std::string index =
      str("typedef ", call.inputs[1].dtype == DType::i64 ? "int64_t" : "int32_t", " I;\n");
  return source_text(call, name_of_call(call), types_text(dtype_of(call), Computed::kWide) + index,
                     codegen::hand_scatter());
}

HandPlan plan_scatter_add(const HandCall& call, const DimBindings& sizes) {
  const auto axis = ir::decode<ops::GatherAxis>(call.attrs, call.op).axis;
  const ops::Lines lines = lines_of(call.outputs[0], axis, sizes);
  const std::int64_t updates = element_count(sizes_of(call.inputs[1].shape, sizes));
  const std::int64_t elements = lines.outers * lines.size * lines.inners;
  HandPlan plan;
  if (updates == 0 || elements == 0) {
    add_fill(plan, call, elements);
    return plan;
  }
  const Lists lists = add_lists(plan, call, 1, updates, lines.size);
  const std::int64_t vector = 16 / static_cast<std::int64_t>(size_of(dtype_of(call)));
  const bool wide = lines.inners % vector == 0;
  const std::int64_t parts = lines.inners / (wide ? vector : 1), runs = updates / kRun;
  const HandWord sums = scratch(add_scratch(plan, runs * lines.outers * lines.inners * 8));
  std::vector<HandWord> words{
      lists.order,  lists.begins,    input(call, 2),     sums,          input(call, 1),
      output(call), number(updates), number(lines.size), number(parts), number(lines.outers)};
  const std::string name = name_of_call(call), end = wide ? "_wide" : "";
  add_items(plan, name + "_runs" + end, runs * lines.outers * parts, words);
  words[4] = input(call, 0);
  add_items(plan, name + "_rows" + end, lines.outers * lines.size * parts, words);
  return plan;
}

HandPlan plan_scatter_add_along(const HandCall& call, const DimBindings& sizes) {
  const auto axis = ir::decode<ops::Axis>(call.attrs, call.op).axis;
  const ops::Lines lines = lines_of(call.outputs[0], axis, sizes);
  const std::int64_t count = lines_of(call.inputs[1], axis, sizes).size;  // updates of a line
  const std::int64_t all = lines.outers * lines.inners;
  want_countable(call, std::max(lines.size, count));
  HandPlan plan;
  add_fill(plan, call, all * lines.size);
  if (count == 1) {
    add_items(plan, name_of_call(call) + "_single", all,
              {input(call, 1), input(call, 2), output(call), bad(), number(all), number(lines.size),
               number(lines.inners)});
  } else {
    // Every element is a place: a row of its own.
    add_sums(plan, call, {all * count, count, lines.size, lines.inners}, {1, 0, 1});
  }
  return plan;
}

HandPlan plan_scatter_columns(const HandCall& call, const DimBindings& sizes) {
  const Sizes c = sizes_of(call.inputs[0].shape, sizes);  // [B,T,J]
  const std::int64_t depth = sizes_of(call.outputs[0].shape, sizes)[2];
  const std::int64_t rows = c[0] * c[1];
  HandPlan plan;
  if (c[2] == 0 || rows * depth == 0) {
    const std::int64_t bytes = rows * depth * static_cast<std::int64_t>(size_of(dtype_of(call)));
    add_items(plan, name_of_call(call) + "_fill", ceil_div(bytes, 64),
              {number(std::int64_t{0}), output(call), number(bytes)});
    return plan;
  }
  const Lists lists = add_lists(plan, call, c[0], c[2], depth);
  const std::int64_t bytes = kRows * c[2] * static_cast<std::int64_t>(size_of(dtype_of(call)));
  const bool staged = bytes <= kMostStaged;
  const std::int64_t blocks = ceil_div(c[1], kRows);
  plan.launches.push_back(
      {name_of_call(call) + "_columns",
       c[0] * blocks,
       kThreads,
       staged ? static_cast<int>(bytes) : 0,
       {lists.order, lists.begins, input(call, 0), output(call), number(c[1]), number(c[2]),
        number(depth), number(lists.stride), number(blocks), number(std::int64_t{staged})}});
  return plan;
}

}  // namespace plait::cuda
