// The emulated device: kernels whose threads exchange, wait and leave give what a device gives, and
// mistakes that a device forgives are found.
#include "backends/cuda/emulate/emulated_device.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/error.h"

namespace plait::cuda {
namespace {

// What a unit's header declares; here without the printer.
constexpr const char* kHeader = R"(
typedef unsigned long long pl_word;
template <int K> struct pl_words { pl_word v[K]; };
)";

struct Unit {
  explicit Unit(const std::string& text, const std::string& name = "kernel")
      : device(make_emulated_device()),
        module(device->compile({kHeader + text}).modules.at(0)),
        function(module->function(name)) {}
  Word address(const char* data) const { return reinterpret_cast<Word>(data); }
  template <class T>
  char* put(const std::vector<T>& values) const {
    const auto bytes = static_cast<std::int64_t>(values.size() * sizeof(T));
    char* data = device->allocate(bytes, "values");
    device->write(data, values.data(), bytes);
    return data;
  }
  template <class T>
  std::vector<T> get(const char* data, std::size_t count) const {
    std::vector<T> values(count);
    device->read(values.data(), data, static_cast<std::int64_t>(count * sizeof(T)));
    return values;
  }
  void run(std::int64_t blocks, int threads, std::vector<Word> words, int block_bytes = 0) const {
    device->launch({function, blocks, threads, block_bytes, std::move(words)});
    device->wait();
  }

  std::shared_ptr<Device> device;
  std::shared_ptr<Module> module;
  const void* function;
};

std::string thrown(const std::function<void()>& act) {
  try {
    act();
  } catch (const std::exception& e) {
    return e.what();
  }
  return "nothing";
}

constexpr const char* kSum = R"(
extern "C" __global__ void __launch_bounds__(256) kernel(const pl_words<3> w) {
  const int* from = (const int*)w.v[0];
  __shared__ int sums[8];
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  int sum = at < (int)w.v[2] ? from[at] : 0;
#pragma unroll
  for (int bits = 16; bits > 0; bits /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, bits);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x >= 32) return;
  sum = threadIdx.x < blockDim.x / 32 ? sums[threadIdx.x] : 0;
  for (int delta = 4; delta > 0; delta /= 2) sum += __shfl_down_sync(0xffffffffu, sum, delta, 8);
  if (threadIdx.x == 0) ((int*)w.v[1])[blockIdx.x] = sum;
}
)";

TEST(CudaEmulated, ReducesThroughShufflesAndSharedMemory) {
  const Unit unit(kSum);
  std::vector<int> values(1000);
  std::iota(values.begin(), values.end(), 1);
  char* from = unit.put(values);
  char* to = unit.put(std::vector<int>(4));
  unit.run(4, 256, {unit.address(from), unit.address(to), values.size()});
  const std::vector<int> sums = unit.get<int>(to, 4);
  for (int block = 0; block < 4; ++block) {
    const auto first = values.begin() + block * 256;
    const auto last = values.begin() + std::min(1000, block * 256 + 256);
    EXPECT_EQ(sums[static_cast<std::size_t>(block)], std::accumulate(first, last, 0));
  }
}

TEST(CudaEmulated, ThreadsMayLeaveBeforeABarrier) {
  const Unit unit(R"(
extern "C" __global__ void kernel(const pl_words<1> w) {
  extern __shared__ __align__(16) unsigned char pl_dynamic[];
  long long* all = (long long*)pl_dynamic;
  if (threadIdx.x % 3 == 1) return;
  for (int round = 0; round < 5; ++round) {
    all[threadIdx.x] = threadIdx.x * 100 + round;
    __syncthreads();
    const unsigned other = (threadIdx.x + 3) % blockDim.x;
    if (other % 3 != 1) {
      ((long long*)w.v[0])[blockIdx.x * blockDim.x + threadIdx.x] = all[other];
    }
    __syncthreads();
  }
}
)");
  constexpr int kThreads = 99, kBlocks = 3;
  char* to = unit.put(std::vector<std::int64_t>(kThreads * kBlocks, -1));
  unit.run(kBlocks, kThreads, {unit.address(to)}, kThreads * 8);
  const std::vector<std::int64_t> got = unit.get<std::int64_t>(to, kThreads * kBlocks);
  for (int i = 0; i < kThreads * kBlocks; ++i) {
    const int thread = i % kThreads, other = (thread + 3) % kThreads;
    EXPECT_EQ(got[static_cast<std::size_t>(i)], thread % 3 == 1 ? -1 : other * 100 + 4) << i;
  }
}

