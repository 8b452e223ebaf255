// Calls of printed kernels.
#include "tests/codegen/run_printed.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/at.h"

namespace plait::codegen {

namespace {

/// A buffer with bytes round it that must stay as they are.
class Fenced {
 public:
  explicit Fenced(const Bytes& bytes) : all_(bytes.size() + 2 * kFence, kByte) {
    std::copy(bytes.begin(), bytes.end(), all_.begin() + kFence);
  }
  char* data() { return all_.data() + kFence; }
  bool is_single_kernel() const {
    const auto is_fence = [](char c) { return c == kByte; };
    return std::all_of(all_.begin(), all_.begin() + kFence, is_fence) &&
           std::all_of(all_.end() - kFence, all_.end(), is_fence);
  }
  Bytes bytes() const { return {all_.begin() + kFence, all_.end() - kFence}; }

 private:
  static constexpr std::ptrdiff_t kFence = 64;
  static constexpr char kByte = 0x5a;
  Bytes all_;
};

}  // namespace

int run_printed(const Printed& printed, const Library& library, const DimBindings& bindings,
                std::vector<Bytes>& buffers) {
  std::vector<Fenced> fenced(buffers.begin(), buffers.end());
  std::vector<char*> pointers;
  for (Fenced& b : fenced) pointers.push_back(b.data());
  const auto number = [&](const Dim& d) { return evaluate(d, bindings); };
  std::vector<Bytes> columns;
  for (const Dim& d : printed.column_sizes) columns.emplace_back(at(number(d)) * 8 + 64);
  for (Bytes& b : columns) pointers.push_back(b.data());
  std::vector<std::int64_t> sizes{};
  for (const Dim& d : printed.parameters) sizes.push_back(number(d));
  Bytes scratch(at(printed.scratch_rows) * at(number(printed.scratch_row_size) * 8 + 64) + 64);
  int bad = 0;
  reinterpret_cast<LoopFunction>(library.symbol(printed.name))(
      pointers.data(), sizes.data(), 0, number(printed.rows), 0, scratch.data(), &bad);
  if (const std::int64_t rows = number(printed.finish_rows); rows > 0) {
    reinterpret_cast<FinishFunction>(library.symbol(printed.name + "_finish"))(
        pointers.data(), sizes.data(), 0, rows, 1);
  }
  for (std::size_t b = 0; b < buffers.size(); ++b) {
    EXPECT_TRUE(fenced[b].is_single_kernel()) << printed.name << " wrote beside buffer " << b;
    buffers[b] = fenced[b].bytes();
  }
  return bad;
}

int run_printed(const cuda::Printed& printed, plait::cuda::Device& device,
                const plait::cuda::Module& module, const DimBindings& bindings,
                std::vector<Bytes>& buffers, bool many, const Place& place) {
  using plait::cuda::Word;
  std::vector<char*> rooms;
  plait::cuda::Launch launch;
  launch.threads = printed.threads;
  launch.block_bytes = printed.block_bytes;
  launch.maps = printed.maps;
  const auto room = [&](std::int64_t bytes, const std::string& what) {
    char* data = device.allocate(bytes, what);
    rooms.push_back(data);
    launch.words.push_back(reinterpret_cast<Word>(data));
    return data;
  };
  std::vector<char*> addresses;
  for (const Bytes& b : buffers) {
    addresses.push_back(room(static_cast<std::int64_t>(b.size()), "a buffer"));
    device.write(addresses.back(), b.data(), static_cast<std::int64_t>(b.size()));
  }
  if (place.written >= 0) {
    addresses[at(place.written)] = addresses[at(place.read)];
    launch.words[at(place.written)] = reinterpret_cast<Word>(addresses[at(place.read)]);
  }
  for (const Dim& d : printed.scratch_sizes) room(evaluate(d, bindings) * 8, "scratch");
  char* const flags = room(4, "error bits");
  device.zero(flags, 4);
  for (const Dim& d : printed.parameters) {
    launch.words.push_back(static_cast<Word>(evaluate(d, bindings)));
  }
  if (many) {
    const auto bytes = static_cast<std::int64_t>(launch.words.size() * 8);
    const std::vector<Word> words = std::move(launch.words);
    launch.words.clear();
    device.write(room(bytes, "a table"), words.data(), bytes);
    device.zero(room(8, "first blocks"), 8);
    launch.words.push_back(1);
  }
  for (const auto& [suffix, blocks] :
       {std::pair("", printed.blocks), std::pair("_finish", printed.finish_blocks)}) {
    launch.blocks = evaluate(blocks, bindings);
    if (launch.blocks == 0) continue;
    launch.function = module.function(printed.name + suffix + (many ? "_many" : ""));
    device.launch(launch);
    launch.threads = cuda::kThreads;  // of a second stage
    launch.block_bytes = std::min(launch.block_bytes, cuda::kFinishBytes);
  }
  device.wait();
  for (std::size_t b = 0; b < buffers.size(); ++b) {
    device.read(buffers[b].data(), addresses[b], static_cast<std::int64_t>(buffers[b].size()));
  }
  int bad = 0;
  device.read(&bad, flags, 4);
  for (char* data : rooms) device.release(data);
  return bad;
}

}  // namespace plait::codegen
