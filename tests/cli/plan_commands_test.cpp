// plan, compile, explain, profile, bench, and run of a plan: what they say fits together, and one
// case per message.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "base/cpus.h"
#include "base/device_model.h"
#include "base/text.h"
#include "cli/allocations.h"
#include "io/file.h"
#include "io/npy.h"
#include "program/program.h"
#include "tests/cli/program.h"
#include "tests/temporary.h"

namespace plait::test {
namespace {

using Json = nlohmann::ordered_json;

// Two equal nodes, a constant to fold, a composite, a state that advances.
const std::string kText =
    "graph g(x: f32[6,16]) state(w: f32[16,16] = xavier, n: f32[6] as counter) {\n"
    "  %lin = linear(x, w, _)    : f32[6,16] @ fc\n"
    "  %act = relu(%lin)         : f32[6,16] @ fc\n"
    "  %again = relu(%lin)       : f32[6,16]\n"
    "  %both = add(%act, %again) : f32[6,16]\n"
    "  %soft = softmax(%both, axis=1) : f32[6,16]\n"
    "  %total = sum(%soft, axes=[1])  : f32[6]\n"
    "  %next = add(n, %total)    : f32[6]\n"
    "  next n = %next\n"
    "  return soft = %soft, total = %total\n"
    "}\n";

const std::string kSymbolic =
    "symbol batch = 1..8\n"
    "graph g(x: f32[batch,16]) state(w: f32[16,16] = xavier) {\n"
    "  %lin = linear(x, w, _) : f32[batch,16]\n"
    "  %act = tanh(%lin)      : f32[batch,16]\n"
    "  return y = %act\n"
    "}\n";

const std::string kSmallRwkv = "layers=1&width=32&vocab=64&context=16&copy=0&batch=2&train=1";

class PlanCommands : public ::testing::Test {
 protected:
  void SetUp() override {
    io::write_file(file, {kText});
    io::write_file(symbolic, {kSymbolic});
  }
  /// With a cache of its own.
  Outcome call(const std::string& arguments, const std::string& environment = "") {
    return shell("PLAIT_CACHE='" + folder / "cache" + "' " + environment + " $PLAIT " + arguments);
  }
  Json json(const std::string& arguments) {
    const Outcome o = call(arguments + " --json");
    EXPECT_EQ(o.code, 0) << o.err;
    return Json::parse(o.out);
  }
  void expect_failed(const std::string& arguments, const std::string& message) {
    const Outcome o = call(arguments);
    EXPECT_EQ(o.code, 1) << arguments << o.out;
    EXPECT_EQ(o.err, "plait: " + message + "\n");
  }
  void expect_usage(const std::string& arguments, const std::string& message) {
    const Outcome o = call(arguments);
    EXPECT_EQ(o.code, 2) << arguments;
    EXPECT_EQ(o.err.substr(0, 7 + message.size()), "plait: " + message);
  }
  const TemporaryFolder folder;
  const std::string file = folder / "g.plait", symbolic = folder / "s.plait",
                    plan = folder / "g.plan";
};

bool meet(const Json& a, const Json& b, const char* from, const char* to) {
  return a[from].get<std::int64_t>() <= b[to].get<std::int64_t>() &&
         b[from].get<std::int64_t>() <= a[to].get<std::int64_t>();
}

/// Sums, bounds and places of what `plan --json` says.
void expect_consistent(const Json& p) {
  EXPECT_EQ(p["peak_bytes"].get<std::int64_t>(), p["states_bytes"].get<std::int64_t>() +
                                                     p["arena_bytes"].get<std::int64_t>() +
                                                     p["scratch_bytes"].get<std::int64_t>());
  std::vector<std::int64_t> live(p["steps"].get<std::size_t>(), 0);
  std::int64_t states = 0, top = 0;
  for (const Json& b : p["buffers"]) {
    const std::int64_t bytes = b["bytes"], end = bytes + b["offset"].get<std::int64_t>();
    if (b["space"] != "arena") {
      states += bytes;
      continue;
    }
    top = std::max(top, end);
    for (int s = b["first"]; s <= b["last"].get<int>(); ++s) {
      live[static_cast<std::size_t>(s)] += bytes;
    }
    for (const Json& other : p["buffers"]) {
      if (other == b || other["space"] != "arena" || !meet(b, other, "first", "last")) continue;
      const bool apart = end <= other["offset"].get<std::int64_t>() ||
                         other["offset"].get<std::int64_t>() + other["bytes"].get<std::int64_t>() <=
                             b["offset"].get<std::int64_t>();
      EXPECT_TRUE(apart) << b << other;
    }
  }
  EXPECT_EQ(states, p["states_bytes"]);
  EXPECT_EQ(top, p["arena_bytes"]);
  EXPECT_EQ(*std::max_element(live.begin(), live.end()), p["lower_bound_bytes"]);
  EXPECT_LE(p["lower_bound_bytes"], p["arena_bytes"]);
  EXPECT_GT(p["lower_bound_bytes"], 0);
}

TEST_F(PlanCommands, PlanAddsUp) {
  expect_consistent(json("plan 'model:mlp?train=1&dtype=f32'"));
  expect_consistent(json("plan 'model:rwkv4?" + kSmallRwkv + "'"));
}

TEST_F(PlanCommands, PlanPrintsWhoIsAliveAndDraws) {
  const Outcome o = call("plan " + file + " --svg " + folder / "arena.svg");
  EXPECT_EQ(o.code, 0) << o.err;
  for (const std::string word : {"states ", "arena ", "scratch ", "lower bound ", "planned in ",
                                 "Fullest at step ", "buffer ", "%x "}) {
    EXPECT_NE(o.out.find(word), std::string::npos) << word << "\n" << o.out;
  }
  EXPECT_NE(io::read_file(folder / "arena.svg").find("<svg"), std::string::npos);
}

TEST_F(PlanCommands, PlanOfALargeGraphListsFifteen) {
  const Outcome o = call("plan 'model:rwkv4?" + kSmallRwkv + "'");
  EXPECT_EQ(o.code, 0) << o.err;
  const std::size_t table = o.out.find("\nbuffer ");
  ASSERT_NE(table, std::string::npos) << o.out;
  const std::vector<std::string> lines = split(o.out.substr(table + 1), '\n');
  ASSERT_EQ(lines.size(), 1u + 15 + 1 + 1);
  EXPECT_TRUE(lines[16].starts_with("... ")) << lines[16];
}

TEST(Allocations, AreCounted) {
  std::vector<int> kept;
  const cli::Allocated some = cli::allocated_during([&] {
    kept.resize(1000);
    ::operator delete(::operator new(8));
  });
  EXPECT_EQ(some.calls, 2);
  EXPECT_GE(some.bytes, 4000);
  const cli::Allocated none = cli::allocated_during([&] { kept[0] = 1; });
  EXPECT_EQ(none.calls, 0);
  EXPECT_EQ(none.bytes, 0);
}

TEST_F(PlanCommands, RunsAsPlanned) {
  const Json p = json("plan 'model:mlp?train=1&dtype=f32' --check");
  EXPECT_EQ(p["check"]["arena_resident_bytes"], p["arena_bytes"]);
  EXPECT_EQ(p["check"]["allocations"], 0);
  EXPECT_EQ(p["check"]["heap_growth_bytes"], 0);
}

TEST_F(PlanCommands, SaysWhatARunIsPredictedToTakeAndByWhichDevice) {
  const std::string given = folder / "device.txt";
  DeviceModel device = *built_in_device("cpu");
  device.name = "a slow one";
  device.step_seconds = 1;
  io::write_file(given, {to_text(device)});
  const Json p = json("plan " + file + " --device " + given);
  EXPECT_EQ(p["device"]["name"], "a slow one");
  EXPECT_GE(p["predicted_ms"], 1000);
  EXPECT_LT(json("plan " + file + " --device cpu")["predicted_ms"], 1000);
  expect_failed("plan " + file + " --device h200",
                "--device h200: NVIDIA H200 is a device of --backend cuda, not of cpu");
  expect_failed("plan " + file + " --device h20",
                "--device h20: there is no file of this name; the built-in devices are h200, cpu, "
                "null. Did you mean 'h200'?");
  io::write_file(given, {to_text(device).substr(0, 100)});
  expect_failed("plan " + file + " --device " + given,
                given + ": the device is cut: its last line is not 'end'");
}

TEST_F(PlanCommands, PredictionsOfSymbolicPlansAreOfTheLargestSizes) {
  ASSERT_EQ(call("compile " + symbolic + " -o " + plan).code, 0);
  const std::string at_largest = " a run at the largest sizes\n";
  EXPECT_NE(call("plan " + plan + " --set batch=1").out.find(at_largest), std::string::npos);
  EXPECT_EQ(call("plan " + symbolic + " --set batch=1").out.find(at_largest), std::string::npos);
  const Json smaller = json("profile " + plan + " --runs 2 --set batch=1");
  EXPECT_EQ(smaller["predicted_at"], "batch=8");
  EXPECT_EQ(smaller["prediction_error_percent"], 0);
  EXPECT_TRUE(smaller["worst_predicted"].empty());
  const Json largest = json("profile " + plan + " --runs 2 --set batch=8");
  EXPECT_EQ(largest["predicted_at"], "");
  EXPECT_NE(largest["prediction_error_percent"], 0);
  EXPECT_FALSE(largest["worst_predicted"].empty());
}

TEST_F(PlanCommands, APlanKeepsItsDevice) {
  const std::string given = folder / "device.txt";
  DeviceModel device = *built_in_device("cpu");
  device.name = "another";
  io::write_file(given, {to_text(device)});
  json("compile " + file + " -o " + plan + " --device " + given);
  EXPECT_EQ(json("plan " + plan)["device"]["name"], "another");
  EXPECT_NE(json("plan " + plan + " --device cpu")["device"]["name"], "another");
}

TEST_F(PlanCommands, CompilesForAGpuThatIsNotHere) {
  const std::string none = "CUDA_VISIBLE_DEVICES=", cuda = file + " --backend cuda";
  if (call("plan " + cuda, none).code != 0) GTEST_SKIP() << "this build has no CUDA part";
  const Outcome o = call("compile " + cuda + " -o " + plan, none);
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_TRUE(o.err.starts_with("plait: its code is compiled where it runs: ")) << o.err;
  EXPECT_EQ(std::count(o.err.begin(), o.err.end(), '\n'), 1) << o.err;
  EXPECT_NE(o.out.find("\nplan        " + plan + ", "), std::string::npos) << o.out;
  EXPECT_NE(o.out.find("\ncode in     not compiled here\n"), std::string::npos) << o.out;
  EXPECT_EQ(program::from_bytes(io::read_file(plan), plan).backend, "cuda");
  const Json again = Json::parse(call("compile " + plan + " --json", none).out);
  EXPECT_TRUE(again["units_compiled"].is_null());
  EXPECT_EQ(again["steps"], Json::parse(call("plan " + cuda + " --json", none).out)["steps"]);
}

TEST_F(PlanCommands, AWrittenPlanRunsLikeItsGraph) {
  const Json compiled = json("compile " + file + " -o " + plan + " --threads 2");
  EXPECT_EQ(compiled["plan_bytes"], io::read_file(plan).size());
  EXPECT_EQ(compiled["hash"], json("compile " + file + " --threads 2")["hash"]);
  EXPECT_NE(compiled["hash"], json("compile " + file + " --threads 1")["hash"]);
  EXPECT_EQ(json("compile " + file)["units_compiled"], 0);  // the first filled the cache
  const Json ran = json("run " + file + " --backend cpu --threads 2 --steps 3");
  EXPECT_EQ(json("run " + plan + " --steps 3")["fetches"], ran["fetches"]);
  EXPECT_NE(json("run " + plan + " --steps 3 --seed 1")["fetches"], ran["fetches"]);
  const Json one = json("run " + plan + " --fetch total")["fetches"];
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0]["name"], "total");
  expect_failed("run " + plan + " --fetch act",
                plan +
                    ": the plan does not fetch 'act'; it fetches soft, total. Other values need "
                    "the graph");
  expect_usage("run " + plan + " --against " + file, "run: --against needs a graph, not a plan");
}

