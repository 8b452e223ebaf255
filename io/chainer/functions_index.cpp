// Functions that pick elements: by an index of Python, or by rows of a table.
#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "io/chainer/functions.h"
#include "ops/index.h"
#include "ops/shape.h"

namespace plait::io::chainer {
namespace {

using Tensors = std::vector<Tensor>;

/// One entry of an index: a position, a range, a new axis, or all axes that are left.
struct Cut {
  enum Kind { kPosition, kRange, kNewAxis, kRest } kind = kRange;
  std::optional<std::int64_t> start, stop;
  std::int64_t step = 1;
};

std::optional<std::int64_t> bound(const Value& v) {
  if (std::holds_alternative<std::monostate>(v.data)) return {};
  const auto n = whole(v);
  if (!n) fail("a slice from or to ", json_text(v).substr(0, 40));
  return n;
}

Cut range(const Value& start, const Value& stop, const Value& step) {
  return {Cut::kRange, bound(start), bound(stop), bound(step).value_or(1)};
}

Value bound_in(std::string_view text) {
  const std::string_view word = trim(text);
  if (word == "None") return {};
  std::int64_t n = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), n);
  if (error != std::errc() || end != word.data() + word.size()) fail("a slice with ", word);
  return {n};
}

/// `slice(0, 3, None)`, as Python prints it.
Cut range_in(std::string_view text) {
  if (text == "Ellipsis" || text == "...") return {Cut::kRest, {}, {}, 1};
  if (text == "None" || text == "newaxis") return {Cut::kNewAxis, {}, {}, 1};
  constexpr std::string_view kOpen = "slice(";
  if (!text.starts_with(kOpen) || !text.ends_with(')') || text.size() > 80) {
    fail("an index ", quoted(text.substr(0, 40)));
  }
  const std::vector<std::string> parts =
      split(text.substr(kOpen.size(), text.size() - kOpen.size() - 1), ',');
  if (parts.size() != 3) fail("an index ", quoted(text));
  return range(bound_in(parts[0]), bound_in(parts[1]), bound_in(parts[2]));
}

Cut cut_of(const Value& v) {
  if (const auto n = whole(v)) return {Cut::kPosition, n, {}, 1};
  if (std::holds_alternative<std::monostate>(v.data)) return {Cut::kNewAxis, {}, {}, 1};
  if (const auto* text = std::get_if<std::string>(&v.data)) return range_in(*text);
  if (const auto* list = std::get_if<std::vector<Value>>(&v.data)) {
    const bool open = std::any_of(list->begin(), list->end(), [](const Value& item) {
      return std::holds_alternative<std::monostate>(item.data);
    });
    if (list->size() == 3 && open) return range((*list)[0], (*list)[1], (*list)[2]);
    // Three numbers are as well positions that are picked one by one.
    fail("picks positions ", json_text(v).substr(0, 40), " of an axis");
  }
  if (const auto* m = std::get_if<Members>(&v.data)) {
    const auto at = [&](std::string_view name) {
      const Value* value = find(*m, name);
      return value ? *value : Value{};
    };
    return range(at("start"), at("stop"), at("step"));
  }
  fail("an index ", json_text(v).substr(0, 40));
}

/// The cuts, the rest spelled out: one per axis of x, and the new axes.
std::vector<Cut> cuts_of(Call& c, int rank) {
  const Value* slices = find(c.op.attributes, "slices");
  if (!slices) fail("has no attribute slices");
  std::vector<Cut> given;
  if (const auto* list = std::get_if<std::vector<Value>>(&slices->data)) {
    for (const Value& v : *list) given.push_back(cut_of(v));
  } else {
    given.push_back(cut_of(*slices));
  }
  const auto takes_axis = [](const Cut& cut) {
    return cut.kind == Cut::kPosition || cut.kind == Cut::kRange;
  };
  auto left = rank - std::count_if(given.begin(), given.end(), takes_axis);
  if (left < 0) fail("has more indices than axes");
  std::vector<Cut> cuts;
  for (const Cut& cut : given) {
    if (cut.kind != Cut::kRest) {
      cuts.push_back(cut);
      continue;
    }
    for (; left > 0; --left) cuts.push_back({});
  }
  for (; left > 0; --left) cuts.push_back({});
  return cuts;
}

Tensors get_item(Call& c) {
  const Tensor x = c.in(0);
  ops::Slice slice;
  std::vector<std::int64_t> dropped, added;
  std::int64_t axis = 0, result = 0;
  for (const Cut& cut : cuts_of(c, x.rank())) {
    if (cut.kind == Cut::kNewAxis) {
      added.push_back(result++);
      continue;
    }
    if (cut.step < 1) fail("a slice with step ", cut.step);
    const bool position = cut.kind == Cut::kPosition;
    if (position || cut.start || cut.stop || cut.step != 1) {
      const Dim length = x.dim(static_cast<int>(axis));
      const std::int64_t start = cut.start.value_or(0);
      slice.axes.push_back(axis);
      slice.starts.push_back(start);
      slice.stops.push_back(position   ? (start == -1 ? length : Dim(start + 1))
                            : cut.stop ? Dim(*cut.stop)
                                       : length);
      slice.steps.push_back(cut.step);
    }
    if (position) dropped.push_back(axis);
    if (!position) ++result;
    ++axis;
  }
  Tensor y = slice.axes.empty() ? ops::copy(x) : ops::slice(x, slice);
  if (!dropped.empty()) y = y.squeeze(dropped);
  return {added.empty() ? y : y.unsqueeze(added)};
}

// ids, weights [rows, width]
Tensors embed_id(Call& c) {
  if (c.has("ignore_label")) fail("ignores a label");
  Tensor ids;
  if (c.known(0)) {
    ids = c.in(0);
  } else {
    const Shape shape = c.guess(0).value_or(Shape{c.bytes(0) / 4});
    const bool wide = c.number(element_count(shape)) * 8 == c.bytes(0);
    ids = c.as(0, shape, wide ? DType::i64 : DType::i32);
  }
  const std::int64_t count = c.number(ids.type().elements());
  if (count < 1 || c.out_elements() % count != 0) fail(count, " ids make this many elements");
  const std::int64_t width = c.out_elements() / count;
  if (width < 1 || c.elements(1) % width != 0) fail("rows of ", width);
  const Sizes told = c.list("_w_shape");
  if (!told.empty() && told != Sizes{c.elements(1) / width, width}) {
    fail("rows of ", width, " are not those of weights ", shape_text(told));
  }
  return {ops::embedding(c.as(1, {c.elements(1) / width, width}), ids)};
}

constexpr Function kIndexFunctions[] = {
    {"GetItem", get_item},
    {"EmbedIDFunction", embed_id},
};

}  // namespace

std::span<const Function> index_functions() { return kIndexFunctions; }

}  // namespace plait::io::chainer
