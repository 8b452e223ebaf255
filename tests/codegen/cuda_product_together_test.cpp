// Several products of one shape as one launch: each is to the bit what it is alone.
#include <algorithm>

#include "tests/codegen/cuda_product_check.h"

namespace plait::codegen::cuda {
namespace {

using plait::cuda::Word;

constexpr int kCalls = 3;

/// Operands and result of each call on the device.
struct Calls {
  Calls(plait::cuda::Device& device, const Problem& problem, bool tf32) {
    for (unsigned i = 0; i < kCalls; ++i) {
      const Expected& e = expected.emplace_back(problem, tf32, 11 + i);
      a.push_back(std::make_unique<OnDevice>(device, e.a, "a"));
      b.push_back(std::make_unique<OnDevice>(device, e.b, "b"));
      const std::vector<std::byte> unset(e.want.size() * size_of(problem.dtype), std::byte{0xa5});
      c.push_back(std::make_unique<OnDevice>(device, unset, "c"));
    }
  }
  std::vector<Word> words(std::size_t i) const {
    return {a[i]->word(), b[i]->word(), c[i]->word()};
  }

  std::vector<Expected> expected;
  std::vector<std::unique_ptr<OnDevice>> a, b, c;
};

void launch_together(plait::cuda::Device& device, const plait::cuda::Module& module,
                     const Printed& p, const Calls& calls) {
  const std::vector<std::byte> zero(4);
  const OnDevice errors(device, zero, "errors");
  plait::cuda::Launch launch{
      module.function(p.name), evaluate(p.blocks, {}), p.threads, p.block_bytes, {}, p.maps};
  std::vector<Word> table;
  for (std::size_t i = 0; i < kCalls; ++i) {
    launch.words = calls.words(i);
    launch.words.push_back(errors.word());
    for (const Dim& d : p.parameters) launch.words.push_back(static_cast<Word>(evaluate(d, {})));
    const std::vector<Word> row = p.maps > 0 ? device.mapped(launch) : launch.words;
    table.insert(table.end(), row.begin(), row.end());
  }
  std::vector<std::byte> bytes(table.size() * sizeof(Word));
  std::memcpy(bytes.data(), table.data(), bytes.size());
  const OnDevice rows(device, bytes, "table");
  launch.words = {rows.word(), kCalls, table.size() / kCalls};
  launch.blocks *= kCalls;
  launch.maps = 0;
  device.launch(launch);
  EXPECT_EQ(errors.read(), zero);
}

/// One of every core that can.
std::vector<std::string> one_of_each(const std::vector<std::string>& variants) {
  std::vector<std::string> some;
  for (const char* core : {".pair", ".wg", ".g2", ".mma", ".fma", "simple"}) {
    const auto found = std::find_if(variants.begin(), variants.end(), [&](const std::string& v) {
      return v.find(core) != std::string::npos;
    });
    if (found != variants.end()) some.push_back(*found);
  }
  return some;
}

/// How many variants were tried.
std::size_t expect_as_alone(const Problem& problem, bool tf32) {
  const auto device = test::device_under_test();
  const loop::Contraction contraction = contraction_of(problem);
  ProductOptions alone{tf32, "", device->has_pairs()}, together = alone;
  together.calls = kCalls;
  const std::vector<std::string> variants =
      one_of_each(product_variants(contraction, {}, together));
  std::string text = unit_header();
  std::vector<std::pair<Printed, Printed>> printed;  // for one, for many
  for (const std::string& v : variants) {
    alone.variant = together.variant = v;
    const auto& [one, many] =
        printed.emplace_back(print_product(contraction, nullptr, true, alone),
                             print_product(contraction, nullptr, true, together));
    EXPECT_TRUE(many.table && !one.table);
    text += one.text + many.text;
  }
  const plait::cuda::Built built = device->compile({text});
  const plait::cuda::Module& module = *built.modules[0];
  for (std::size_t v = 0; v < variants.size(); ++v) {
    const auto& [one, many] = printed[v];
    SCOPED_TRACE(str(name_of(problem.dtype), " ", variants[v]));
    const Calls by_one(*device, problem, tf32), at_once(*device, problem, tf32);
    launch_together(*device, module, many, at_once);
    for (std::size_t i = 0; i < kCalls; ++i) {
      launch(*device, module, one, by_one.words(i), {});
      EXPECT_EQ(by_one.c[i]->read(), at_once.c[i]->read()) << "call " << i;
      expect_right(*device, module, one, by_one.expected[i], {});
    }
  }
  return variants.size();
}

TEST(CudaProductTogether, EachIsWhatItIsAlone) {
  const std::size_t pairs = test::device_under_test()->has_pairs() ? 1 : 0;
  const bool gpu = test::tested_on_gpu();
  const std::int64_t m = gpu ? 648 : 72, n = gpu ? 136 : 40;  // the emulated device is slow
  for (const bool turned : {false, true}) {
    Problem p = cpu::matmul({.m = m, .n = n, .k = 264, .b_turned = turned});
    p.dtype = turned ? DType::f16 : DType::bf16;
    EXPECT_EQ(expect_as_alone(p, false), 4 + pairs);  // wg, its slices, mma, simple
    p = cpu::matmul({.m = 37, .n = 41, .k = 29, .a_turned = turned, .c_turned = turned});
    p.dtype = DType::f32;
    EXPECT_EQ(expect_as_alone(p, false), 2u);  // fma, simple
    EXPECT_GE(expect_as_alone(p, true), 2u);
  }
  Problem p = cpu::matmul({.m = 20, .n = 33, .k = 40, .batch = 2, .share_b = true});
  p.dtype = DType::i32;
  EXPECT_EQ(expect_as_alone(p, false), 2u);
}

/// One tile of each fills few multiprocessors: more calls want larger tiles, and take no longer
/// than as many launches.
TEST(CudaProductTogether, TheGuessIsForSoManyCalls) {
  Problem p = cpu::matmul({.m = 2048, .n = 512, .k = 512, .b_turned = true});
  p.dtype = DType::bf16;
  const loop::Contraction c = contraction_of(p);
  const auto us = [&](int calls) {
    return product_us(c, nullptr, {}, {.tf32 = false, .pairs = true, .calls = calls});
  };
  EXPECT_GT(us(2), us(1));
  EXPECT_LT(us(2), 2 * us(1));
  EXPECT_LT(us(8), 2 * us(4));
  for (const std::string& v : product_variants(c, {}, {.tf32 = false, .pairs = true, .calls = 2})) {
    EXPECT_TRUE(v.find(".k") == v.npos && v.find(".w") == v.rfind(".wg")) << v;
  }
}

}  // namespace
}  // namespace plait::codegen::cuda