TEST_F(PlanCommands, StatesOfAPlanAreGivenAndWritten) {
  ASSERT_EQ(call("compile " + file + " -o " + plan).code, 0);
  io::write_npy(folder / "n.npy", Array::of(DType::f32, {6}, {1, 2, 3, 4, 5, 6}));
  const Outcome o = call("run " + plan + " --steps 2 --state n=" + folder / "n.npy" + " --out " +
                         folder / "out" + " --states");
  ASSERT_EQ(o.code, 0) << o.err;
  const Array n = io::read_npy(folder / "out/states/n.npy");
  // Every row of a softmax sums to one, twice.
  for (int i = 0; i < 6; ++i) EXPECT_NEAR(n.real(i), i + 3, 1e-5);
  io::write_npy(folder / "short.npy", Array::of(DType::f32, {2}, {1, 2}));
  const Outcome bad = call("run " + plan + " --state n=" + folder / "short.npy");
  EXPECT_EQ(bad.code, 1);
  EXPECT_NE(bad.err.find("state 'n' is f32[2], the graph wants f32[6]"), std::string::npos);
}

TEST_F(PlanCommands, OneSymbolicPlanServesManySizes) {
  ASSERT_EQ(call("compile " + symbolic + " -o " + plan).code, 0);
  for (const std::string batch : {"1", "5", "8"}) {
    const std::string set = " --set batch=" + batch;
    EXPECT_EQ(json("run " + plan + set)["fetches"],
              json("run " + symbolic + " --backend cpu" + set)["fetches"])
        << batch;
  }
  io::write_npy(folder / "x.npy", Array::of(DType::f32, {1, 16}, std::vector<double>(16, 0.5)));
  EXPECT_EQ(json("run " + plan + " --feed x=" + folder / "x.npy")["fetches"][0]["type"],
            "f32[1,16]");
  expect_failed("run " + plan,
                "graph g has sizes that are not numbers: batch (1..8). Give them with --set "
                "batch=1");
  const Outcome bench = call("bench " + plan + " --seconds 0.01");
  EXPECT_EQ(bench.code, 0) << bench.err;
  EXPECT_EQ(bench.err, "plait: sizes at the end of their ranges: batch=8\n");
}

