// Reading the table off a program.
#include "program/state_table.h"

#include <algorithm>
#include <map>
#include <optional>

#include "base/text.h"

namespace plait::program {
namespace {

const TableEntry* find(const StateTable& table, const std::string& state, bool is_copy,
                       std::optional<DType> dtype) {
  for (const TableEntry& e : table.entries) {
    if (e.is_copy == is_copy && e.state.name == state && (!dtype || e.state.type.dtype == *dtype)) {
      return &e;
    }
  }
  return nullptr;
}

}  // namespace

std::int64_t StateTable::bytes() const {
  return entries.empty() ? 0 : entries.back().offset + entries.back().bytes;
}

const TableEntry* StateTable::find(const std::string& state) const {
  return program::find(*this, state, false, std::nullopt);
}

const TableEntry* StateTable::find_copy(const std::string& state, DType dtype) const {
  return program::find(*this, state, true, dtype);
}

std::vector<ViewId> table_views(const Program& program) {
  std::vector<ViewId> out;
  for (const StateBinding& s : program.states) out.push_back(s.view);
  for (const Binding& copy : program.rounded) out.push_back(copy.view);
  std::stable_sort(out.begin(), out.end(), [&](ViewId a, ViewId b) {
    return program.buffer_of(a).offset < program.buffer_of(b).offset;
  });
  return out;
}

StateTable table_of(const Program& program) {
  std::map<ViewId, const StateBinding*> states;
  std::map<std::string, const StateBinding*> by_name;
  for (const StateBinding& s : program.states) {
    states.emplace(s.view, &s);
    by_name.emplace(s.state.name, &s);
  }
  std::map<ViewId, const StateBinding*> copies;
  for (const Binding& copy : program.rounded) copies.emplace(copy.view, by_name.at(copy.name));
  StateTable out;
  for (const ViewId id : table_views(program)) {
    const bool is_copy = copies.count(id) > 0;
    const StateBinding& of = *(is_copy ? copies : states).at(id);
    const View& view = program.view(id);
    const Buffer& buffer = program.buffer(view.buffer);
    TableEntry entry{of.state, is_copy, of.advanced, view.layout, buffer.offset, buffer.bytes};
    entry.state.type = view.type;
    out.entries.push_back(std::move(entry));
  }
  return out;
}

std::string text(const StateTable& table) {
  std::string out;
  for (const TableEntry& e : table.entries) {
    std::vector<std::string> axes;
    for (const int axis : e.layout) axes.push_back(str(axis));
    out += str(e.state.name, ' ', e.state.type, " [", join(axes, ","), "]",
               e.is_copy ? " copy" : "", e.advanced ? " advanced" : "", "\n");
  }
  return out;
}

bool begins_with(const StateTable& all, const StateTable& first) {
  return all.entries.size() >= first.entries.size() &&
         std::equal(first.entries.begin(), first.entries.end(), all.entries.begin(),
                    [](const TableEntry& a, const TableEntry& b) {
                      return a.state.name == b.state.name && a.state.type == b.state.type &&
                             a.is_copy == b.is_copy && a.layout == b.layout && a.offset == b.offset;
                    });
}

}  // namespace plait::program
