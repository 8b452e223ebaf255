// Memory by mmap, with a fence on both sides: pages that may be read and take no memory. A compiler
// may load a whole vector of which it uses a part; beside a region that is then no fault.
#include "backends/region.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/at.h"
#include "base/text.h"

namespace plait {
namespace {

constexpr std::int64_t kLargePage = 2 << 20;

std::int64_t rounded_up(std::int64_t bytes, std::int64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace

Region::Region(std::int64_t bytes, const std::string& what) : bytes_(bytes) {
  if (bytes == 0) return;
  const std::int64_t page = sysconf(_SC_PAGESIZE), room = rounded_up(bytes, page);
  const std::int64_t unit = bytes >= kLargePage ? kLargePage : page;  // where it begins
  mapped_ = room + page + unit;
  void* got = mmap(nullptr, at(mapped_), PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (got != MAP_FAILED) {
    map_ = static_cast<char*>(got);
    const auto address = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(map_));
    data_ = map_ + (rounded_up(address + page, unit) - address);
  }
  if (!data_ || mprotect(data_, at(room), PROT_READ | PROT_WRITE) != 0) {
    if (map_) munmap(map_, at(mapped_));
    throw RunError(str("no memory for ", what, ": ", bytes, " bytes were asked for"));
  }
  // Pages come with the first step, large ones where the system has them: a program is ready at
  // once, and every later step finds them there.
  madvise(data_, at(bytes), MADV_HUGEPAGE);
}

Region::~Region() {
  if (map_) munmap(map_, at(mapped_));
}

void Region::write(std::int64_t offset, const void* from, std::int64_t bytes) {
  if (bytes > 0) std::memcpy(data_ + offset, from, at(bytes));
}

void Region::read(std::int64_t offset, void* to, std::int64_t bytes) const {
  if (bytes > 0) std::memcpy(to, data_ + offset, at(bytes));
}

std::int64_t Region::resident_bytes(std::int64_t offset, std::int64_t bytes) const {
  if (!data_ || bytes == 0) return 0;
  const auto page = static_cast<std::int64_t>(sysconf(_SC_PAGESIZE));
  const std::int64_t begin = offset / page * page, end = offset + bytes;
  std::vector<unsigned char> there(at((end - begin + page - 1) / page));
  if (mincore(data_ + begin, at(end - begin), there.data()) != 0) return -1;
  std::int64_t resident = 0;
  for (std::size_t i = 0; i < there.size(); ++i) {
    const std::int64_t first = begin + static_cast<std::int64_t>(i) * page;
    if (there[i] & 1) resident += std::min(first + page, end) - std::max(first, offset);
  }
  return resident;
}

}  // namespace plait
