// Regions that grow, and states set and read in them.
#include "run/memory.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "run/transfer.h"

namespace plait {
namespace {

/// Whether a program over an earlier state of the table leaves no copy behind that came since.
bool keeps_copies(const program::StateTable& table, const program::StateTable& earlier) {
  return std::none_of(table.entries.begin() + static_cast<std::ptrdiff_t>(earlier.entries.size()),
                      table.entries.end(), [&](const program::TableEntry& e) {
                        const program::TableEntry* of = earlier.find(e.state.name);
                        return e.is_copy && of && of->advanced;
                      });
}

}  // namespace

void PackageMemory::add(const program::Program& program, const Placement& placement) {
  const program::StateTable theirs = program::table_of(program);
  if (!program::begins_with(theirs, table_)) {
    if (!program::begins_with(table_, theirs) || !keeps_copies(table_, theirs)) {
      fail("the program of ", program.graph_name,
           " was planned over other states than the programs that are loaded");
    }
  }
  const std::int64_t states = states_ ? states_->bytes() : 0, work = work_ ? work_->bytes() : 0;
  const bool more_states = !states_ || theirs.entries.size() > table_.entries.size();
  // Between fences every program has its own.
  const bool more_work = placement.work.fences.empty() && (!work_ || placement.work.bytes > work);
  if (more_states || more_work) {
    check_fits(program, states + work);
    ++moves_;
  }
  if (more_work) {
    constexpr const char* kWhat = "the arena and workspace";
    work_.reset();
    try {
      work_ = runtime_->allocate(placement.work.bytes, kWhat);
    } catch (const RunError&) {
      work_ = runtime_->allocate(work, kWhat);  // the programs that are loaded still run
      throw;
    }
  }
  if (more_states) grow_states(program, placement);
}

/// `held`: bytes that are allocated already.
void PackageMemory::check_fits(const program::Program& p, std::int64_t held) const {
  const std::optional<std::int64_t> free = runtime_->free_bytes();
  if (!free) return;
  std::int64_t feeds = 0;  // of two runs
  for (const program::Binding& f : p.feeds) feeds += 2 * p.buffer_of(f.view).bytes;
  const std::int64_t all = p.peak_bytes() + feeds;
  if (all <= *free + held) return;
  throw RunError(str("the program does not fit: it takes ", bytes_text(all), " (states ",
                     bytes_text(p.states_bytes), ", arena ", bytes_text(p.arena_bytes),
                     ", workspace ", bytes_text(p.scratch_bytes), ", feeds of two runs ",
                     bytes_text(feeds), "), the device has ", bytes_text(*free + held),
                     " free. A smaller batch takes less"));
}

void PackageMemory::grow_states(const program::Program& program, const Placement& placement) {
  std::unique_ptr<Space> larger = runtime_->allocate(placement.states.bytes, "states");
  protect_fences(*larger, placement.states);
  table_ = program::table_of(program);
  const std::vector<program::ViewId> views = program::table_views(program);
  const std::size_t known = entries_.size();
  entries_.resize(views.size());
  for (std::size_t i = 0; i < views.size(); ++i) {
    Entry& e = entries_[i];
    const std::int64_t old =
        std::exchange(e.offset, placement.offsets[program.view(views[i]).buffer.index()]);
    e.of = table_.entries[i];
    if (i >= known) continue;
    const program::Layout& layout = e.of.layout;
    put(*larger, e.offset, layout,
        take(*states_, old, layout, e.of.state.type.dtype, sizes_of(e.of.state.type.shape)));
  }
  states_ = std::move(larger);
  // A copy that a later program keeps of a state that is there.
  for (std::size_t i = known; i < entries_.size(); ++i) {
    const Entry& e = entries_[i];
    const auto of = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& s) {
      return !s.of.is_copy && s.of.state.name == e.of.state.name;
    });
    if (!e.of.is_copy || of - entries_.begin() >= static_cast<std::ptrdiff_t>(known)) continue;
    put(*states_, e.offset, e.of.layout, read(*of).cast(e.of.state.type.dtype));
  }
}

std::size_t PackageMemory::number_of(const std::string& name) const {
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (!entries_[i].of.is_copy && entries_[i].of.state.name == name) return i;
  }
  fail("no program has a state '", name, "'");
}

Array PackageMemory::read(const Entry& e) const {
  const ir::Type& type = e.of.state.type;
  return take(*states_, e.offset, e.of.layout, type.dtype, sizes_of(type.shape));
}

Array PackageMemory::state(const std::string& name) const { return read(entry(name)); }

void PackageMemory::set_state(const std::string& name, const Array& value) {
  Entry& e = entries_[number_of(name)];
  ++e.times_set;
  put(*states_, e.offset, e.of.layout, value);
  each_copy(name, [&](const Entry& copy) {
    put(*states_, copy.offset, copy.of.layout, value.cast(copy.of.state.type.dtype));
  });
}

void PackageMemory::zero_state(const std::string& name) {
  Entry& e = entries_[number_of(name)];
  bool done = states_->zero(e.offset, e.of.bytes);
  each_copy(name,
            [&](const Entry& copy) { done = done && states_->zero(copy.offset, copy.of.bytes); });
  if (!done) return set_state(name, Array(e.of.state.type.dtype, sizes_of(e.of.state.type.shape)));
  ++e.times_set;
}

void PackageMemory::fill_state(const std::string& name, const Array& pattern) {
  Entry& e = entries_[number_of(name)];
  ++e.times_set;
  const auto bytes = [](const Entry& of) {
    return element_count(sizes_of(of.of.state.type.shape)) *
           static_cast<std::int64_t>(size_of(of.of.state.type.dtype));
  };
  fill(*states_, e.offset, bytes(e), pattern);
  each_copy(name, [&](const Entry& copy) {
    const DType dtype = copy.of.state.type.dtype;
    if (copy.of.layout == e.of.layout)
      return fill(*states_, copy.offset, bytes(copy), pattern.cast(dtype));
    put(*states_, copy.offset, copy.of.layout, read(e).cast(dtype));
  });
}

}  // namespace plait