TEST_F(PlanCommands, APlanOfAnotherMachineIsRefusedOrRebuilt) {
  ASSERT_EQ(call("compile " + file + " -o " + plan + " --threads 2").code, 0);
  expect_failed("run " + plan + " --threads 1",
                plan +
                    ": was compiled for 2 threads, not for 1: compile again here, or say "
                    "--rebuild");
  expect_failed("bench " + plan + " --threads 1",
                plan + ": was compiled for 2 threads, not for 1: compile again here");
  EXPECT_EQ(json("run " + plan + " --threads 1 --rebuild")["fetches"],
            json("run " + plan)["fetches"]);
  const std::string other = "CC='cc -DPLAIT_OTHER'";
  const Outcome refused = call("run " + plan, other);
  EXPECT_EQ(refused.code, 1);
  EXPECT_NE(refused.err.find(plan + ": was compiled for cpu "), std::string::npos) << refused.err;
  EXPECT_EQ(call("run " + plan + " --rebuild", other).code, 0);
}

TEST_F(PlanCommands, ThreadsOfAPlanAreLimitedAndMoreThanCpusAreSaid) {
  const std::size_t cpus = process_cpus().size();
  const std::string many = std::to_string(cpus + 3);
  ASSERT_EQ(call("compile " + file + " -o " + plan + " --threads " + many).code, 0);
  const Outcome o = call("plan " + plan);
  EXPECT_EQ(o.code, 0);
  EXPECT_EQ(o.err, "plait: " + plan + " is for " + many + " threads, and there " +
                       (cpus == 1 ? "is 1 cpu" : str("are ", cpus, " cpus")) + ": they share\n");
  EXPECT_EQ(call("plan " + plan + " --threads " + many).err, "");
  program::Program changed = program::from_bytes(io::read_file(plan), plan);
  changed.threads = kMostThreads + 1;
  io::write_file(plan, {program::to_bytes(changed)});
  const Outcome refused = call("run " + plan + " --trust");
  EXPECT_EQ(refused.code, 1) << refused.err;
  EXPECT_NE(refused.err.find("(there cannot be 4097 threads)"), std::string::npos) << refused.err;
}

