// The text of every kernel and contraction that planning makes of the models and of the ops'
// samples: it reads back as the same, and what is read back is printed as the same code.
#include "loop/kernel_text.h"

#include <gtest/gtest.h>

#include <set>

#include "codegen/cuda/print.h"
#include "codegen/print_c.h"
#include "ir/text.h"
#include "models/registry.h"
#include "ops/table.h"
#include "tests/loop/same_kernel.h"
#include "tests/plan/planned.h"

namespace plait::plan {
namespace {

class RoundTrips {
 public:
  void check(const ir::Graph& graph) {
    const Planned planned = planned_of(graph);
    for (const PlannedKernel& k : planned.kernels) check(k.where, *k.kernel);
    for (const PlannedProduct& p : planned.products) {
      const std::string text = loop::print(p.contraction);
      if (texts_.insert(text).second) {
        const loop::Contraction read = loop::parse_contraction(text);
        EXPECT_EQ(loop::print(read), text) << p.where;
        EXPECT_EQ(difference(read, p.contraction), "") << p.where << "\n" << text;
      }
      if (p.epilogue) check(p.where, *p.epilogue);
    }
  }
  std::size_t count() const { return texts_.size(); }

 private:
  void check(const std::string& where, const loop::Kernel& k) {
    const std::string text = loop::print(k);
    if (!texts_.insert(text).second) return;
    loop::Kernel read;
    ASSERT_NO_THROW(read = loop::parse_kernel(text)) << where << "\n" << text;
    EXPECT_EQ(loop::print(read), text) << where;
    EXPECT_EQ(difference(read, k), "") << where << "\n" << text;
    EXPECT_EQ(codegen::print_kernel(read, true).text, codegen::print_kernel(k, true).text) << text;
    if (k.epilogue) return;
    EXPECT_EQ(codegen::cuda::print_kernel(read, true).text,
              codegen::cuda::print_kernel(k, true).text)
        << text;
  }

  std::set<std::string> texts_;
};

TEST(KernelText, OfEveryModel) {
  RoundTrips texts;
  for (const models::Entry& entry : models::all_models()) {
    for (const char* keys : {"", "?train=1"}) {
      for (const ir::Graph& graph : models::build(str(entry.name, keys)).graphs) texts.check(graph);
    }
  }
  EXPECT_GT(texts.count(), 400u);
}

TEST(KernelText, OfSymbolicSizes) {
  RoundTrips texts;
  texts.check(ir::parse_graph(R"(symbol n = 1..64
symbol size = 8..99
graph g(x: f32[n,size,size,8], i: i64[n]) state(w: f32[16,8,3,3], t: f32[50,16]) {
  %p = transpose(x, order=[0,3,1,2])                    : f32[n,8,size,size]
  %y = conv2d(%p, w, stride=[2,2], padding=[1,1])       : f32[n,16,(size+1)//2,(size+1)//2]
  %m = mean(%y, axes=[2,3])                             : f32[n,16]
  %e = gather(t, i, axis=0)                             : f32[n,16]
  %a = add(%m, %e)                                      : f32[n,16]
  %s = softmax(%a, axis=1)                              : f32[n,16]
  %c = sum(%s, axes=[0])                                : f32[16]
  return %s, %c
})"));
  EXPECT_GE(texts.count(), 3u);
}

TEST(KernelText, OfEveryOp) {
  RoundTrips texts;
  for (const Op* op : all_ops()) {
    for (const ir::Graph& graph : sample_graphs(*op, DType::bf16)) texts.check(graph);
  }
  EXPECT_GT(texts.count(), 400u);
}

}  // namespace
}  // namespace plait::plan
