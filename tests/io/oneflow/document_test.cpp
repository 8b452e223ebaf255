// The whole log, when it is reachable from where the tests run: its facts, and its traced graph
// against the network of models/ at a small size.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <random>
#include <set>

#include "backends/backends.h"
#include "io/file.h"
#include "io/oneflow/final.h"
#include "io/oneflow/format.h"
#include "io/oneflow/gradients.h"
#include "models/package.h"
#include "models/rwkv4.h"
#include "passes/differentiate.h"
#include "run/session.h"

namespace plait::io::oneflow {
namespace {

const char* const kPath = "../shared/documents/oneflow_rwkv4_train.log";

struct WholeLog : testing::Test {
  static const Record& record() {
    static const Record record = [] {
      const std::string text = read_file(kPath);
      Lines lines(text, kPath);
      return read(lines);
    }();
    return record;
  }
  static const Import& import() {
    static const Import import = to_graphs(record());
    return import;
  }
  void SetUp() override {
    if (!std::filesystem::exists(kPath)) {
      GTEST_SKIP() << kPath << " is not reachable from here";
    }
  }
};

std::int64_t count_kind(const Record& r, OpKind kind) {
  return std::count_if(r.ops.begin(), r.ops.end(),
                       [&](const TracedOp& o) { return o.kind == kind; });
}

TEST_F(WholeLog, Counts) {
  const Record& r = record();
  EXPECT_EQ(r.ops.size(), 1018u);
  EXPECT_EQ(count_kind(r, OpKind::kInput), 2);
  EXPECT_EQ(count_kind(r, OpKind::kVariable), 116);
  EXPECT_EQ(count_kind(r, OpKind::kOutput), 1);
  EXPECT_EQ(count_kind(r, OpKind::kUser), 899);
  std::set<std::string> types;
  std::int64_t elements = 0;
  for (const TracedOp& op : r.ops) {
    if (op.kind == OpKind::kUser) types.insert(op.type);
    if (op.kind == OpKind::kVariable) elements += element_count(op.blob->shape);
  }
  EXPECT_EQ(types.size(), 38u);
  EXPECT_EQ(elements, 94'803'968);
  EXPECT_EQ(r.operators().size(), 1622u);
  EXPECT_EQ(r.modules.size(), 92u);
  EXPECT_EQ(r.passes.size(), 36u);
  EXPECT_EQ(r.memory.size(), 2u);
  EXPECT_EQ(r.training.size(), 18u);
  EXPECT_TRUE(r.missing.empty());
}

TEST_F(WholeLog, ConfigurationMemoryAndTraining) {
  const Record& r = record();
  EXPECT_EQ(r.config.world_size, 2);
  EXPECT_EQ(r.config.setting("train.train_micro_batch_size"), "4");
  EXPECT_EQ(r.config.setting("train.amp.enabled"), "True");
  EXPECT_EQ(r.config.setting("lr"), "8e-4");
  EXPECT_EQ(r.data.size(), 2u);
  EXPECT_EQ(r.data[0], (Data{99621832, 6064}));
  EXPECT_EQ(r.memory[0].total, 7990.68);
  EXPECT_EQ(r.memory[1].unshared_blocks, 1093);
  EXPECT_EQ(r.blocks[0], (MemoryBlock{0, 1, 152, 1219, 5585.02}));
  EXPECT_EQ(r.passes[13].name, "PrunePinnedIdentityOpPass");
  EXPECT_NEAR(seconds_between(r.passes[13].start, *r.passes[13].finish), 2.325767, 1e-9);
  EXPECT_EQ(r.training.front().loss, 9.68);
  EXPECT_EQ(r.training.back().loss, 0.05964);
  EXPECT_EQ(r.training.back().iteration, 359);
}

TEST_F(WholeLog, ReadsBackWhatItWrites) {
  const std::string text = write(record());
  EXPECT_TRUE(detects(text));
  Lines lines(text, "again");
  EXPECT_TRUE(read(lines) == record());
}

TEST_F(WholeLog, GraphsHoldEveryOp) {
  ASSERT_EQ(import().package.graphs.size(), 2u);
  const ir::Graph &traced = import().package.graphs[0], &final = import().package.graphs[1];
  EXPECT_EQ(traced.name, "traced");
  EXPECT_EQ(traced.fetches.size(), 117u);
  for (const TracedOp& op : record().ops) {
    if (op.kind != OpKind::kUser) continue;
    for (const Port& port : op.outputs) {
      for (const std::string& tensor : port.tensors) {
        EXPECT_NE(traced.find_value(tensor), ir::kNone) << tensor;
      }
    }
  }
  // The buffer that no operator reads is a state without an operator; one feed is the run time's.
  EXPECT_EQ(final.nodes.size() + final.states.size() - 1 + final.feeds.size() - 1, 1622u);
  EXPECT_EQ(final.nexts.size(), 3 * 116u + 1);
  std::map<std::string, int> ops;
  for (const ir::Node& n : final.nodes) ++ops[n.op];
  EXPECT_EQ(ops["adam_update"], 116);
  EXPECT_EQ(ops["cast"], 346 + 1);  // one is traced
  EXPECT_EQ(ops["broadcast_matmul"], 90);
  EXPECT_EQ(ops.count("operator"), 0u);
}

TEST_F(WholeLog, NamesPathsSourcesAndPlacesSurvive) {
  const ir::Graph& traced = import().package.graphs[0];
  const ir::Value& y =
      traced.value(traced.find_value("model.blocks.0.att.key-broadcast_matmul-20/out_0"));
  const ir::Node& node = traced.node(y.producer);
  EXPECT_EQ(node.op, "matmul");
  EXPECT_EQ(node.path, "blocks.0.att.key");
  EXPECT_TRUE(node.source.file.ends_with("libai/layers/linear.py")) << node.source.file;
  EXPECT_EQ(node.source.line, 127);
  EXPECT_EQ(type_text(y.type), "f32[batch,time,width] on cuda[0,1](S(0))");
  const ir::Graph& final = import().package.graphs[1];
  EXPECT_EQ(type_text(final.type(final.find_value(y.name))),
            "bf16[batch,time,width] on cuda[0,1](S(0))");
  EXPECT_NE(traced.find_state("copy_mask"), nullptr);
}

TEST_F(WholeLog, GradientsAreFoundWithAndWithoutTheTree) {
  EXPECT_EQ(gradients_in_tree(record()).size(), 116u);
  EXPECT_EQ(gradients_in_tree(record()), gradients_in_trace(record()));
}

TEST_F(WholeLog, WhatTheTreeHides) { EXPECT_EQ(hidden_inputs(record()).size(), 20u); }

/// The network of models/ with its loss and the gradients of all parameters.
ir::Graph reference(const models::Rwkv4Sizes& sizes, std::int64_t batch) {
  Builder b("reference");
  models::Rwkv4 net(DType::f32, sizes);
  const Shape tokens{batch, sizes.context};
  const Tensor logits = net(b.feed("idx", DType::i64, tokens));
  b.fetch("loss", models::classification_loss(logits, b.feed("targets", DType::i64, tokens), -1));
  return differentiate(b.take());
}

Array random_array(std::mt19937& random, const ir::Type& type, double scale) {
  Array a(type.dtype, sizes_of(type.shape));
  std::normal_distribution<double> normal(0, scale);
  for (std::int64_t i = 0; i < a.count(); ++i) a.set(i, normal(random));
  return a;
}

Array tokens(std::mt19937& random, std::int64_t batch, std::int64_t time, std::int64_t vocab) {
  Array a(DType::i64, {batch, time});
  for (std::int64_t i = 0; i < a.count(); ++i) {
    a.set_integer(i, static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(vocab)));
  }
  return a;
}

/// The largest difference relative to the largest element.
double difference(const Array& a, const Array& b) {
  EXPECT_EQ(a.sizes(), b.sizes());
  double most = 0, worst = 0;
  for (std::int64_t i = 0; i < a.count(); ++i) {
    most = std::max(most, std::abs(b.real(i)));
    worst = std::max(worst, std::abs(a.real(i) - b.real(i)));
  }
  return most == 0 ? worst : worst / most;
}

TEST_F(WholeLog, RunsAsTheNetworkOfModels) {
  const models::Rwkv4Sizes sizes{.layers = 6,
                                 .width = 32,
                                 .vocab = 50,
                                 .context = 8,
                                 .copy = 8,
                                 .mask = false,
                                 .xavier = true};
  DimBindings set{{"batch", Dim(2)},
                  {"time", Dim(8)},
                  {"width", Dim(32)},
                  {"vocab", Dim(50)},
                  {"copy", Dim(8)}};
  ir::Package package;
  for (const ir::Graph& g : import().package.graphs) {
    package.graphs.push_back(ir::substitute(g, set));
  }
  Session log(package, make_target("ref"), 1);
  Session model({{reference(sizes, 2)}}, make_target("ref"), 1);
  std::mt19937 random(5);
  for (const std::string& name : model.state_names()) {
    const ir::StateUse* use = model.package().graphs[0].find_state(name);
    const double scale = use->state.type.rank() == 2 ? 0.3 : 0.7;
    const Array value = random_array(random, use->state.type, scale);
    model.set_state(name, value);
    log.set_state(name, value);
  }
  const Arrays feeds{{"idx", tokens(random, 2, 8, 50)}, {"targets", tokens(random, 2, 8, 50)}};
  const Arrays want = model.run({"", feeds, {}}), got = log.run({"", feeds, {}});
  EXPECT_EQ(want.size(), 117u);
  EXPECT_EQ(got.size(), 117u);
  double worst = 0;
  for (const auto& [name, array] : want) {
    ASSERT_TRUE(got.count(name)) << name;
    // f32 sums over a few hundred terms in another order: some hundred roundings of 6e-8.
    EXPECT_LT(difference(got.at(name), array), 5e-6) << name;
    worst = std::max(worst, difference(got.at(name), array));
  }
  std::printf("loss %.7f, largest difference of 117 results %.2e\n", want.at("loss").real(0),
              worst);

  // The log does not mask its copy head: with the mask of the reference it is another network.
  models::Rwkv4Sizes masked = sizes;
  masked.mask = true;
  Session other({{reference(masked, 2)}}, make_target("ref"), 1);
  for (const std::string& name : other.state_names()) other.set_state(name, model.state(name));
  EXPECT_GT(difference(got.at("loss"), other.run({"", feeds, {"loss"}}).at("loss")), 1e-3);
}

TEST_F(WholeLog, CutsAreErrorsOrNotes) {
  const std::string text = read_file(kPath);
  const auto outcome = [&](std::string_view mark, std::size_t behind) -> std::string {
    const std::string_view cut = std::string_view(text).substr(0, text.find(mark) + behind);
    Lines lines(cut, "log");
    try {
      const Import import = to_graphs(read(lines));
      return std::to_string(import.package.graphs.size()) + " graphs, " + import.notes.back();
    } catch (const UserError& e) {
      return e.what();
    }
  };
  EXPECT_EQ(
      outcome("(GRAPH:GraphBase_0:GraphBase) start building graph.", 0),
      "log:226: the log ends without an op: neither op confs nor a tree of operators. Was the "
      "graph's debug level (graph.debug) below 2?");
  EXPECT_EQ(outcome("op_type_name: \"wkv\"", 10),
            "log:1812: the log ends inside the op conf that begins at line 1807. Is it cut off?");
  EXPECT_EQ(outcome("(GRAPH:GraphBase_0:GraphBase) end building graph modules.", 0),
            "log:40224: the log ends while ops are traced: after "
            "model.emb-unsorted_segment_sum_like-898 no output follows. Is it cut off?");
  EXPECT_EQ(outcome("pass_cnt_9-AutoTrainStep", 24),
            "1 graphs, the log does not have the training lines");
  EXPECT_EQ(outcome("Chunk id: 1 MemBlock id: 152", 12),
            "1 graphs, the log does not have the training lines");
  EXPECT_EQ(outcome("(OPERATOR: model.blocks.3", 40),
            "log:42893: the log ends inside the line of an operator. Is it cut off?");
  EXPECT_EQ(outcome("(MODULE:model.blocks.3.att:RWKV_TimeMix()): (\n", 46),
            "log:42938: the log ends inside the tree that begins at line 41563. Is it cut off?");
  EXPECT_EQ(outcome("total_loss: 5.177", 3),
            "2 graphs, System-Train-LearningRate-Scheduler_63/out is made by the run time, outside "
            "the tree: it is a feed of the graph final");
}

}  // namespace
}  // namespace plait::io::oneflow
