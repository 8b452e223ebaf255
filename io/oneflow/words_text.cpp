// Printing what words.cpp reads; log lines and their time stamps.
#include <cstdio>

#include "base/text.h"
#include "io/oneflow/words.h"

namespace plait::io::oneflow {
namespace {

/// `02:43:24.093247` -> microseconds since midnight.
std::optional<std::int64_t> clock_of(std::string_view text) {
  if (text.size() != 15 || text[2] != ':' || text[5] != ':' || text[8] != '.') return {};
  const auto hours = integer_of(text.substr(0, 2)), minutes = integer_of(text.substr(3, 2)),
             seconds = integer_of(text.substr(6, 2)), micros = integer_of(text.substr(9));
  if (!hours || !minutes || !seconds || !micros) return {};
  if (*hours < 0 || *hours > 23 || *minutes < 0 || *minutes > 59) return {};
  if (*seconds < 0 || *seconds > 59 || *micros < 0) return {};
  return ((*hours * 60 + *minutes) * 60 + *seconds) * 1'000'000 + *micros;
}

}  // namespace

double seconds_between(const Stamp& start, const Stamp& finish) {
  constexpr std::int64_t kDay = 86'400'000'000;
  std::int64_t micros = finish.microseconds - start.microseconds;
  if (finish.date != start.date) micros += kDay;
  return static_cast<double>(micros) * 1e-6;
}

std::string short_layouts_text(const Layouts& layouts) {
  std::vector<std::string> parts;
  for (const ir::Layout& layout : layouts) parts.push_back(layout_text(layout));
  return "(" + join(parts, ", ") + ")";
}

std::string long_layouts_text(const Layouts& layouts) {
  std::string out = "(";
  for (const ir::Layout& layout : layouts) {
    if (out.size() > 1) out += " ";
    out += "oneflow.sbp.";
    if (layout.kind == ir::Layout::kSplit) {
      out += str("split(dim=", layout.axis, "),");
    } else {
      out += layout.kind == ir::Layout::kPartial ? "partial_sum," : "broadcast,";
    }
  }
  return out + ")";
}

std::string sizes_text(const Sizes& sizes, bool python) {
  std::vector<std::string> parts;
  for (std::int64_t size : sizes) parts.push_back(str(size));
  return "(" + join(parts, ", ") + (python && sizes.size() == 1 ? ",)" : ")");
}

std::string placement_text(const Placement& placement) {
  const auto list = [&](std::size_t begin, std::size_t end) {
    std::vector<std::string> parts;
    for (std::size_t i = begin; i < end; ++i) parts.push_back(str(placement.ranks[i]));
    return "[" + join(parts, ", ") + "]";
  };
  std::string ranks;
  if (placement.mesh.size() == 2) {
    const auto width = static_cast<std::size_t>(placement.mesh[1]);
    std::vector<std::string> rows;
    for (std::size_t i = 0; i < placement.ranks.size(); i += width) {
      rows.push_back(list(i, i + width));
    }
    ranks = "[" + join(rows, ", ") + "]";
  } else {
    ranks = list(0, placement.ranks.size());
  }
  return str("oneflow.placement(type=\"", placement.device, "\", ranks=", ranks, ")");
}

std::optional<LogLine> log_line_of(std::string_view line) {
  constexpr std::size_t kClock = 10, kClockSize = 15;
  if (line.size() < 30 || std::string_view("IWEF").find(line[0]) == std::string_view::npos ||
      line[9] != ' ' || line[kClock + kClockSize] != ' ') {
    return {};
  }
  const auto date = integer_of(line.substr(1, 8));
  const auto clock = clock_of(line.substr(kClock, kClockSize));
  const std::size_t end = line.find("] ");
  if (!date || *date < 0 || !clock || end == std::string_view::npos) return {};
  const std::string_view where = line.substr(kClock + kClockSize, end - kClock - kClockSize);
  const std::size_t blank = where.rfind(' ');
  return LogLine{line[0], {*date, *clock}, where.substr(blank + 1), line.substr(end + 2)};
}

std::string stamp_text(const Stamp& stamp) {
  const std::int64_t seconds = stamp.microseconds / 1'000'000;
  char text[64];
  std::snprintf(text, sizeof text, "I%08lld %02lld:%02lld:%02lld.%06lld",
                static_cast<long long>(stamp.date), static_cast<long long>(seconds / 3600),
                static_cast<long long>(seconds / 60 % 60), static_cast<long long>(seconds % 60),
                static_cast<long long>(stamp.microseconds % 1'000'000));
  return text;
}

}  // namespace plait::io::oneflow
