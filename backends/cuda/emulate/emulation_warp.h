// What threads of a warp tell each other, behind emulation.h: shuffles and votes through slots that
// are used in turn, so that one wait serves each.
#pragma once

/// Gives `value` to the warp and takes that of lane `from`; 0xCD.. of one that gave nothing.
template <class T>
static T pl_exchange(unsigned mask, T value, int from, pl_kind kind) {
  static_assert(sizeof(T) <= 8, "the warp exchanges at most eight bytes");
  pl_emulated_warp* warp = pl_now->warp;
  const unsigned round = warp->round;
  pl_emulated_slot* slots = warp->slots[round & 1];
  pl_emulated_slot* own = &slots[pl_now->running - warp->first];
  __builtin_memcpy(&own->value, &value, sizeof(T));
  own->round = round;
  pl_wait_warp(mask, kind);
  if (slots[from].round == round) {
    __builtin_memcpy(&value, &slots[from].value, sizeof(T));
  } else {
    __builtin_memset(&value, 0xCD, sizeof(T));
  }
  return value;
}

template <class T>
static T __shfl_sync(unsigned mask, T value, int from, int width = 32) {
  const int lane = (int)(pl_now->thread.x & 31);
  return pl_exchange(mask, value, (lane & ~(width - 1)) | (from & (width - 1)), pl_shuffle);
}

template <class T>
static T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32) {
  const int lane = (int)(pl_now->thread.x & 31);
  const int from = (lane ^ bits) & 31;
  return pl_exchange(mask, value, from < (lane | (width - 1)) + 1 ? from : lane, pl_shuffle);
}

template <class T>
static T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  const int lane = (int)(pl_now->thread.x & 31);
  const int from = lane + (int)delta;
  return pl_exchange(mask, value, from <= (lane | (width - 1)) ? from : lane, pl_shuffle);
}

template <class T>
static T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  const int lane = (int)(pl_now->thread.x & 31);
  const int from = lane - (int)delta;
  return pl_exchange(mask, value, from >= (lane & ~(width - 1)) ? from : lane, pl_shuffle);
}

static unsigned __ballot_sync(unsigned mask, int predicate) {
  const unsigned round = pl_now->warp->round;
  const pl_emulated_warp* warp = pl_now->warp;
  pl_exchange(mask, predicate != 0, 0, pl_vote);
  unsigned votes = 0;
  for (int i = 0; i < warp->count; ++i) {
    const pl_emulated_slot* slot = &warp->slots[round & 1][i];
    if (slot->round == round && (slot->value & 1) != 0) votes |= 1u << i;
  }
  return votes;
}

static inline int __any_sync(unsigned mask, int predicate) {
  return __ballot_sync(mask, predicate) != 0;
}
