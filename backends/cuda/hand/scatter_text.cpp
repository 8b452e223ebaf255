// Scatters by sorting in CUDA C++, without float atomics: updates are sorted by where they go,
// those of one place in their own order, and each place is added up by one thread. Keys differ, so
// that any sort gives the same order: tiles are sorted in shared memory, then merged 32 at a time
// by rank.
#include "backends/cuda/hand/scatter_text.h"

namespace plait::cuda {

const char* const kScatterSort = R"(
constexpr int kTile = 2048, kRuns = 32;
constexpr int64_t kPiece = 64;  // neighbouring keys whose updates are added up ahead

/// How many of the keys from[0 .. count), in order, are below a key.
__device__ __forceinline__ int64_t count_below(const pl_word* from, int64_t count, pl_word key) {
  int64_t low = 0;
  while (low < count) {
    const int64_t middle = (low + count) >> 1;
    if (from[middle] < key) {
      low = middle + 1;
    } else {
      count = middle;
    }
  }
  return low;
}

// A tile of keys, in order. A key is the place an update goes to, then the update's number; places
// are (update / (count * inners) * size + index) * inners + update % inners. Updates with a bad
// index come behind all others.
// Words: indices; keys; error bits; updates; count; size; inners; places; bits of a number; tile.
extern "C" __global__ void __launch_bounds__(kTile / 2) NAME_sort(const pl_words<10> w) {
  __shared__ pl_word keys[kTile];
  const int64_t updates = (int64_t)w.v[3], size = (int64_t)w.v[5], inners = (int64_t)w.v[6];
  const int bits = (int)w.v[8], tile = (int)w.v[9];
  const int64_t first = (int64_t)blockIdx.x * tile;
  for (int i = threadIdx.x; i < tile; i += blockDim.x) {
    const int64_t update = first + i;
    pl_word key = ~(pl_word)0;
    if (update < updates) {
      const int64_t index = (int64_t)at<const I>(w.v[0])[update];
      const Parted p = part(update, (int64_t)w.v[4] * inners);
      int64_t place = (p.quotient * size + index) * inners + part(p.rest, inners).rest;
      if (index < 0 || index >= size) {
        place = (int64_t)w.v[7];
        atomicOr(at<int>(w.v[2]), 1);
      }
      key = (pl_word)place << bits | (pl_word)update;
    }
    keys[i] = key;
  }
  __syncthreads();
  for (int run = 2; run <= tile; run *= 2) {
    for (int step = run / 2; step > 0; step /= 2) {
      for (int n = threadIdx.x; n < tile / 2; n += blockDim.x) {
        const int i = ((n & ~(step - 1)) << 1) | (n & (step - 1));
        const pl_word one = keys[i], two = keys[i + step];
        if ((one > two) == ((i & run) == 0)) {
          keys[i] = two;
          keys[i + step] = one;
        }
      }
      __syncthreads();
    }
  }
  for (int i = threadIdx.x; i < tile; i += blockDim.x) {
    if (first + i < updates) at<pl_word>(w.v[1])[first + i] = keys[i];
  }
}

// kRuns runs of keys, each in order, become one. Words: from; to; keys; keys of a run.
extern "C" __global__ void NAME_merge(const pl_words<4> w) {
  const int64_t count = (int64_t)w.v[2], run = (int64_t)w.v[3], i = item();
  if (i >= count) return;
  const pl_word* from = at<const pl_word>(w.v[0]);
  const pl_word key = from[i];
  const int64_t own = part(i, run).quotient, first = own / kRuns * kRuns;
  int64_t rank = i - own * run;
  for (int64_t other = first; other < first + kRuns && other * run < count; ++other) {
    const int64_t rest = count - other * run;
    if (other != own) rank += count_below(from + other * run, rest < run ? rest : run, key);
  }
  at<pl_word>(w.v[1])[first * run + rank] = key;
}
)";

const char* const kScatterFill = R"(
struct __align__(16) Sixteen {
  pl_word a, b;
};

// out = x, or zeros. Words: x; out; bytes. A thread takes 64 bytes.
extern "C" __global__ void NAME_fill(const pl_words<3> w) {
  const int64_t bytes = (int64_t)w.v[2];
  if (((w.v[0] | w.v[1]) & 15) == 0) {
    const Sixteen* x = at<const Sixteen>(w.v[0]);
    const int64_t vectors = bytes / 16, first = (int64_t)blockIdx.x * 4 * blockDim.x + threadIdx.x;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const int64_t i = first + j * (int64_t)blockDim.x;
      if (i < vectors) at<Sixteen>(w.v[1])[i] = x ? x[i] : Sixteen{0, 0};
    }
    const int64_t i = vectors * 16 + item();
    if (i < bytes) at<uint8_t>(w.v[1])[i] = x ? at<const uint8_t>(w.v[0])[i] : 0;
  } else {
    for (int64_t i = item(); i < bytes; i += (int64_t)gridDim.x * blockDim.x) {
      at<uint8_t>(w.v[1])[i] = w.v[0] ? at<const uint8_t>(w.v[0])[i] : 0;
    }
  }
}
)";