TEST(CudaEmulated, WarpFunctions) {
  const Unit unit(R"(
extern "C" __global__ void kernel(const pl_words<2> w) {
  const int i = threadIdx.x;
  double* out = (double*)w.v[0] + i * 5;
  out[0] = __shfl_up_sync(0xffffffffu, (double)i, 1);
  out[1] = __shfl_down_sync(0xffffffffu, i, 2, 16);
  out[2] = __shfl_sync(0xffffffffu, (long long)i * i, 5, 8);
  out[3] = __ballot_sync(0xffffffffu, i % 2);
  __syncwarp();
  out[4] = __shfl_xor_sync(0xffffffffu, (float)i, 3);
  atomicAdd((int*)w.v[1], i);
  atomicOr((int*)w.v[1] + 1, 1 << (i % 32));
}
)");
  constexpr int kThreads = 64;
  char* to = unit.put(std::vector<double>(kThreads * 5));
  char* counts = unit.put(std::vector<int>(2));
  unit.run(1, kThreads, {unit.address(to), unit.address(counts)});
  const std::vector<double> got = unit.get<double>(to, kThreads * 5);
  for (int i = 0; i < kThreads; ++i) {
    const double* row = &got[static_cast<std::size_t>(i) * 5];
    EXPECT_EQ(row[0], i % 32 == 0 ? i : i - 1);
    EXPECT_EQ(row[1], i % 16 < 14 ? i + 2 : i);
    const int fifth = i / 8 * 8 + 5;
    EXPECT_EQ(row[2], fifth * fifth);
    EXPECT_EQ(row[3], 0xaaaaaaaau);
    EXPECT_EQ(row[4], i ^ 3);
  }
  EXPECT_EQ(unit.get<int>(counts, 2), (std::vector<int>{kThreads * (kThreads - 1) / 2, -1}));
}

TEST(CudaEmulated, SharedMemoryBeginsUnset) {
  const Unit unit(R"(
template <class T> __device__ T* area() { __shared__ T all[4]; return all; }
extern "C" __global__ void kernel(const pl_words<3> w) {
  extern __shared__ __align__(16) unsigned char pl_dynamic[];
  unsigned* all = area<unsigned>();
  ((unsigned*)w.v[0])[blockIdx.x] = all[1] == 0xcdcdcdcdu && pl_dynamic[15] == 0xcd ? 7 : 0;
  all[1] = 1;
  pl_dynamic[15] = 0;
}
)");
  char* to = unit.put(std::vector<unsigned>(3));
  unit.run(3, 1, {unit.address(to), 0, 0}, 16);
  EXPECT_EQ(unit.get<unsigned>(to, 3), (std::vector<unsigned>{7, 7, 7}));
}

TEST(CudaEmulated, TakesManyWords) {
  const Unit unit(R"(
extern "C" __global__ void kernel(const pl_words<300> w) {
  pl_word sum = 0;
  for (int i = 1; i < 300; ++i) sum += w.v[i];
  ((pl_word*)w.v[0])[threadIdx.x] = sum;
}
)");
  char* to = unit.put(std::vector<Word>(2));
  std::vector<Word> words(300, 3);
  words[0] = unit.address(to);
  unit.run(1, 2, words);
  EXPECT_EQ(unit.get<Word>(to, 2), (std::vector<Word>{897, 897}));
}