TEST_F(PlanCommands, ADamagedPlanIsRefused) {
  ASSERT_EQ(call("compile " + file + " -o " + plan).code, 0);
  std::string bytes = io::read_file(plan);
  io::write_file(plan, {bytes.substr(0, bytes.size() / 2)});
  const Outcome cut = call("run " + plan);
  EXPECT_EQ(cut.code, 1);
  EXPECT_TRUE(cut.err.starts_with("plait: " + plan + ": the plan is cut")) << cut.err;
  bytes[bytes.size() / 2] ^= 1;
  io::write_file(plan, {bytes});
  const Outcome flipped = call("run " + plan);
  EXPECT_EQ(flipped.code, 1);
  EXPECT_TRUE(flipped.err.starts_with("plait: " + plan + ": the plan is damaged")) << flipped.err;
}

/// A plan is planned again from its graph: what else the file says is compared, and not run.
TEST_F(PlanCommands, AChangedPlanIsRefused) {
  ASSERT_EQ(call("compile " + file + " -o " + plan).code, 0);
  const std::string marker = folder / "marker";
  program::Program changed = program::from_bytes(io::read_file(plan), plan);
  changed.texts.begin()->second +=
      str("#include <stdio.h>\n__attribute__((constructor)) static void leave(void) ", "{ fopen(\"",
          marker, "\", \"w\"); }\n");
  io::write_file(plan, {program::to_bytes(changed)});
  const std::string said = plan +
                           ": is not what this build of Plait plans for its graph (texts): "
                           "it is of another build, or was changed: compile again here, or say ";
  const std::string trust = "--trust to run it as it is written";
  expect_failed("run " + plan, said + "--rebuild, or " + trust);
  expect_failed("compile " + plan, said + "--rebuild");
  for (const std::string command : {"bench ", "profile ", "explain ", "plan ", "plan --check "}) {
    expect_failed(command + plan, said + trust);
  }
  EXPECT_EQ(json("run " + plan + " --rebuild")["fetches"], json("run " + file)["fetches"]);
  EXPECT_FALSE(std::filesystem::exists(marker));
}

