// What the tests of CUDA text share: kernels in short form, and a run of one on a device beside
// the same kernel in C.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "base/convert.h"
#include "codegen/compile.h"
#include "codegen/cuda/print.h"
#include "codegen/print_c.h"
#include "tests/backends/device_under_test.h"

namespace plait::codegen::cuda {

using loop::Expr;
using loop::Kernel;
using loop::KernelOperand;
using loop::Let;
using loop::Reduce;

inline Dim index_of(const loop::KernelIndex& x) {
  return Dim::symbol(x.symbol, 0, std::max<std::int64_t>(x.extent.hi() - 1, 0));
}
inline DType natural(DType t) {
  return t == DType::f64 ? DType::f64 : is_float(t) ? DType::f32 : DType::i64;
}

/// A kernel of `rows` x `inner` points whose buffers are filled with random numbers.
class Making {
 public:
  Making(const std::vector<Dim>& rows, const std::vector<Dim>& inner) {
    for (const Dim& d : rows) k.rows.push_back({str("$r", k.rows.size()), d});
    for (const Dim& d : inner) k.inner.push_back({str("$i", k.inner.size()), d});
  }
  Dim row(std::size_t i = 0) const { return index_of(k.rows[i]); }
  Dim at(std::size_t i = 0) const { return index_of(k.inner[i]); }
  /// Row-major over all indices.
  Dim place() const {
    Dim d = 0;
    for (const auto* list : {&k.rows, &k.inner}) {
      for (const loop::KernelIndex& x : *list) d = d * x.extent + index_of(x);
    }
    return d;
  }
  KernelOperand load(DType dtype, const Dim& offset) {
    k.buffers.push_back({dtype, false});
    KernelOperand o;
    o.kind = KernelOperand::kLoad;
    o.load = {static_cast<int>(k.buffers.size()) - 1, offset};
    return o;
  }
  static KernelOperand value(int let) {
    KernelOperand o;
    o.kind = KernelOperand::kLet;
    o.let = let;
    return o;
  }
  int let(DType dtype, const Expr& body, std::vector<KernelOperand> operands, int stage = 0) {
    Let l;
    l.dtype = dtype;
    l.compute = natural(dtype);
    l.body = body;
    l.operands = std::move(operands);
    l.stage = stage;
    k.lets.push_back(std::move(l));
    k.stages = std::max(k.stages, stage + 1);
    return static_cast<int>(k.lets.size()) - 1;
  }
  int reduce(Reduce how, int of, bool column, int stage = 0) {
    const int i =
        let(k.lets[static_cast<std::size_t>(of)].dtype, Expr::load(0), {value(of)}, stage);
    k.lets.back().reduce = how;
    k.lets.back().column = column;
    return i;
  }
  void keep(int let) { k.lets[static_cast<std::size_t>(let)].kept = true; }
  void store(int let, const Dim& offset) {
    k.buffers.push_back({k.lets[static_cast<std::size_t>(let)].dtype, true});
    k.stores.push_back({let, static_cast<int>(k.buffers.size()) - 1, offset});
  }
  Kernel done() {
    collapse(k);
    return k;
  }

