// The page of a step: figures by rules, findings where there is something to find and nowhere else.
#include "report/chainer.h"
#include "report/chainer_memory.h"
#include "report/memory.h"
#include "tests/io/chainer/steps.h"

namespace plait {
namespace {

using report::Page;

Page page_of(const io::chainer::Record& record) {
  return report::of_chainer(record, io::chainer::to_graphs(record));
}

bool finds(const Page& page, const std::string& words) {
  for (const report::Finding& f : page.findings) {
    if (f.what.find(words) != std::string::npos) return true;
  }
  return false;
}

// x -> Sigmoid -> y -> Sum -> loss, with both backwards, and nothing to complain about but that.
const std::string kChain =
    "4 6\n0 400 0\n1 400 _\n2 400 _\n3 4 _\n"
    "forward\n1 1\n0 _\n1\nSigmoid\n{\"_output_indexes_to_retain\": [0], \"rank\": 0}\n"
    "forward\n1 1\n1 _\n2\nTanh\n{\"_output_indexes_to_retain\": [0], \"rank\": 1}\n"
    "forward\n1 1\n2 _\n3\nSum\n{\"axis\": null, \"rank\": 2}\n"
    "backward\n1 1\n3 gradient\n2\nSum\n{\"axis\": null, \"rank\": 2}\n"
    "backward\n2 1\n2 gradient\n2 output\n1\nTanh\n{\"rank\": 1}\n"
    "backward\n2 0\n1 gradient\n1 output\nSigmoid\n{\"rank\": 0}\n";

TEST(ChainerPage, MemoryByRetainLists) {
  const io::chainer::Record record = io::chainer::read(kChain, "chain");
  const io::chainer::Links links = io::chainer::links_of(record);
  const auto peak = [&](const report::StepRules& rules) {
    return report::memory_figures(report::step_buffers(record, links, rules, 4)).peak_bytes;
  };
  // Tanh's backward: y and tanh(y), which are kept, the gradient it reads and the one it makes.
  EXPECT_EQ(peak({}), 1600);
  EXPECT_EQ(peak({.keep_arrays = true}), 2004);  // and x, and the loss
  const auto all = report::step_buffers(record, links, {.views = false}, 4);
  EXPECT_EQ(report::memory_figures(all).keep_all_bytes, 400 * 5 + 4 * 2);
}

TEST(ChainerPage, AStepWithoutFlawsHasNoFindings) {
  const Page page = page_of(io::chainer::read(kChain, "chain"));
  for (const report::Finding& f : page.findings) ADD_FAILURE() << f.what;
}

TEST(ChainerPage, FindsWhatIsThere) {
  const Page vgg = page_of(test::record_of("vgg_small"));
  EXPECT_TRUE(finds(vgg, "pointwise operations behind a contraction"));
  EXPECT_TRUE(finds(vgg, "that a backward record makes and nothing reads"));
  EXPECT_TRUE(finds(vgg, "read arrays that their functions do not retain"));
  EXPECT_FALSE(finds(vgg, "lacks"));
  const Page unknown = page_of(test::record_of("unknown"));
  EXPECT_TRUE(finds(unknown, "4 operations that Plait lacks"));
  EXPECT_TRUE(finds(unknown, "Crop, Crop_backward, Mystery, Mystery_backward"));
  const Page words = page_of(test::record_of("words"));
  EXPECT_FALSE(finds(words, "wall"));
  EXPECT_FALSE(finds(words, "gradient"));
}

TEST(ChainerPage, CountsAndNodes) {
  const Page page = page_of(test::record_of("residual"));
  const std::string text = page.text();
  EXPECT_NE(text.find("22 (11 forward, 11 backward)"), std::string::npos) << text;
  for (const report::Finding& f : page.findings) EXPECT_FALSE(f.nodes.empty()) << f.what;
}

TEST(ChainerPage, AParameterThatNothingReadsIsFound) {
  std::string text = kChain;
  text.replace(0, 4, "5 6\n");
  text.insert(text.find("forward"), "4 64 /net/forgotten\n");
  const Page page = page_of(io::chainer::read(text, "chain"));
  EXPECT_TRUE(finds(page, "1 parameter that no operation reads"));
}

}  // namespace
}  // namespace plait
