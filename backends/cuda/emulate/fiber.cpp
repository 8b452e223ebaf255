// The change of stacks: a few instructions on x86-64, the C library's contexts elsewhere.
#include "backends/cuda/emulate/fiber.h"

#include <sys/mman.h>

#include <cstdint>
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

#include "base/error.h"

namespace plait::cuda {

constexpr long kPage = 4096;

#if defined(__x86_64__)

// What a function must keep lies on the stack that is left, and comes from the one that is entered.
// A new one is laid out as if it had left: r12 holds its entry, r13 the argument.
asm(R"(
  .text
  .p2align 4
  .type plait_swap_stacks, @function
plait_swap_stacks:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size plait_swap_stacks, .-plait_swap_stacks
  .type plait_begin_stack, @function
plait_begin_stack:
  movq %r13, %rdi
  callq *%r12
  ud2
  .size plait_begin_stack, .-plait_begin_stack
)");
extern "C" void plait_swap_stacks(void** from, void* to) asm("plait_swap_stacks");
extern "C" void plait_begin_stack() asm("plait_begin_stack");

void* make_fiber(char* stack, long bytes, void (*entry)(void*), void* argument) {
  // r15, r14, r13, r12, rbx, rbp, where to return; then 16-byte aligned, as a call wants it.
  auto* top = reinterpret_cast<std::uint64_t*>(stack + bytes) - 2;
  top[-1] = reinterpret_cast<std::uint64_t>(&plait_begin_stack);
  for (int i = 2; i <= 7; ++i) top[-i] = 0;
  top[-4] = reinterpret_cast<std::uint64_t>(entry);
  top[-5] = reinterpret_cast<std::uint64_t>(argument);
  return top - 7;
}

void swap_fibers(void** from, void* to) { plait_swap_stacks(from, to); }

#else

namespace {

void begin(unsigned entry_high, unsigned entry_low, unsigned high, unsigned low) {
  const auto pointer = [](unsigned a, unsigned b) { return (std::uint64_t{a} << 32) | b; };
  auto* entry = reinterpret_cast<void (*)(void*)>(pointer(entry_high, entry_low));
  entry(reinterpret_cast<void*>(pointer(high, low)));
}

}  // namespace

void* make_fiber(char* stack, long bytes, void (*entry)(void*), void* argument) {
  auto* context = reinterpret_cast<ucontext_t*>(stack + kPage);
  const auto entry_bits = reinterpret_cast<std::uint64_t>(entry);
  const auto bits = reinterpret_cast<std::uint64_t>(argument);
  ::getcontext(context);
  context->uc_stack.ss_sp = stack + 2 * kPage;
  context->uc_stack.ss_size = static_cast<std::size_t>(bytes - 2 * kPage);
  context->uc_link = nullptr;
  ::makecontext(context, reinterpret_cast<void (*)()>(begin), 4,
                static_cast<unsigned>(entry_bits >> 32), static_cast<unsigned>(entry_bits),
                static_cast<unsigned>(bits >> 32), static_cast<unsigned>(bits));
  return context;
}

void swap_fibers(void** from, void* to) {
  ucontext_t self;  // on the stack that is left
  *from = &self;
  ::swapcontext(&self, static_cast<ucontext_t*>(to));
}

#endif

Stacks::Stacks(int count, long bytes)
    : bytes_(static_cast<std::size_t>(count) * static_cast<std::size_t>(bytes)) {
  void* data = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) throw RunError(str("no room for ", bytes_, " bytes of stacks"));
  data_ = static_cast<char*>(data);
  for (int i = 0; i < count; ++i) ::mprotect(data_ + i * bytes, kPage, PROT_NONE);
}

Stacks::~Stacks() { ::munmap(data_, bytes_); }

}  // namespace plait::cuda
