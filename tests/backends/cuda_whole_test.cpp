// A small program as one kernel: what it leaves is to the bit what its calls leave one by one, with
// its values in shared memory or where they are, with warps of their own or blocks that meet.
#include <gtest/gtest.h>

#include <cstring>

#include "backends/cuda/target.h"
#include "backends/runtime.h"
#include "tests/backends/device_under_test.h"
#include "tests/codegen/cuda_case.h"

namespace plait::cuda {
namespace {

using codegen::cuda::Making;
using loop::Expr;
using loop::Kernel;
using loop::Reduce;

const Expr x = Expr::load(0), y = Expr::load(1);

/// Buffers of a program over rows x 8 values. `again` lies where `twice` does.
enum Buffer { kState, kTwice, kSums, kLess, kAgain, kRest, kCount };

/// x * 2 over all points, or x - y.
Kernel flat(int rows, const Expr& body, bool two) {
  Making m({}, {rows * 8});
  std::vector<loop::KernelOperand> operands{m.load(DType::f32, m.at())};
  if (two) operands.push_back(m.load(DType::f32, m.at()));
  m.store(m.let(DType::f32, body, operands), m.at());
  return m.done();
}

Kernel column_sums(int rows) {
  Making m({rows}, {8});
  const int value = m.let(DType::f32, x, {m.load(DType::f32, m.place())});
  m.store(m.reduce(Reduce::kSum, value, true), m.at());
  return m.done();
}

/// Softly x - y, where y has one value for each column: less its own row's sum.
Kernel rows_less(int rows) {
  Making m({rows}, {8});
  const int value =
      m.let(DType::f32, x - y * 0.25, {m.load(DType::f32, m.place()), m.load(DType::f32, m.at())});
  m.keep(value);
  const int sum = m.reduce(Reduce::kSum, value, false);
  m.store(m.let(DType::f32, x - y * 0.125, {Making::value(value), Making::value(sum)}, 1),
          m.place());
  return m.done();
}

class Program {
 public:
  /// `beside`: bytes of a buffer that nothing uses.
  Program(int rows, std::int64_t beside)
      : target_(make_cuda_target(test::device_under_test(), nullptr, {})),
        runtime_(target_->open()),
        rows_(rows) {
    add(flat(rows, x * 2.0, false), {kState, kTwice});
    add(column_sums(rows), {kTwice, kSums});
    add(rows_less(rows), {kTwice, kSums, kLess});
    add(flat(rows, x * 0.5, false), {kState, kAgain});  // where others still read `twice`
    add(flat(rows, x - y * 0.25, true), {kLess, kAgain, kRest});
    add(flat(rows, x, false), {kRest, kState});
    const std::int64_t bytes = rows * 8 * 4;
    for (int b = 0; b < kCount; ++b) {
      const std::size_t place = b == kAgain ? kTwice : b;
      program_.buffers.push_back(
          {"", program::Region::kArena, bytes, static_cast<std::int64_t>(place) * bytes, 0, 5});
      program_.views.push_back(
          {"", {DType::f32, {rows, 8}}, {0, 1}, program::BufferId(static_cast<std::size_t>(b))});
    }
    if (beside > 0) {
      program_.buffers.push_back({"", program::Region::kArena, beside, kCount * bytes, 0, 5});
    }
    program_.single_kernel = true;
    target_->add_code(program_);
    code_ = runtime_->load(program_);
    space_ = runtime_->allocate(kCount * bytes + beside, "values");
    std::vector<float> values(static_cast<std::size_t>(rows) * 8);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(i * 37 % 101) / 64.0f - 0.75f;
    }
    space_->write(0, values.data(), bytes);
    Memory memory;
    for (const program::Buffer& b : program_.buffers) {
      memory.buffers.push_back(space_->data() + b.offset);
    }
    workspace_ = runtime_->allocate(1 << 20, "workspace");
    memory.shared = workspace_->data();
    memory.shared_bytes = 4096;
    code_->bind({}, memory);
  }

  void run_apart() {
    for (std::size_t s = 0; s < program_.steps.size(); ++s) EXPECT_EQ(code_->run(s), nullptr);
  }
  void run_whole(int runs) { EXPECT_TRUE(code_->run_row(runs, nullptr)); }

  std::vector<float> state() const {
    std::size_t step = 0;
    EXPECT_EQ(code_->wait(step), nullptr);
    std::vector<float> values(static_cast<std::size_t>(rows_) * 8);
    space_->read(0, values.data(), static_cast<std::int64_t>(values.size() * 4));
    return values;
  }

 private:
  /// Each value has the number of its buffer.
  void add(const Kernel& kernel, const std::vector<std::size_t>& values) {
    PrintedLoop printed = target_->print(kernel, true);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const bool written = kernel.buffers[i].written;
      printed.call.arguments.push_back(
          {program::ViewId(values[i]), written ? program::Access::kWrite : program::Access::kRead});
    }
    program_.steps.emplace_back().calls = {printed.call};
    program_.texts.emplace(printed.call.function.name, printed.text);
  }

  std::unique_ptr<Target> target_;
  std::unique_ptr<Runtime> runtime_;
  int rows_;
  program::Program program_;
  std::unique_ptr<Code> code_;
  std::unique_ptr<Space> space_, workspace_;
};

void compare(int rows, std::int64_t beside) {
  Program whole(rows, beside), apart(rows, 0);
  whole.run_whole(1);
  whole.run_whole(2);
  for (int i = 0; i < 3; ++i) apart.run_apart();
  const std::vector<float> got = whole.state(), want = apart.state();
  EXPECT_EQ(std::memcmp(got.data(), want.data(), want.size() * 4), 0);
  EXPECT_NE(want[0], want[9]);
}

TEST(CudaWhole, WarpsOfTheirOwn) {
  for (int rows : {1, 5, 64, 128}) {
    SCOPED_TRACE(rows);
    compare(rows, 0);
  }
}

TEST(CudaWhole, BlocksThatMeet) { compare(700, 0); }

TEST(CudaWhole, ValuesStayWhereTheyAreWhenTheyAreTooMany) {
  compare(64, 1 << 20);
  compare(700, 1 << 20);
}

}  // namespace
}  // namespace plait::cuda