/// Printed, edited by hand, read back and run: who says --trust gets what is written.
TEST_F(PlanCommands, AnEditedPlanRunsWhereItIsTrusted) {
  const std::string graph = folder / "twice.plait", edited = folder / "edited.plan";
  io::write_file(graph, {"graph g(x: f32[4]) {\n  %c = constant(value=f32[]{2.0}) : f32[]\n"
                         "  %y = mul(x, %c) : f32[4]\n  return %y\n}\n"});
  ASSERT_EQ(call("compile " + graph + " -o " + plan).code, 0);
  std::string text = call("show " + plan).out;
  const std::size_t at = text.find("0x1p+1", text.find("void k_"));
  ASSERT_NE(at, text.npos) << text;
  text[at + 5] = '2';  // 4 instead of 2
  io::write_file(edited, {text});
  EXPECT_NE(call("run " + edited).err.find("is not what this build of Plait plans"), text.npos);
  const double twice = json("run " + plan)["fetches"][0]["max"];
  const Outcome trusted = call("run " + edited + " --trust --json");
  EXPECT_EQ(trusted.code, 0) << trusted.err;
  EXPECT_NE(trusted.err.find("is run as it is written"), text.npos) << trusted.err;
  EXPECT_DOUBLE_EQ(Json::parse(trusted.out)["fetches"][0]["max"], 2 * twice);
  EXPECT_EQ(call("run " + graph + " --trust").code, 2);
}

