// Bindings by kind.
#include "cli/bindings.h"

#include <array>

#include "base/at.h"
#include "base/error.h"
#include "base/text.h"

namespace plait::cli {
namespace {

constexpr std::size_t kMostRows = 12;  // of a kind

struct Bound {
  std::string name;
  int buffer = -1;
};

struct Kind {
  const char* name;
  const char* plural;
  std::vector<Bound> bound{};
};

/// A buffer is bound once: what is fed or kept from run to run says so, the rest is static.
std::array<Kind, 3> bindings_of(const program::Program& p, const std::vector<BufferLife>& lives) {
  std::array<Kind, 3> kinds{{{"feed", "feeds"}, {"state", "states"}, {"static", "static"}}};
  std::vector<bool> taken(p.buffers.size(), false);
  const auto take = [&](Kind& kind, const std::string& name, program::ViewId view) {
    const int buffer = p.view(view).buffer.number();
    kind.bound.push_back({name, buffer});
    if (buffer >= 0) taken[at(buffer)] = true;
  };
  for (const program::Binding& feed : p.feeds) take(kinds[0], feed.name, feed.view);
  for (const program::StateBinding& s : p.states) take(kinds[1], s.state.name, s.view);
  for (std::size_t b = 0; b < p.buffers.size(); ++b) {
    if (taken[b]) continue;
    kinds[2].bound.push_back(
        {lives[b].view ? lives[b].view->name : p.buffers[b].name, static_cast<int>(b)});
  }
  return kinds;
}

std::vector<std::string> cells(const program::Program& p, const BufferLife& life, const Kind& kind,
                               const Bound& bound) {
  const program::Buffer& b = p.buffers[at(bound.buffer)];
  constexpr const char* kRegions[] = {"arena", "states", "constants"};
  const char* const region = kRegions[static_cast<int>(b.region)];
  std::string what = kind.name;
  if (b.region == program::Region::kConstant) what += ", constant";
  if (life.fetched) what += ", fetched";
  return {what, bound.name, life.view ? type_text(life.view->type) : "-",
          str(region, " + ", b.offset), bytes_text(b.bytes)};
}

}  // namespace

std::string bindings_text(const program::Program& p, const std::vector<BufferLife>& lives) {
  Table table{
      {"bound", "value", "type", "memory", "bytes"}, {false, false, false, false, true}, {}};
  std::vector<std::string> totals;
  for (const Kind& kind : bindings_of(p, lives)) {
    std::size_t shown = 0;
    for (const Bound& bound : kind.bound) {
      if (bound.buffer < 0 || ++shown > kMostRows) continue;
      table.rows.push_back(cells(p, lives[at(bound.buffer)], kind, bound));
    }
    if (shown > kMostRows) {
      table.rows.push_back({"...", str(shown - kMostRows, " more"), "", "", ""});
    }
    totals.push_back(str(kind.bound.size(), " ", kind.bound.size() == 1 ? kind.name : kind.plural));
  }
  return str("\nBound to fixed addresses: ", join(totals, ", "), "\n", table.text());
}

Json bindings_json(const program::Program& p, const std::vector<BufferLife>& lives) {
  Json out = Json::object();
  for (const Kind& kind : bindings_of(p, lives)) {
    Json list = Json::array();
    for (const Bound& bound : kind.bound) {
      list.push_back({{"name", bound.name}, {"buffer", bound.buffer}});
    }
    out[kind.plural] = std::move(list);
  }
  return out;
}

}  // namespace plait::cli
