// A profile in MegEngine's schema, read back by our reader and reported on.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "io/megengine/format.h"
#include "io/megengine/index.h"
#include "report/megengine.h"
#include "report/megengine_facts.h"
#include "tests/profile/small_profile.h"
#include "tests/raises.h"

namespace plait::profile {
namespace {

namespace me = io::megengine;

me::Record record_of(const Profile& p) { return me::read(to_megengine(p), "p.json"); }

std::map<std::string, me::Operator> by_name(const me::Record& record) {
  std::map<std::string, me::Operator> out;
  for (const me::Operator& op : record.ops) out[op.name] = op;
  return out;
}

const me::Var& var_of(const me::Index& index, me::Id id) { return index.var(index.var_of(id)); }

TEST(ProfileMegEngine, IsFoundToBeThatFormat) {
  EXPECT_TRUE(me::detects(to_megengine(small_profile())));
}

TEST(ProfileMegEngine, KeepsWorkAndBytesOfEveryStep) {
  const Profile p = small_profile();
  const me::Record record = record_of(p);
  std::int64_t operations = 0, expected = 0;
  for (const StepInfo& step : p.steps) expected += step.operations;
  for (const me::Footprint& f : *record.profiler->footprints) {
    operations += f.computation.value_or(0);
  }
  EXPECT_EQ(operations, expected);
  const me::Index index(record);
  const auto ops = by_name(record);
  for (const StepInfo& step : p.steps) {
    const auto at = static_cast<std::size_t>(index.op_of(ops.at(step.name).id));
    EXPECT_EQ(index.footprint[at]->memory, step.bytes_read + step.bytes_written) << step.name;
    EXPECT_EQ(ops.at(step.name).type, step.type);
  }
  const auto adam = static_cast<std::size_t>(index.op_of(ops.at("%adam").id));
  EXPECT_FALSE(index.footprint[adam]->computation.has_value());
}

TEST(ProfileMegEngine, FootprintsSayKernelAndRates) {
  const me::Record record = record_of(small_profile());
  const me::Index index(record);
  const auto at = static_cast<std::size_t>(index.op_of(by_name(record).at("%conv2d").id));
  std::map<std::string, me::Json> others;
  for (const me::Member& m : index.footprint[at]->others) others[m.key] = m.value;
  EXPECT_EQ(*others.at("kernel").as<std::string>(), "conv2d.kernel");
  // 80 us of the median run: 15552 operations, 3120 bytes; peaks 1 GFLOP/s and 0.5 GB/s.
  EXPECT_NEAR(*others.at("gflops").as<double>(), 0.1944, 1e-9);
  EXPECT_NEAR(*others.at("gbs").as<double>(), 0.039, 1e-9);
  EXPECT_NEAR(*others.at("share_of_peak").as<double>(), 0.1944, 1e-9);
}

TEST(ProfileMegEngine, TimesAreThoseOfTheMedianRun) {
  const me::Record record = record_of(small_profile());
  const me::Index index(record);
  const auto ops = by_name(record);
  const auto busy = [&](const char* name) {
    return me::busy_seconds(*index.device[static_cast<std::size_t>(index.op_of(ops.at(name).id))]);
  };
  EXPECT_NEAR(busy("%conv2d"), 80e-6, 1e-12);
  EXPECT_NEAR(busy("%relu"), 20e-6, 1e-12);
  EXPECT_NEAR(busy("%w"), 0, 1e-12);
  const report::DeviceTimes times = report::device_times(index);
  EXPECT_NEAR(times.span, 200e-6, 1e-12);
  EXPECT_NEAR(times.busy, 160e-6, 1e-12);
  EXPECT_EQ(times.untimed, 0);
  // The way to the steps: 10 units to the first, 5 to the last, 5 to the end of the run.
  EXPECT_NEAR(report::host_seconds(index), 40e-6, 1e-12);
}

TEST(ProfileMegEngine, ABufferWrittenAgainIsAViewOfItself) {
  const me::Record record = record_of(small_profile());
  const me::Index index(record);
  const auto ops = by_name(record);
  const me::Id first = ops.at("%conv2d").outputs[0], second = ops.at("%relu").outputs[0];
  EXPECT_EQ(ops.at("%relu").inputs, std::vector<me::Id>{first});
  EXPECT_EQ(ops.at("%matmul").inputs, std::vector<me::Id>{second});
  EXPECT_EQ(var_of(index, second).readonly_src, first);
  EXPECT_FALSE(var_of(index, second).force_update_src.has_value());
}

TEST(ProfileMegEngine, StatesAreWeightsOrAreOverwritten) {
  const me::Record record = record_of(small_profile());
  const me::Index index(record);
  const auto ops = by_name(record);
  EXPECT_EQ(ops.at("%w").type, "ImmutableTensor");
  EXPECT_EQ(ops.at("%m").type, "SharedDeviceTensor");
  EXPECT_EQ(ops.at("%x").type, "Host2DeviceCopy");
  EXPECT_EQ(var_of(index, ops.at("%adam").outputs[0]).force_update_src, ops.at("%m").outputs[0]);
  const io::Import import = me::to_graphs(record);
  const ir::Graph& graph = import.package.graphs[0];
  ASSERT_EQ(graph.nexts.size(), 1u);
  EXPECT_EQ(graph.nexts[0].state, "m");
  EXPECT_EQ(graph.feeds.size(), 1u);
  EXPECT_EQ(graph.fetches.size(), 2u);  // out, and what nobody reads
}

TEST(ProfileMegEngine, MemoryIsThatOfTheArena) {
  const me::Record record = record_of(small_profile());
  const me::Index index(record);
  const report::RunMemory memory = report::run_memory(index);
  EXPECT_EQ(memory.weights, 472);
  std::int64_t results = 0;
  for (const report::Buffer& b : memory.results) results += b.bytes;
  EXPECT_EQ(results, 1536 + 1152 + 576 + 12);
  ASSERT_EQ(memory.scratch.size(), 1u);
  EXPECT_EQ(memory.scratch[0].bytes, 700);
  const report::Addresses addresses = report::addresses_of_results(index);
  EXPECT_EQ(addresses.distinct, 2700);  // x and out share, the last four bytes of 2752 are padding
  const auto arena = std::find_if(record.chunks.begin(), record.chunks.end(),
                                  [](const me::MemChunk& c) { return c.bytes == 2752; });
  EXPECT_NE(arena, record.chunks.end());
}

TEST(ProfileMegEngine, IsReportedOn) {
  const me::Record record = record_of(small_profile());
  const report::Page page = report::of_megengine(record, me::to_graphs(record));
  std::map<std::string, double> numbers;
  for (const report::Section& s : page.sections) {
    for (const report::Fact& f : s.facts) {
      if (f.number) numbers[f.name] = *f.number;
    }
  }
  EXPECT_EQ(numbers.at("recorded operations"), 15552 + 288 + 20736);
  EXPECT_EQ(numbers.at("recorded bytes"), 7244 + 1536 + 472 + 576 + 12);
  EXPECT_EQ(numbers.at("at the last run"), 2700);
  EXPECT_NE(page.text().find("ConvolutionForward"), std::string::npos);
}

/// Steps that read and write any buffers, in place and again and again.
Profile random_profile(std::mt19937& random) {
  const auto draw = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  Profile p;
  p.graph = "random";
  const int buffers = 1 + draw(6), steps = 1 + draw(12);
  for (int b = 0; b < buffers; ++b) {
    const std::int64_t size = 1 + draw(9);
    p.buffers.push_back(
        {str("%b", b), "f32", {size}, 4 * size, draw(3) ? 64 * b : -1, 0, steps, draw(4) == 0});
  }
  const auto some = [&](int most) {
    std::vector<int> out(static_cast<std::size_t>(draw(most + 1)));
    for (int& b : out) b = draw(buffers);
    return out;
  };
  Run run{{}, {0, 10 * steps}, {}};
  for (int s = 0; s < steps; ++s) {
    StepInfo step;
    step.name = str("%s", s);
    step.type = draw(2) ? "Elemwise" : "MatrixMul";
    step.operations = draw(100);
    step.scratch_bytes = draw(2) * 10;
    step.inputs = some(3);
    step.outputs = some(2);
    if (step.outputs.empty()) step.outputs = {draw(buffers)};
    p.steps.push_back(std::move(step));
    run.steps.push_back({10 * s + draw(3), 10 * s + 3 + draw(8)});
  }
  p.runs = {run};
  return p;
}

TEST(ProfileMegEngine, AnyOrderOfReadsAndWritesIsADocument) {
  std::mt19937 random(7);
  for (int i = 0; i < 300; ++i) {
    const Profile p = random_profile(random);
    const std::string text = to_megengine(p);
    try {
      const me::Record record = me::read(text, "p.json");
      const report::Page page = report::of_megengine(record, me::to_graphs(record));
      std::int64_t operations = 0, expected = 0;
      for (const StepInfo& step : p.steps) expected += step.operations;
      for (const auto& item : report::sums_by_type(me::Index(record))) {
        operations += item.second.operations;
      }
      EXPECT_EQ(operations, expected) << text;
      double busy = 0;
      for (Span span : p.runs[0].steps) busy += static_cast<double>(span.end_ns - span.begin_ns);
      EXPECT_NEAR(report::device_times(me::Index(record)).busy, busy * 1e-9, 1e-15) << text;
      EXPECT_FALSE(page.sections.empty());
    } catch (const std::exception& e) {
      FAIL() << e.what() << "\n" << text;
    }
  }
}

TEST(ProfileMegEngine, WithoutRunsThereAreNoTimes) {
  Profile p = small_profile();
  p.runs.clear();
  const me::Record record = record_of(p);
  EXPECT_FALSE(record.profiler->device.has_value());
  EXPECT_FALSE(record.profiler->host.has_value());
  EXPECT_TRUE(record.profiler->footprints.has_value());
}

TEST(ProfileMegEngine, APartThatDoesNotFitIsABug) {
  Profile p = small_profile();
  p.runs[1].steps.pop_back();
  EXPECT_EQ(test::message_of<Bug>([&] { to_megengine(p); }).substr(0, 31),
            "run 1 has 3 spans for 4 steps (");
  p = small_profile();
  p.steps[2].inputs = {17};
  EXPECT_EQ(test::message_of<Bug>([&] { to_megengine(p); }).substr(0, 35),
            "step %matmul names buffer 17 of 6 (");
}

}  // namespace
}  // namespace plait::profile
