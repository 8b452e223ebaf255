// What the tests of CUDA text share: kernels in short form, and a run of one in both dialects
// beside the interpreter.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "codegen/compile.h"
#include "tests/codegen/run_printed.h"

namespace plait::codegen::cuda {

using loop::Expr;
using loop::Kernel;
using loop::KernelOperand;
using loop::Let;
using loop::Reduce;

/// A kernel of `rows` x `inner` points whose buffers are filled with random numbers.
class Making {
 public:
  Making(const std::vector<Dim>& rows, const std::vector<Dim>& inner) {
    for (const Dim& d : rows) k.rows.push_back({str("$r", k.rows.size()), d});
    for (const Dim& d : inner) k.inner.push_back({str("$i", k.inner.size()), d});
  }
  Dim row(std::size_t i = 0) const { return symbol_of(k.rows[i]); }
  Dim at(std::size_t i = 0) const { return symbol_of(k.inner[i]); }
  /// Row-major over all indices.
  Dim place() const {
    Dim d = 0;
    for (const auto* list : {&k.rows, &k.inner}) {
      for (const loop::KernelIndex& x : *list) d = d * x.extent + symbol_of(x);
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
    l.compute = loop::compute_type(dtype);
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

/// Elements that a kernel touches of each buffer.
inline std::vector<std::int64_t> sizes_of(const Kernel& k, const DimBindings& bindings) {
  DimBindings all = bindings;
  for (const auto* list : {&k.rows, &k.inner}) {
    for (const loop::KernelIndex& x : *list) {
      const std::int64_t last = std::max<std::int64_t>(evaluate(x.extent, bindings) - 1, 0);
      all.insert_or_assign(x.symbol, Dim::symbol("'" + x.symbol, 0, last));
    }
  }
  std::vector<std::int64_t> elements(k.buffers.size(), 1);
  const auto reach = [&](int buffer, const Dim& offset) {
    std::int64_t& n = elements[static_cast<std::size_t>(buffer)];
    n = std::max(n, offset.substitute(all).hi() + 1);
  };
  for (const Let& l : k.lets) {
    for (const KernelOperand& o : l.operands) {
      if (o.kind == KernelOperand::kLoad) reach(o.load.buffer, o.load.offset);
    }
  }
  for (const loop::KernelStore& st : k.stores) reach(st.buffer, st.offset);
  return elements;
}

/// One for all cases: a GPU takes its time to begin.
inline plait::cuda::Device& device_of_cases() {
  static const std::shared_ptr<plait::cuda::Device> device = plait::test::device_under_test();
  return *device;
}

/// The kernel in C and in CUDA C++, and what each wrote compared with what the interpreter does: to
/// the bit where no floats are added up. `bound`: of integers.
inline void compare(const Kernel& k, const DimBindings& bindings = {}, bool fixed = true,
                    int bound = 5, int expected_bad = 0, const Place& place = {}) {
  OracleCase c{"the kernel", std::nullopt, std::make_shared<const Kernel>(k), bindings, {}};
  c.elements = sizes_of(k, bindings);
  const std::vector<Bytes> given = random_buffers(c, 7, false, bound);
  Oracle want = oracle_of(c, given, SumOrder::kCuda);
  EXPECT_EQ(bits_of(want.faults), expected_bad);
  OracleCounts counts;
  std::vector<Bytes> in_c = given;
  const codegen::Printed plain = codegen::print_kernel(k, false);
  const Library library = build({codegen::unit_header() + plain.text}).libraries[0];
  EXPECT_EQ(run_printed(plain, library, bindings, in_c), expected_bad);
  EXPECT_EQ(difference(c, want, in_c, counts), "") << "in C";
  std::vector<Bytes> in_cuda = given;
  const Printed printed = print_kernel(k, fixed);
  const auto module = device_of_cases().compile({unit_header() + printed.text}).modules[0];
  const bool many = printed.many && c.elements[0] % 2 == 0;
  EXPECT_EQ(run_printed(printed, device_of_cases(), *module, bindings, in_cuda, many, place),
            expected_bad);
  if (place.read >= 0) {  // the other buffer's result lies there
    std::vector<double>& by = want.by[static_cast<std::size_t>(place.read)];
    std::fill(by.begin(), by.end(), std::nan(""));
  }
  EXPECT_EQ(difference(c, want, in_cuda, counts), "") << "in CUDA C++";
}

}  // namespace plait::codegen::cuda
