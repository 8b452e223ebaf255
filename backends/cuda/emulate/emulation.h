// Put before a unit of CUDA C++ so that a C++ compiler takes it and the unit runs on the CPU: the
// words of the language, and a block's threads as fibers that change places where they wait. No
// includes: kernel text names its own types. Blocks run one after another, so that shared memory is
// static. It finds threads that wait for each other at different places. Then emulation_warp.h,
// emulation_math.h, emulation_run.h; only emulation_text() puts them together.
#pragma once

#define PL_EMULATED 1
#define __global__
#define __device__
#define __host__
#define __constant__ static
#define __shared__ static  // `extern __shared__` declarations are cut out: see pl_dynamic
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __builtin_assume(condition)

#define threadIdx (pl_now->thread)
#define blockIdx (pl_now->block)
#define blockDim (pl_now->block_size)
#define gridDim (pl_now->grid)
#define pl_dynamic (pl_now->dynamic)
#define warpSize 32

struct pl_index {
  unsigned x, y, z;
};

/// What a thread is at. pl_fresh: not begun; pl_ready: begun, may go on.
enum pl_state { pl_fresh, pl_ready, pl_at_warp, pl_at_block, pl_done };
/// What the threads of a warp wait for.
enum pl_kind { pl_sync, pl_shuffle, pl_vote };

struct pl_emulated_thread {
  pl_state state;
  void* context;
};

struct pl_emulated_slot {
  unsigned long long value;
  unsigned round;
};

struct pl_emulated_warp {
  int first, count;  // threads
  int live, waiting;
  pl_kind kind;
  unsigned round;  // of waiting, from 1
  pl_emulated_slot slots[2][32];
};

struct pl_emulated_fiber {
  void* context;
  pl_emulated_fiber* next;  // idle
};

/// What the host lends: ways to change the stack, and stacks.
struct pl_emulated_host {
  void* (*make)(char* stack, long bytes, void (*entry)(void*), void* argument);
  void (*swap)(void** from, void* to);
  char* stacks;  // 1024 of them
  long stack_bytes;
  char* dynamic;
  long dynamic_bytes;
};

struct pl_emulated_machine {
  pl_index thread, block, block_size, grid;
  unsigned char* dynamic;
  const pl_emulated_host* host;
  const void* kernel;
  const unsigned long long* words;
  int word_count;
  int step;     // 1 or -1: the order in which threads and warps run
  int running;  // thread
  pl_emulated_warp* warp;
  void* home;
  const char* error;
  pl_emulated_fiber* idle;
  int fiber_count;
  pl_emulated_fiber fibers[1024];
  pl_emulated_thread threads[1024];
  pl_emulated_warp warps[32];
};

// Not zero: what is zero lies in .bss, which is poisoned before every block.
static pl_emulated_machine* pl_now = (pl_emulated_machine*)1;

template <int K>
struct pl_emulated_words {
  unsigned long long v[K];
};

/// A struct of more than two words lies in memory: a longer one than the kernel takes does no harm.
template <int K>
static void pl_call(const pl_emulated_machine* m) {
  if (K < 4096 && m->word_count > K) return pl_call<(K < 4096 ? 2 * K : K)>(m);
  ((void (*)(pl_emulated_words<K>))m->kernel)(*(const pl_emulated_words<K>*)m->words);
}

/// The next thread of the warp that can go on, -1 when there is none.
static int pl_next(const pl_emulated_machine* m) {
  const pl_emulated_warp* warp = m->warp;
  int lane = m->running - warp->first;
  for (int i = 0; i < warp->count; ++i) {
    lane += m->step;
    if (lane < 0) lane = warp->count - 1;
    if (lane >= warp->count) lane = 0;
    if (m->threads[warp->first + lane].state <= pl_ready) return warp->first + lane;
  }
  return -1;
}

static void pl_fiber_main(void* argument);

/// Leaves the context that goes to *from for thread `to`.
static void pl_go(pl_emulated_machine* m, void** from, int to) {
  m->running = to;
  m->thread.x = to;
  pl_emulated_thread* thread = &m->threads[to];
  if (thread->state == pl_fresh) {
    pl_emulated_fiber* fiber = m->idle;
    if (fiber != nullptr) {
      m->idle = fiber->next;
    } else {
      char* stack = m->host->stacks + m->fiber_count * m->host->stack_bytes;
      fiber = &m->fibers[m->fiber_count++];
      fiber->context = m->host->make(stack, m->host->stack_bytes, pl_fiber_main, fiber);
    }
    m->host->swap(from, fiber->context);
  } else {
    m->host->swap(from, thread->context);
  }
}

/// Ends the launch.
static void pl_fail(const char* what) {
  void* never = nullptr;
  pl_now->error = what;
  pl_now->host->swap(&never, pl_now->home);
}

static void pl_release_warp(pl_emulated_machine* m) {
  pl_emulated_warp* warp = m->warp;
  warp->waiting = 0;
  ++warp->round;
  for (int i = warp->first; i < warp->first + warp->count; ++i) {
    if (m->threads[i].state == pl_at_warp) m->threads[i].state = pl_ready;
  }
}

/// Goes to another thread of the warp, or home when all are done or wait for the block.
static void pl_leave(pl_emulated_machine* m, void** from) {
  const int next = pl_next(m);
  if (next >= 0) {
    pl_go(m, from, next);
  } else if (m->warp->waiting > 0) {
    pl_fail("threads of a warp wait at __syncthreads() and at a function of the warp");
  } else {
    m->host->swap(from, m->home);
  }
}

/// Runs threads of the current warp that have not begun, until one waits; then it is that one.
static void pl_fiber_main(void* argument) {
  pl_emulated_fiber* self = (pl_emulated_fiber*)argument;
  pl_emulated_machine* m = pl_now;
  for (;;) {
    m->threads[m->running].state = pl_ready;
    pl_call<1>(m);
    m->threads[m->running].state = pl_done;
    --m->warp->live;
    if (m->warp->waiting > 0 && m->warp->waiting == m->warp->live) pl_release_warp(m);
    const int next = pl_next(m);
    if (next >= 0 && m->threads[next].state == pl_fresh) {
      m->running = next;
      m->thread.x = next;
      continue;
    }
    self->next = m->idle;
    m->idle = self;
    pl_leave(m, &self->context);
  }
}

static void pl_wait_warp(unsigned mask, pl_kind kind) {
  pl_emulated_machine* m = pl_now;
  pl_emulated_warp* warp = m->warp;
  if (mask != 0xffffffffu) pl_fail("a function of the warp with a mask that is not full");
  if (warp->waiting > 0 && warp->kind != kind) {
    pl_fail("threads of a warp wait at different functions");
  }
  warp->kind = kind;
  if (++warp->waiting == warp->live) return pl_release_warp(m);
  pl_emulated_thread* self = &m->threads[m->running];
  self->state = pl_at_warp;
  pl_leave(m, &self->context);
}

static inline void __syncthreads() {
  pl_emulated_thread* self = &pl_now->threads[pl_now->running];
  self->state = pl_at_block;
  pl_leave(pl_now, &self->context);
}

static inline void __syncwarp(unsigned mask = 0xffffffffu) { pl_wait_warp(mask, pl_sync); }
