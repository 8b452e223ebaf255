// Memory by mmap.
#include "backends/cpu/region.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/text.h"

namespace plait::cpu {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

}  // namespace

Region::Region(std::int64_t bytes, const std::string& what) : bytes_(bytes) {
  if (bytes == 0) return;
  void* got = mmap(nullptr, at(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (got == MAP_FAILED) {
    throw RunError(str("no memory for ", what, ": ", bytes, " bytes were asked for"));
  }
  data_ = static_cast<char*>(got);
  // Pages come with the first step, large ones where the system has them: a program is ready at
  // once, and every later step finds them there.
  madvise(data_, at(bytes), MADV_HUGEPAGE);
}

Region::~Region() {
  if (data_) munmap(data_, at(bytes_));
}

void Region::write(std::int64_t offset, const void* from, std::int64_t bytes) {
  if (bytes > 0) std::memcpy(data_ + offset, from, at(bytes));
}

void Region::read(std::int64_t offset, void* to, std::int64_t bytes) const {
  if (bytes > 0) std::memcpy(to, data_ + offset, at(bytes));
}

std::int64_t Region::resident_bytes() const {
  if (!data_) return 0;
  const auto page = static_cast<std::int64_t>(sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> there(at((bytes_ + page - 1) / page));
  if (mincore(data_, at(bytes_), there.data()) != 0) return -1;
  std::int64_t pages = 0;
  for (unsigned char p : there) pages += p & 1;
  return std::min(bytes_, pages * page);
}

}  // namespace plait::cpu