TEST_F(PlanCommands, AMistakeInATrustedPlanIsItsWriters) {
  ASSERT_EQ(call("compile " + file + " -o " + plan).code, 0);
  std::string text = call("show " + plan).out;
  const std::size_t at = text.find("{\n", text.find("void k_"));
  ASSERT_NE(at, text.npos) << text;
  const std::string edited = folder / "edited.plan";
  io::write_file(edited, {text.insert(at + 2, "  not_declared = 1;\n")});
  for (const std::string command : {"run ", "bench ", "profile ", "plan --check "}) {
    const Outcome o = call(command + edited + " --trust");
    EXPECT_EQ(o.code, 1) << command << o.err;
    const std::vector<std::string> lines = split(o.err, '\n');
    ASSERT_GE(lines.size(), 2u) << o.err;
    const std::string& said = lines[lines.size() - 2];  // the last line is empty
    EXPECT_TRUE(said.starts_with("plait: the C of " + edited + " does not compile: ")) << said;
    EXPECT_NE(said.find("not_declared"), said.npos) << said;
  }
}

/// The log is a record, of the passes too: it is shown as it was written.
TEST_F(PlanCommands, APlanKeepsItsLog) {
  ASSERT_EQ(call("compile " + file + " -o " + plan).code, 0);
  const std::string explained = call("explain " + plan).out;
  EXPECT_NE(explained.find("\ncse merged  1 node\n"), std::string::npos) << explained;
}

TEST_F(PlanCommands, ExplainNamesEveryStepAndWhy) {
  const Json e = json("explain " + file);
  std::set<std::string> computed;
  for (const Json& step : e["steps"]) {
    EXPECT_FALSE(step["kernel"].get<std::string>().empty());
    for (const Json& name : step["nodes"]) computed.insert(name);
  }
  EXPECT_TRUE(computed.count("lin") && computed.count("soft") && computed.count("next")) << e;
  EXPECT_FALSE(computed.count("again")) << e;
  EXPECT_EQ(e["summary"]["nodes_given"], 7);
  EXPECT_EQ(e["summary"]["contractions"], 1);
  EXPECT_EQ(e["summary"]["with_epilogue"], 1);
  EXPECT_EQ(e["summary"]["steps"], e["steps"].size());
  const Json apart = json("explain " + file + " --no-fuse");
  EXPECT_EQ(apart["summary"]["fused"], 0);
  EXPECT_GT(apart["steps"].size(), e["steps"].size());
  const Outcome text = call("explain " + file);
  EXPECT_TRUE(text.out.starts_with("step 0  linear  ")) << text.out;
  EXPECT_NE(text.out.find("  fused      %act: into %lin"), std::string::npos) << text.out;
}

TEST_F(PlanCommands, ExplainFollowsANode) {
  const Json act = json("explain " + file + " --node %act");
  ASSERT_EQ(act["steps"].size(), 1u);
  EXPECT_EQ(act["steps"][0]["nodes"][0], "lin");
  EXPECT_EQ(act["decisions"][0]["what"], "fused");
  const Json soft = json("explain " + file + " --node soft");  // with its parts
  EXPECT_GT(soft["decisions"].size(), 1u);
  EXPECT_EQ(soft["without"], "");
  const Json again = json("explain " + file + " --node again");
  EXPECT_TRUE(again["steps"].empty());
  EXPECT_EQ(again["without"], "it is gone before planning (cse: merged)");
  EXPECT_EQ(json("explain " + file + " --node x")["without"],
            "it is a feed or a state: no node makes it");
  expect_failed("explain " + file + " --node sofd",
                "graph g has no value 'sofd'. Did you mean 'soft'?");
}

