// Dtypes, layouts, placements, tuples.
#include "io/oneflow/words.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/text.h"
#include "io/import.h"

namespace plait::io::oneflow {
namespace {

constexpr std::size_t kMaxRank = 64;     // axes of a tensor
constexpr std::size_t kMaxRanks = 4096;  // processes

struct DTypeWords {
  DType dtype;
  std::string_view proto, python;
};
constexpr std::array<DTypeWords, 10> kDTypes{{{DType::f64, "kDouble", "float64"},
                                              {DType::f32, "kFloat", "float32"},
                                              {DType::f16, "kFloat16", "float16"},
                                              {DType::bf16, "kBFloat16", "bfloat16"},
                                              {DType::i64, "kInt64", "int64"},
                                              {DType::i32, "kInt32", "int32"},
                                              {DType::i16, "kInt16", "int16"},
                                              {DType::i8, "kInt8", "int8"},
                                              {DType::u8, "kUInt8", "uint8"},
                                              {DType::boolean, "kBool", "bool"}}};

const DTypeWords& words_of(DType dtype) {
  for (const DTypeWords& w : kDTypes) {
    if (w.dtype == dtype) return w;
  }
  throw Bug("unknown dtype");
}

std::vector<int> read_rank_list(Cursor& in) {
  std::vector<int> ranks;
  if (in.take("]")) return ranks;
  do {
    const std::int64_t rank = in.integer("a rank");
    if (rank > 1'000'000) in.expected("a rank of at most 1000000");
    if (ranks.size() == kMaxRanks) in.expected("at most 4096 ranks");
    ranks.push_back(static_cast<int>(rank));
  } while (in.take(", "));
  in.expect("]");
  return ranks;
}

}  // namespace

void check_name(const Lines& lines, std::string_view name, std::string_view what) {
  constexpr std::size_t kMaxName = 512;
  if (name.empty()) lines.fail(what, " has no name");
  if (name.size() <= kMaxName) return;
  lines.fail(what, " has a name of ", name.size(), " bytes, at most ", kMaxName,
             " are taken; it begins with ", glimpse(name));
}

std::string glimpse(std::string_view text) {
  std::string out;
  for (char c : text.substr(0, 24)) out += c >= ' ' && c < 127 ? c : '.';
  return quoted(out);
}

bool Cursor::take(std::string_view word) {
  if (!rest().starts_with(word)) return false;
  pos += word.size();
  return true;
}

void Cursor::expect(std::string_view word) {
  if (!take(word)) expected(quoted(word));
}

void Cursor::expected(std::string_view what) const {
  lines.fail(subject, ": expected ", what, ", found ",
             at_end() ? std::string("the end of the line") : glimpse(rest()));
}

std::string_view Cursor::until(std::string_view stop) {
  const std::size_t end = text.find(stop, pos);
  if (end == std::string_view::npos) expected(quoted(stop));
  const std::string_view found = text.substr(pos, end - pos);
  pos = end + stop.size();
  return found;
}

std::int64_t Cursor::integer(std::string_view what, std::int64_t least) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(rest().data(), rest().data() + rest().size(), value);
  if (error != std::errc() || value < least) expected(what);
  pos += static_cast<std::size_t>(end - rest().data());
  return value;
}

double Cursor::real(std::string_view what) {
  double value = 0;
  const auto [end, error] = std::from_chars(rest().data(), rest().data() + rest().size(), value);
  if (error != std::errc() || !std::isfinite(value)) expected(what);
  pos += static_cast<std::size_t>(end - rest().data());
  return value;
}