constexpr const char* kStep = R"(
extern "C" __global__ void kernel(const pl_words<3> w) {
  int* at = (int*)w.v[0] + threadIdx.x;
  *at = *at * (int)w.v[1] + (int)w.v[2];
}
)";

TEST(CudaEmulated, RecordsAndReplays) {
  const Unit unit(kStep);
  char* data = unit.put(std::vector<int>{1, 2});
  unit.device->begin_recording();
  unit.run(1, 2, {unit.address(data), 3, 1});
  unit.run(0, 2, {unit.address(data), 0, 0});
  const std::unique_ptr<Recording> recording = unit.device->end_recording();
  EXPECT_EQ(unit.get<int>(data, 2), (std::vector<int>{1, 2}));
  unit.device->replay(*recording);
  unit.device->replay(*recording);
  EXPECT_EQ(unit.get<int>(data, 2), (std::vector<int>{13, 22}));
}

TEST(CudaEmulated, LanesRunInAnotherOrder) {
  const Unit unit(kStep);
  char* data = unit.put(std::vector<int>{1});
  unit.device->fork(2);
  unit.device->launch({unit.function, 1, 1, 0, {unit.address(data), 1, 5}});
  unit.device->set_stream(1);
  unit.device->launch({unit.function, 1, 1, 0, {unit.address(data), 10, 0}});
  unit.device->join();
  EXPECT_EQ(unit.get<int>(data, 1), (std::vector<int>{15}));
}

/// Whether the launch ends with a message that has these words.
void expect_message(const Unit& unit, int threads, Word word, int block_bytes, const char* words) {
  const std::string said = thrown([&] { unit.run(1, threads, {word, 1, 1}, block_bytes); });
  EXPECT_NE(said.find(words), std::string::npos) << said;
}

TEST(CudaEmulated, FindsMistakes) {
  const Unit beyond(kStep);
  const char* data = beyond.put(std::vector<int>{1});
  expect_message(beyond, 2, beyond.address(data), 0,
                 "kernel kernel wrote beyond the buffer \"values\" of 4 bytes");
  const Unit split(R"(
extern "C" __global__ void kernel(const pl_words<3> w) {
  if (threadIdx.x < 3) __syncthreads(); else __syncwarp();
}
)");
  expect_message(split, 64, 0, 0,
                 "kernel kernel: threads of a warp wait at __syncthreads() and at a function");
  const Unit mixed(R"(
extern "C" __global__ void kernel(const pl_words<3> w) {
  if (threadIdx.x < 3) __syncwarp(); else __ballot_sync(0xffffffffu, 1);
}
)");
  expect_message(mixed, 32, 0, 0, "threads of a warp wait at different functions");
  const Unit shared(R"(
extern "C" __global__ void kernel(const pl_words<3> w) {
  extern __shared__ __align__(16) unsigned char pl_dynamic[];
  pl_dynamic[threadIdx.x] = 1;
}
)");
  expect_message(shared, 33, 0, 32, "kernel kernel wrote beyond its 32 bytes of shared memory");
  const std::string wrong = thrown([] { Unit("extern \"C\" void kernel() { nothing; }"); });
  EXPECT_NE(wrong.find("does not compile"), std::string::npos) << wrong;
}

TEST(CudaEmulated, MemoryIsCounted) {
  const std::shared_ptr<Device> device = make_emulated_device();
  const std::int64_t before = device->free_bytes();
  char* data = device->allocate(1000, "arena");
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(data) % 256, 0u);
  EXPECT_EQ(device->free_bytes(), before - 1000);
  EXPECT_EQ(thrown([&] { device->allocate(before, "weights"); }),
            str("no memory on the device for weights: ", before, " bytes asked for, ",
                before - 1000, " free"));
  device->release(data);
  EXPECT_EQ(device->free_bytes(), before);
}

}  // namespace
}  // namespace plait::cuda