const char* const kScatterAdd = R"(
/// The updates behind sorted keys: [outers, updates, inners], one element of an update each.
struct Updates {
  const pl_word* keys;
  const T* from;  // of this outer and inner
  int64_t count, inners;
  int bits;
  __device__ __forceinline__ pl_word place(int64_t i) const { return keys[i] >> bits; }
  __device__ __forceinline__ T at(pl_word key) const {
    return from[(int64_t)(key & (((pl_word)1 << bits) - 1)) * inners];
  }
};

/// Adds the updates from i on that go to a place and lie before `end`; moves i.
__device__ __forceinline__ W added(W sum, const Updates& u, pl_word place, int64_t& i,
                                   int64_t end) {
  constexpr int kAhead = 8;
  while (i < end) {
    pl_word keys[kAhead];
    T values[kAhead];
    int taken = 0;
#pragma unroll
    for (int j = 0; j < kAhead; ++j) keys[j] = i + j < end ? u.keys[i + j] : ~(pl_word)0;
#pragma unroll
    for (int j = 0; j < kAhead; ++j) {
      if ((keys[j] >> u.bits) == place) {
        values[j] = u.at(keys[j]);
        ++taken;
      }
    }
#pragma unroll
    for (int j = 0; j < kAhead; ++j) {
      if (j < taken) sum += widen(values[j]);
    }
    i += taken;
    if (taken < kAhead) break;
  }
  return sum;
}

// Sums of pieces whose updates all go to one place. Words: keys; updates; sums [pieces, outers,
// inners]; keys; bits; outers; inners; places.
extern "C" __global__ void NAME_pieces(const pl_words<8> w) {
  const int64_t count = (int64_t)w.v[3], outers = (int64_t)w.v[5], inners = (int64_t)w.v[6];
  const Parted lane = part(item(), inners), n = part(lane.quotient, outers);
  if ((n.quotient + 1) * kPiece > count) return;
  const Updates u = {at<const pl_word>(w.v[0]),
                     at<const T>(w.v[1]) + n.rest * count * inners + lane.rest, count, inners,
                     (int)w.v[4]};
  int64_t i = n.quotient * kPiece;
  const pl_word place = u.place(i);
  if (place == w.v[7] || place != u.place(i + kPiece - 1)) return;
  at<W>(w.v[2])[item()] = added((W)0, u, place, i, i + kPiece);
}

// The first update of a place adds them all to out [outers, size, inners], pieces as they are.
// Words: keys; updates; sums; out; keys; bits; outers; inners; places; size.
extern "C" __global__ void NAME_add(const pl_words<10> w) {
  const int64_t count = (int64_t)w.v[4], outers = (int64_t)w.v[6], inners = (int64_t)w.v[7];
  const Parted lane = part(item(), inners), n = part(lane.quotient, outers);
  int64_t i = n.quotient;
  if (i >= count) return;
  const Updates u = {at<const pl_word>(w.v[0]),
                     at<const T>(w.v[1]) + n.rest * count * inners + lane.rest, count, inners,
                     (int)w.v[5]};
  const pl_word place = u.place(i);
  if (place == w.v[8] || (i > 0 && u.place(i - 1) == place)) return;
  T* out = at<T>(w.v[3]) + (n.rest * (int64_t)w.v[9] + (int64_t)place) * inners + lane.rest;
  W sum = widen(*out);
  const int64_t whole = (i + kPiece - 1) / kPiece * kPiece;  // where pieces begin to count
  sum = added(sum, u, place, i, whole < count ? whole : count);
  if (i == whole) {
    const W* sums = at<const W>(w.v[2]) + n.rest * inners + lane.rest;
    while (i + kPiece <= count && u.place(i + kPiece - 1) == place) {
      sum += sums[i / kPiece * outers * inners];
      i += kPiece;
    }
    sum = added(sum, u, place, i, count);
  }
  *out = narrow(sum);
}

// One update per line: out [outers, size, inners] has x already. Words: indices, updates
// [outers, 1, inners]; out; error bits; lines; size; inners.
extern "C" __global__ void NAME_single(const pl_words<7> w) {
  const int64_t i = item(), size = (int64_t)w.v[5], inners = (int64_t)w.v[6];
  if (i >= (int64_t)w.v[4]) return;
  const int64_t index = (int64_t)at<const I>(w.v[0])[i];
  if (index < 0 || index >= size) {
    atomicOr(at<int>(w.v[3]), 1);
    return;
  }
  const Parted lane = part(i, inners);
  T* out = at<T>(w.v[2]) + (lane.quotient * size + index) * inners + lane.rest;
  *out = narrow(widen(*out) + widen(at<const T>(w.v[1])[i]));
}
)";

}  // namespace plait::cuda