TEST_F(PlanCommands, ProfileIsReadBack) {
  const std::string out = folder / "p.json", trace = folder / "t.json";
  const Json p = json("profile " + file + " --runs 7 -o " + out + " --trace " + trace);
  EXPECT_EQ(p["runs"], 7);
  EXPECT_GT(p["median_ms"], 0);
  EXPECT_GT(p["peak_gflops"], 0);
  EXPECT_GT(p["predicted_ms"], 0);
  EXPECT_FALSE(p["worst_predicted"].empty());
  double share = 0;
  int launches = 0;
  std::int64_t operations = 0;
  for (const Json& row : p["kinds"]) {
    share += row["share"].get<double>();
    launches += row["launches"].get<int>();
    operations += row["operations"].get<std::int64_t>();
  }
  EXPECT_NEAR(share, 1, 1e-9);
  EXPECT_EQ(launches, json("explain " + file)["summary"]["steps"].get<int>());
  const Json written = Json::parse(io::read_file(out));
  std::int64_t computation = 0;
  for (const Json& footprint : written["profiler"]["opr_footprint"]) {
    if (footprint["computation"].is_number()) {
      computation += footprint["computation"].get<std::int64_t>();
    }
  }
  EXPECT_EQ(computation, operations);
  EXPECT_GT(Json::parse(io::read_file(trace))["traceEvents"].size(), 7u);
  const Outcome report = call("report " + out);
  EXPECT_EQ(report.code, 0) << report.err;
  expect_usage("profile " + file + " --runs 2 --seconds 1",
               "profile: --runs and --seconds exclude each other");
}

TEST_F(PlanCommands, TwoProfilesStandSideBySide) {
  // Fused or not, a network has the same contractions; what is fused is not beside them.
  const std::string fused = folder / "fused.json", apart = folder / "apart.json";
  json("profile " + file + " --runs 2 -o " + fused);
  json("profile " + file + " --runs 2 --no-fuse -o " + apart);
  const Json page = json("report " + apart + " --beside " + fused);
  const Json& facts = page["sections"][0]["facts"];
  EXPECT_GE(facts["contractions paired"].get<int>(), 1);
  EXPECT_EQ(facts["without a partner"], "0 of the first, 0 of the second");
  const Json& rows = page["sections"][1]["table"]["rows"];
  EXPECT_EQ(rows.size(), facts["contractions paired"].get<std::size_t>() + 2);
  EXPECT_NE(rows[0][4], "0.0000");  // what follows the contraction runs apart
  const Outcome wrong = call("report " + apart + " --beside " + file);
  EXPECT_EQ(wrong.code, 1);
  EXPECT_NE(wrong.err.find("--beside is for two profiles in MegEngine's schema"), std::string::npos)
      << wrong.err;
  expect_usage("report " + apart + " --beside " + fused + " --graph g",
               "report: --beside is for profiles as they are");
}

TEST_F(PlanCommands, BenchSaysWhatWasTimed) {
  const Json b = json("bench " + file + " --seconds 0.05");
  EXPECT_EQ(b["graph"], "g");
  EXPECT_GT(b["median_ms"], 0);
  EXPECT_LE(b["min_ms"], b["median_ms"]);
  EXPECT_GE(b["runs"], 5 * b["batch"].get<int>());
  const Json p = json("plan " + file);
  for (const char* key : {"states_bytes", "arena_bytes", "scratch_bytes"})
    EXPECT_EQ(b[key], p[key]);
  for (const char* key : {"compile_seconds", "load_seconds"}) EXPECT_GT(b[key], 0);
  expect_usage("bench " + file + " --seconds 0", "bench: --seconds must be more than 0, is 0");
  expect_usage("bench " + file + " --seconds soon", "bench: ");
}

}  // namespace
}  // namespace plait::test