std::optional<std::int64_t> integer_of(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

std::optional<double> real_of(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

std::optional<DType> dtype_of_proto(std::string_view name) {
  for (const DTypeWords& w : kDTypes) {
    if (w.proto == name) return w.dtype;
  }
  return {};
}

std::string_view proto_name(DType dtype) { return words_of(dtype).proto; }

std::optional<DType> dtype_of_python(std::string_view name) {
  for (const DTypeWords& w : kDTypes) {
    if (w.python == name) return w.dtype;
  }
  return {};
}

std::string_view python_name(DType dtype) { return words_of(dtype).python; }

std::optional<ir::Layout> layout_of(std::string_view text) {
  if (text == "B") return ir::Layout{};
  if (text == "P") return ir::Layout{ir::Layout::kPartial, 0};
  if (!text.starts_with("S(") || !text.ends_with(")")) return {};
  const auto axis = integer_of(text.substr(2, text.size() - 3));
  if (!axis || *axis < 0 || *axis >= static_cast<std::int64_t>(kMaxRank)) return {};
  return ir::Layout{ir::Layout::kSplit, static_cast<int>(*axis)};
}

std::string layout_text(const ir::Layout& layout) {
  if (layout.kind == ir::Layout::kSplit) return str("S(", layout.axis, ")");
  return layout.kind == ir::Layout::kPartial ? "P" : "B";
}

Layouts read_short_layouts(Cursor& in) {
  Layouts layouts;
  do {
    const std::size_t size = in.rest().starts_with("S(") ? in.rest().find(')') + 1 : 1;
    const auto layout = layout_of(in.rest().substr(0, size));
    if (!layout || layouts.size() == kMaxRank) in.expected("a layout: B, P or S(axis)");
    layouts.push_back(*layout);
    in.pos += size;
  } while (in.take(", "));
  in.expect(")");
  return layouts;
}

Layouts read_long_layouts(Cursor& in) {
  Layouts layouts;
  while (!in.take(")")) {
    if (!layouts.empty()) in.expect(" ");
    in.expect("oneflow.sbp.");
    if (in.take("broadcast")) {
      layouts.push_back({});
    } else if (in.take("partial_sum")) {
      layouts.push_back({ir::Layout::kPartial, 0});
    } else {
      in.expect("split(");
      if (!in.take("dim=")) in.take("axis=");
      const std::int64_t axis = in.integer("an axis");
      if (axis >= static_cast<std::int64_t>(kMaxRank)) in.expected("an axis that exists");
      in.expect(")");
      layouts.push_back({ir::Layout::kSplit, static_cast<int>(axis)});
    }
    if (layouts.size() == kMaxRank) in.expected("fewer layouts");
    if (!in.take(",")) {
      in.expect(")");
      break;
    }
  }
  return layouts;
}

Sizes read_sizes(Cursor& in) {
  Sizes sizes;
  while (!in.take(")")) {
    sizes.push_back(in.integer("a size"));
    if (sizes.size() > kMaxRank) in.expected("at most 64 sizes");
    if (in.take(")")) break;
    in.expect(",");
    if (!in.rest().starts_with(")")) in.expect(" ");
  }
  const std::string why = why_bad_sizes(sizes);
  if (!why.empty()) in.lines.fail(in.subject, ": ", why);
  return sizes;
}

Placement read_placement(Cursor& in) {
  Placement out;
  in.expect("oneflow.placement(type=\"");
  out.device = std::string(in.until("\""));
  if (out.device.empty()) in.expected("a device type");
  in.expect(", ranks=[");
  if (in.take("[")) {
    std::size_t width = 0;
    std::int64_t rows = 0;
    do {
      if (rows++ > 0) in.expect("[");
      const std::vector<int> row = read_rank_list(in);
      if (width == 0) width = row.size();
      if (row.empty() || row.size() != width) in.expected("rows of equal length");
      if (out.ranks.size() + row.size() > kMaxRanks) in.expected("at most 4096 ranks");
      out.ranks.insert(out.ranks.end(), row.begin(), row.end());
    } while (in.take(", "));
    in.expect("]");
    out.mesh = {rows, static_cast<std::int64_t>(width)};
  } else {
    out.ranks = read_rank_list(in);
    if (out.ranks.empty()) in.expected("a rank");
    out.mesh = {static_cast<std::int64_t>(out.ranks.size())};
  }
  in.expect(")");
  std::vector<int> sorted = out.ranks;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
    in.lines.fail(in.subject, ": a rank is listed twice in its placement");
  }
  return out;
}

void check_layouts(const Cursor& in, const Blob& blob, const Placement& placement) {
  if (blob.layouts.size() != placement.mesh.size()) {
    in.lines.fail(in.subject, ": ", blob.layouts.size(), " layouts for a placement of ",
                  placement.mesh.size(), " axes");
  }
  for (const ir::Layout& layout : blob.layouts) {
    if (layout.kind != ir::Layout::kSplit) continue;
    if (layout.axis < static_cast<int>(blob.shape.size())) continue;
    in.lines.fail(in.subject, ": ", layout_text(layout), " splits an axis that ",
                  shape_text(blob.shape), " does not have");
  }
}

}  // namespace plait::io::oneflow