  Kernel k;
};

struct Sizes {
  std::vector<std::int64_t> elements;  // per buffer
};

/// Elements that a kernel touches of each buffer.
inline Sizes sizes_of(const Kernel& k, const DimBindings& bindings) {
  DimBindings all = bindings;
  for (const auto* list : {&k.rows, &k.inner}) {
    for (const loop::KernelIndex& x : *list) {
      const std::int64_t last = std::max<std::int64_t>(evaluate(x.extent, bindings) - 1, 0);
      all.insert_or_assign(x.symbol, Dim::symbol("'" + x.symbol, 0, last));
    }
  }
  Sizes s;
  s.elements.assign(k.buffers.size(), 1);
  const auto reach = [&](int buffer, const Dim& offset) {
    std::int64_t& n = s.elements[static_cast<std::size_t>(buffer)];
    n = std::max(n, offset.substitute(all).hi() + 1);
  };
  for (const Let& l : k.lets) {
    for (const KernelOperand& o : l.operands) {
      if (o.kind == KernelOperand::kLoad) reach(o.load.buffer, o.load.offset);
    }
  }
  for (const loop::KernelStore& st : k.stores) reach(st.buffer, st.offset);
  return s;
}

using Bytes = std::vector<char>;

inline Bytes random_bytes(DType dtype, std::int64_t elements, int bound, std::mt19937& random) {
  Bytes bytes(static_cast<std::size_t>(elements) * size_of(dtype));
  std::normal_distribution<float> normal;
  visit_dtype(dtype, [&]<class T>(TypeTag<T>) {
    for (std::int64_t i = 0; i < elements; ++i) {
      T x{};
      if constexpr (std::is_integral_v<T>) {
        x = static_cast<T>(random() % static_cast<unsigned>(bound));
      } else {
        x = static_cast<T>(normal(random));
      }
      std::memcpy(bytes.data() + static_cast<std::size_t>(i) * sizeof(T), &x, sizeof(T));
    }
  });
  return bytes;
}

/// The kernel in C, all rows at once. The bits that it sets for what went wrong.
inline int run_in_c(const Kernel& k, const DimBindings& bindings, std::vector<Bytes>& buffers) {
  const codegen::Printed printed = codegen::print_kernel(k, false);
  const Library library = build({codegen::unit_header() + printed.text}).libraries[0];
  std::vector<char*> pointers;
  for (Bytes& b : buffers) pointers.push_back(b.data());
  const auto number = [&](const Dim& d) { return evaluate(d, bindings); };
  std::vector<Bytes> columns;
  for (const Dim& d : printed.column_sizes) {
    columns.emplace_back(static_cast<std::size_t>(number(d)) * 8 + 64);
  }
  for (Bytes& b : columns) pointers.push_back(b.data());
  std::vector<std::int64_t> sizes{};
  for (const Dim& d : printed.parameters) sizes.push_back(number(d));
  Bytes scratch(static_cast<std::size_t>(printed.kept) *
                    static_cast<std::size_t>(number(printed.kept_size) * 8 + 64) +
                64);
  int bad = 0;
  reinterpret_cast<LoopFunction>(library.symbol(printed.name))(
      pointers.data(), sizes.data(), 0, number(printed.rows), 0, scratch.data(), &bad);
  if (const std::int64_t rows = number(printed.finish_rows); rows > 0) {
    reinterpret_cast<FinishFunction>(library.symbol(printed.name + "_finish"))(
        pointers.data(), sizes.data(), 0, rows, 1);
  }
  return bad;
}

/// One for all cases: a GPU takes its time to begin.
inline plait::cuda::Device& device_of_cases() {
  static const std::shared_ptr<plait::cuda::Device> device = plait::test::device_under_test();
  return *device;
}

/// A buffer that lies where another one does, as results may that take an operand's place.
struct Place {
  int written = -1, read = -1;
};

/// The kernel's CUDA text on the device under test. `many`: by a table of one call.
inline int run_in_cuda(const Kernel& k, const DimBindings& bindings, std::vector<Bytes>& buffers,
                       bool fixed, bool many, const Place& place = {}) {
  const Printed printed = print_kernel(k, fixed);
  many &= printed.many;
  plait::cuda::Device* const device = &device_of_cases();
  std::vector<char*> rooms;
  const auto module = device->compile({unit_header() + printed.text}).modules[0];
  plait::cuda::Launch launch;
  launch.threads = printed.threads;
  launch.block_bytes = printed.block_bytes;
  const auto room = [&](std::int64_t bytes, const std::string& what) {
    char* data = device->allocate(bytes, what);
    rooms.push_back(data);
    launch.words.push_back(reinterpret_cast<plait::cuda::Word>(data));
    return data;
  };
  std::vector<char*> addresses;
  for (const Bytes& b : buffers) {
    addresses.push_back(room(static_cast<std::int64_t>(b.size()), "a buffer"));
    device->write(addresses.back(), b.data(), static_cast<std::int64_t>(b.size()));
  }
  if (place.written >= 0) {
    const auto to = static_cast<std::size_t>(place.written);
    addresses[to] = addresses[static_cast<std::size_t>(place.read)];
    launch.words[to] = reinterpret_cast<plait::cuda::Word>(addresses[to]);
  }
  for (const Dim& d : printed.scratch_sizes) room(evaluate(d, bindings) * 8, "scratch");
  char* const flags = room(4, "error bits");
  device->zero(flags, 4);
  for (const Dim& d : printed.parameters) {
    launch.words.push_back(static_cast<plait::cuda::Word>(evaluate(d, bindings)));
  }
  if (many) {
    const auto bytes = static_cast<std::int64_t>(launch.words.size() * 8);
    const std::vector<plait::cuda::Word> words = std::move(launch.words);
    launch.words.clear();
    device->write(room(bytes, "a table"), words.data(), bytes);
    device->zero(room(8, "first blocks"), 8);
    launch.words.push_back(1);
  }
  for (const auto& [suffix, blocks] :
       {std::pair("", printed.blocks), std::pair("_finish", printed.finish_blocks)}) {
    launch.blocks = evaluate(blocks, bindings);
    if (launch.blocks == 0) continue;
    launch.function = module->function(printed.name + suffix + (many ? "_many" : ""));
    device->launch(launch);
  }
  device->wait();
  for (std::size_t b = 0; b < buffers.size(); ++b) {
    device->read(buffers[b].data(), addresses[b], static_cast<std::int64_t>(buffers[b].size()));
  }
  int bad = 0;
  device->read(&bad, flags, 4);
  for (char* data : rooms) device->release(data);
  return bad;
}

/// Both, and what they wrote compared: to the bit where nothing is added up. `bound`: of integers.
inline void compare(const Kernel& k, const DimBindings& bindings = {}, bool fixed = true,
                    int bound = 5, int expected_bad = 0, const Place& place = {}) {
  std::mt19937 random(7);
  const Sizes sizes = sizes_of(k, bindings);
  std::vector<Bytes> c;
  for (std::size_t b = 0; b < k.buffers.size(); ++b) {
    c.push_back(random_bytes(k.buffers[b].dtype, sizes.elements[b], bound, random));
  }
  std::vector<Bytes> cuda = c;
  EXPECT_EQ(run_in_c(k, bindings, c), expected_bad);
  EXPECT_EQ(run_in_cuda(k, bindings, cuda, fixed, sizes.elements[0] % 2 == 0, place), expected_bad);
  bool reduces = false;
  for (const Let& l : k.lets) reduces |= l.reduce != Reduce::kNone;
  for (std::size_t b = 0; b < k.buffers.size(); ++b) {
    if (static_cast<int>(b) == place.read) continue;
    const DType t = k.buffers[b].dtype;
    const double tolerance = !reduces ? 0 : t == DType::bf16 ? 2e-2 : t == DType::f16 ? 3e-3 : 2e-4;
    visit_dtype(t, [&]<class T>(TypeTag<T>) {
      for (std::size_t i = 0; i < c[b].size() / sizeof(T); ++i) {
        T want, got;
        std::memcpy(&want, c[b].data() + i * sizeof(T), sizeof(T));
        std::memcpy(&got, cuda[b].data() + i * sizeof(T), sizeof(T));
        if (std::memcmp(&want, &got, sizeof(T)) == 0) continue;
        const auto x = static_cast<double>(static_cast<float>(want));
        ASSERT_LE(std::abs(static_cast<double>(static_cast<float>(got)) - x),
                  tolerance * (1 + std::abs(x)))
            << "buffer " << b << " at " << i;
      }
    });
  }
}

}  // namespace plait::codegen::cuda
