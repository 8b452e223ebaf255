// Offsets as planned, or buffer by buffer with protected pages between them.
#include "run/placement.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/at.h"
#include "base/error.h"
#include "program/state_table.h"

namespace plait {
namespace {

constexpr int kPattern = 0xFF;  // NaN in every float dtype, -1 in every integer

std::int64_t rounded_up(std::int64_t bytes, std::int64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

/// Bytes from the first element of a buffer to its last, at the symbols' largest sizes.
std::vector<std::int64_t> exact_bytes(const program::Program& p) {
  const DimBindings most = program::largest(p.symbols);
  std::vector<std::int64_t> bytes(p.buffers.size(), 0), width(p.buffers.size(), 1);
  for (const program::View& view : p.views) {
    const auto each = static_cast<std::int64_t>(size_of(view.type.dtype));
    const std::int64_t all = view.offset + evaluate(view.type.elements(), most) * each;
    const std::size_t b = view.buffer.index();
    bytes[b] = std::max(bytes[b], all);
    width[b] = std::max(width[b], each);
  }
  for (std::size_t b = 0; b < bytes.size(); ++b) bytes[b] = rounded_up(bytes[b], width[b]);
  return bytes;
}

/// Puts pieces one behind the other, each on pages of its own behind a protected one.
class Spread {
 public:
  Spread(PlacedRegion& region, FenceMode mode)
      : region_(region), mode_(mode), page_(sysconf(_SC_PAGESIZE)) {
    fence();
  }

  /// The piece's offset; a fence is behind it.
  std::int64_t add(std::int64_t bytes, bool filled) {
    const std::int64_t begin = region_.bytes, end = begin + rounded_up(bytes, page_);
    if (filled && end > begin) region_.filled.push_back({begin, end});
    region_.bytes = end;
    fence();
    return mode_ == FenceMode::kLow ? begin : end - bytes;
  }

  /// `count` pieces of the same size; the first one's offset.
  std::int64_t add(std::int64_t count, std::int64_t bytes, std::int64_t& apart) {
    bytes = rounded_up(bytes, program::kAlignment);
    apart = rounded_up(bytes, page_) + page_;
    std::int64_t first = region_.bytes;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t offset = add(bytes, true);
      if (i == 0) first = offset;
    }
    return first;
  }

 private:
  void fence() {
    region_.fences.push_back({region_.bytes, region_.bytes + page_});
    region_.bytes += page_;
  }

  PlacedRegion& region_;
  FenceMode mode_;
  std::int64_t page_;
};

std::vector<char> fed_buffers(const program::Program& p) {
  std::vector<char> fed(p.buffers.size(), 0);
  for (const program::Binding& f : p.feeds) fed[p.view(f.view).buffer.index()] = 1;
  return fed;
}

/// Buffers of states in the table's order: every program over the table spreads them alike.
std::vector<std::size_t> spread_order(const program::Program& p) {
  std::vector<std::size_t> order;
  for (const program::ViewId id : program::table_views(p)) {
    order.push_back(p.view(id).buffer.index());
  }
  for (std::size_t b = 0; b < p.buffers.size(); ++b) {
    if (p.buffers[b].region != program::Region::kState) order.push_back(b);
  }
  return order;
}

Placement spread_out(const program::Program& p, FenceMode mode) {
  Placement out;
  const std::vector<std::int64_t> bytes = exact_bytes(p);
  const std::vector<char> fed = fed_buffers(p);
  Spread states(out.states, mode), constants(out.constants, mode), work(out.work, mode);
  std::int64_t apart = 0;
  out.shared = work.add(1, p.shared_bytes, apart);
  out.side = work.add(p.streams - 1, p.side_bytes, out.side_bytes);
  out.threads = work.add(p.threads, p.thread_bytes, out.thread_bytes);
  out.persistent = work.add(rounded_up(p.persistent_bytes, program::kAlignment), false);
  out.arena = out.work.bytes;
  out.offsets.resize(p.buffers.size());
  for (const std::size_t b : spread_order(p)) {
    const program::Region region = p.buffers[b].region;
    out.offsets[b] = region == program::Region::kArena   ? work.add(bytes[b], !fed[b])
                     : region == program::Region::kState ? states.add(bytes[b], false)
                                                         : constants.add(bytes[b], false);
  }
  return out;
}

/// What the planned arena holds besides feeds, from where it begins.
std::vector<ByteRange> unfed(const program::Program& p, std::int64_t arena) {
  const std::vector<char> fed = fed_buffers(p);
  std::vector<ByteRange> taken, out;
  for (std::size_t b = 0; b < p.buffers.size(); ++b) {
    const program::Buffer& buffer = p.buffers[b];
    if (fed[b]) taken.push_back({buffer.offset, buffer.offset + buffer.bytes});
  }
  std::sort(taken.begin(), taken.end(),
            [](const ByteRange& a, const ByteRange& b) { return a.begin < b.begin; });
  std::int64_t from = 0;
  for (const ByteRange& r : taken) {
    if (r.begin > from) out.push_back({from, r.begin});
    from = std::max(from, r.end);
  }
  if (p.arena_bytes > from) out.push_back({from, p.arena_bytes});
  for (ByteRange& r : out) r = {r.begin + arena, r.end + arena};
  return out;
}

}  // namespace

FenceMode fence_mode() {
  const char* given = std::getenv("PLAIT_FENCE");
  const std::string_view mode = given ? given : "";
  if (mode.empty()) return FenceMode::kNone;
  if (mode == "fill") return FenceMode::kFill;
  if (mode == "low") return FenceMode::kLow;
  if (mode == "high") return FenceMode::kHigh;
  fail("PLAIT_FENCE is \"", mode, "\": it is fill, low, high or unset");
}

Placement placement_of(const program::Program& p, FenceMode mode) {
  if (mode == FenceMode::kLow || mode == FenceMode::kHigh) return spread_out(p, mode);
  Placement out;
  out.arena = p.scratch_bytes;
  for (const program::Buffer& b : p.buffers) {
    out.offsets.push_back(b.offset + (b.region == program::Region::kArena ? out.arena : 0));
  }
  out.states.bytes = p.table_bytes();
  out.constants.bytes = p.constants_bytes;
  out.work.bytes = p.work_bytes();
  out.side = p.shared_bytes;
  out.side_bytes = p.side_bytes;
  out.threads = out.side + p.side_bytes * (p.streams - 1);
  out.thread_bytes = p.thread_bytes;
  out.persistent = out.threads + p.thread_bytes * p.threads;
  if (mode == FenceMode::kFill) {
    out.work.filled = unfed(p, out.arena);
    if (out.persistent > 0) out.work.filled.push_back({0, out.persistent});
  }
  return out;
}

void protect_fences(const Space& space, const PlacedRegion& region) {
  if (region.fences.empty()) return;
  if (!space.is_host()) {
    throw RunError("PLAIT_FENCE=low and high need memory of the host: set it to fill there");
  }
  for (const ByteRange& r : region.fences) {
    if (::mprotect(space.data() + r.begin, at(r.end - r.begin), PROT_NONE) == 0) continue;
    throw RunError(str("PLAIT_FENCE: ", region.fences.size(), " pages cannot be protected: ",
                       std::strerror(errno), ". A smaller program has fewer buffers"));
  }
}

void fill_region(Space& space, const PlacedRegion& region) {
  constexpr std::int64_t kPiece = 1 << 20;
  if (region.filled.empty()) return;
  const std::vector<char> pattern(kPiece, static_cast<char>(kPattern));
  for (const ByteRange& r : region.filled) {
    for (std::int64_t from = r.begin; from < r.end; from += kPiece) {
      space.write(from, pattern.data(), std::min(kPiece, r.end - from));
    }
  }
}

}  // namespace plait
