// operator new, replaced by one that counts. It is linked where allocated_during() is used.
#include "cli/allocations.h"

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace plait::cli {
namespace {

std::atomic<bool> counting{false};
std::atomic<std::int64_t> calls{0};

void* counted(std::size_t bytes, std::size_t alignment) {
  if (counting.load(std::memory_order_relaxed)) calls.fetch_add(1, std::memory_order_relaxed);
  if (bytes == 0) bytes = 1;
  for (;;) {
    void* got = alignment > __STDCPP_DEFAULT_NEW_ALIGNMENT__
                    ? std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment)
                    : std::malloc(bytes);
    if (got) return got;
    const std::new_handler handler = std::get_new_handler();
    if (!handler) throw std::bad_alloc();
    handler();
  }
}

std::int64_t heap_bytes() {
  const struct mallinfo2 info = mallinfo2();
  return static_cast<std::int64_t>(info.uordblks + info.hblkhd);
}

}  // namespace

Allocated allocated_during(const std::function<void()>& run) {
  Allocated out;
  const std::int64_t before = heap_bytes();
  calls = 0;
  counting = true;
  try {
    run();
  } catch (...) {
    counting = false;
    throw;
  }
  counting = false;
  out.calls = calls;
  out.bytes = heap_bytes() - before;
  return out;
}

}  // namespace plait::cli

void* operator new(std::size_t bytes) { return plait::cli::counted(bytes, 0); }
void* operator new[](std::size_t bytes) { return plait::cli::counted(bytes, 0); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return plait::cli::counted(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return plait::cli::counted(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
