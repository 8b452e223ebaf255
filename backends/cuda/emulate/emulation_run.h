// A launch, block by block, behind emulation.h: what the device calls in a compiled unit.
#pragma once

extern "C" char __bss_start[] __attribute__((visibility("hidden")));
extern "C" char _end[] __attribute__((visibility("hidden")));

static void pl_begin_block(pl_emulated_machine* m, unsigned block) {
  const int threads = (int)m->block_size.x;
  m->block = {block, 0, 0};
  m->step = (block & 1) == 0 ? 1 : -1;  // an order that happens to be right is not there twice
  __builtin_memset(__bss_start, 0xCD, (unsigned long)(_end - __bss_start));
  __builtin_memset(m->dynamic, 0xCD, (unsigned long)m->host->dynamic_bytes);
  for (int i = 0; i < threads; ++i) m->threads[i].state = pl_fresh;
  for (int i = 0; i * 32 < threads; ++i) {
    pl_emulated_warp* warp = &m->warps[i];
    warp->first = i * 32;
    warp->count = warp->live = threads - i * 32 < 32 ? threads - i * 32 : 32;
    warp->waiting = 0;
    warp->round = 2;
    for (int lane = 0; lane < 64; ++lane) warp->slots[lane / 32][lane % 32].round = 0;
  }
}

/// One block, from one __syncthreads() to the next, warp after warp.
static void pl_run_block(pl_emulated_machine* m) {
  const int warps = ((int)m->block_size.x + 31) / 32;
  for (bool left = true; left && m->error == nullptr;) {
    left = false;
    for (int i = 0; i < (int)m->block_size.x; ++i) {
      if (m->threads[i].state == pl_at_block) m->threads[i].state = pl_ready;
    }
    for (int i = 0; i < warps && m->error == nullptr; ++i) {
      m->warp = &m->warps[m->step > 0 ? i : warps - 1 - i];
      if (m->warp->live == 0) continue;
      left = true;
      m->running = m->warp->first + (m->step > 0 ? m->warp->count - 1 : 0);
      pl_go(m, &m->home, pl_next(m));
    }
  }
}

/// Null, or what went wrong. `words` has room for 4096.
extern "C" __attribute__((visibility("default"))) const char* pl_launch(
    const void* kernel, const unsigned long long* words, int word_count, long blocks, int threads,
    const pl_emulated_host* host) {
  pl_emulated_machine machine;
  __builtin_memset(&machine, 0, __builtin_offsetof(pl_emulated_machine, fibers));
  machine.block_size = {(unsigned)threads, 1, 1};
  machine.grid = {(unsigned)blocks, 1, 1};
  machine.dynamic = (unsigned char*)host->dynamic;
  machine.host = host;
  machine.kernel = kernel;
  machine.words = words;
  machine.word_count = word_count;
  pl_now = &machine;
  for (long block = 0; block < blocks && machine.error == nullptr; ++block) {
    pl_begin_block(&machine, (unsigned)block);
    pl_run_block(&machine);
  }
  return machine.error;
}
