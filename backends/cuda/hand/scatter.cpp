// scatter_add, scatter_add_along and scatter_columns: how their kernels follow each other.
#include <algorithm>
#include <bit>
#include <climits>

#include "backends/cuda/hand/families.h"
#include "backends/cuda/hand/parts.h"
#include "backends/cuda/hand/scatter_text.h"
#include "base/text.h"
#include "ops/index.h"
#include "ops/shape.h"

namespace plait::cuda {
namespace {

constexpr std::int64_t kTile = 2048, kRuns = 32, kPiece = 64;  // as in the text

DType dtype_of(const HandCall& call) { return call.outputs[0].dtype; }

std::string name_of_call(const HandCall& call) {
  return str("hand_scatter_", dtype_of(call), "_", call.inputs[1].dtype);
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

}  // namespace

std::string scatter_text(const HandCall& call) {
  const std::string index =
      str("typedef ", call.inputs[1].dtype == DType::i64 ? "int64_t" : "int32_t", " I;\n");
  return named_text(name_of_call(call), types_text(dtype_of(call), Computed::kWide) + index +
                                            kScatterSort + kScatterAdd);
}

HandPlan plan_scatter_add(const HandCall& call, const DimBindings& sizes) {
  const auto axis = ir::decode<ops::GatherAxis>(call.attrs, call.op).axis;
  const ops::Lines lines = lines_of(call.outputs[0], axis, sizes);
  const std::int64_t updates = element_count(sizes_of(call.inputs[1].shape, sizes));
  want_countable(call, lines.size);
  HandPlan plan;
  add_fill(plan, call, lines.outers * lines.size * lines.inners);
  add_sums(plan, call, {updates, updates, lines.size, 1}, lines);
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
  if (c[0] * c[2] == 0 || rows == 0) {
    const std::int64_t bytes = rows * depth * static_cast<std::int64_t>(size_of(dtype_of(call)));
    add_items(plan, name_of_call(call) + "_fill", ceil_div(bytes, 64),
              {number(std::int64_t{0}), output(call), number(bytes)});
    return plan;
  }
  const Targets t{c[0] * c[2], c[2], depth, 1};
  const std::int64_t keys = add_sort(plan, call, t);
  const std::int64_t begins = add_scratch(plan, (t.places() + 1) * 4);
  const HandWord bits = number(std::int64_t{t.bits()});
  add_items(plan, name_of_call(call) + "_begins", t.places() + 1,
            {scratch(keys), scratch(begins), number(t.updates), number(t.places() + 1), bits});
  add_items(plan, name_of_call(call) + "_columns", c[0] * ceil_div(c[1], 8) * depth,
            {scratch(keys), scratch(begins), input(call, 0), output(call), number(c[0]),
             number(c[1]), number(c[2]), number(depth), bits});
  return plan;
}

}  // namespace plait::cuda
