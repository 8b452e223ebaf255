// Mixed precision of whole training steps: what runs half, where casts stand, how losses follow
// those of PyTorch in f32; accumulation as a bigger batch, for every model.
#include <set>

#include "ops/compare.h"
#include "ops/table.h"
#include "ops/verify.h"
#include "tests/models/fixture.h"

namespace plait {
namespace {

constexpr const char* kModels[] = {"mlp", "conv_add", "resnet50", "vgg19", "rwkv4", "gpt2", "unet"};

ir::Package mixed(const Fixture& fixture, DType half) {
  return models::build(str(fixture.spec, "&precision=", half));
}

Session with_states(const Fixture& fixture, ir::Package package, std::unique_ptr<Target> target) {
  Session session = target ? Session(std::move(package), std::move(target))
                           : Session(std::move(package), make_target("ref"));
  for (const auto& [name, value] : fixture.under("state.")) {
    session.set_state(name, value.cast(session.state(name).dtype()));
  }
  return session;
}

/// dtypes of a node's float operands and results, each once.
std::set<DType> floats_of(const ir::Graph& graph, const ir::Node& node) {
  std::set<DType> found;
  for (const auto* ids : {&node.inputs, &node.outputs}) {
    for (ir::ValueId id : *ids) {
      if (id != ir::kNone && is_float(graph.type(id).dtype)) found.insert(graph.type(id).dtype);
    }
  }
  return found;
}

TEST(Mixed, RunsWhiteOpsHalfAndBlackOnesInF32) {
  for (const char* name : kModels) {
    for (DType half : {DType::bf16, DType::f16}) {
      SCOPED_TRACE(str(name, " ", half));
      for (const ir::Graph& graph : mixed(Fixture(name, DType::f32), half).graphs) {
        verify_types(graph);
        int white = 0;
        for (const ir::Node& node : graph.nodes) {
          const Colour colour = op_named(node.op).colour;
          const std::set<DType> floats = floats_of(graph, node);
          if (colour == Colour::kWhite) {
            // Attention's log-sums, one number for a row, stay f32.
            const bool attends = node.op.starts_with("attention");
            std::set<DType> want{half};
            if (attends) want.insert(DType::f32);
            EXPECT_EQ(floats, want) << describe(graph, node);
            EXPECT_EQ(graph.type(node.outputs[0]).dtype, half) << describe(graph, node);
            ++white;
          }
          EXPECT_TRUE(colour != Colour::kBlack || !floats.count(half)) << describe(graph, node);
        }
        EXPECT_GT(white, 0);
        for (const ir::StateUse& use : graph.states) EXPECT_FALSE(is_half(use.state.type.dtype));
        for (const ir::Fetch& f : graph.fetches) EXPECT_FALSE(is_half(graph.type(f.value).dtype));
      }
    }
  }
}

// One cast per tensor and direction, each at a border, none behind another: the least there is for
// these colours.
TEST(Mixed, CastsOnceAtEachBorder) {
  for (const char* name : kModels) {
    SCOPED_TRACE(name);
    for (const ir::Graph& graph : mixed(Fixture(name, DType::f32), DType::bf16).graphs) {
      std::set<ir::ValueId> cast;
      const std::vector<int> uses = use_counts(graph);
      for (const ir::Node& node : graph.nodes) {
        if (node.op != ops::cast.name || floats_of(graph, node).size() < 2) continue;
        const ir::Value& from = graph.value(node.inputs[0]);
        EXPECT_TRUE(cast.insert(node.inputs[0]).second) << describe(graph, node);
        EXPECT_GT(uses[static_cast<std::size_t>(node.outputs[0])], 0) << describe(graph, node);
        if (from.producer == ir::kNone) continue;
        EXPECT_NE(graph.node(from.producer).op, ops::cast.name) << describe(graph, node);
        EXPECT_NE(graph.node(from.producer).op, "constant") << describe(graph, node);
      }
      EXPECT_FALSE(cast.empty());
    }
  }
}

// rwkv4 as in the document: residual stream and norms half, gates, loss and updates not. wkv takes
// halves and computes in f32, beside a decay and a state in f32.
TEST(Mixed, Rwkv4KeepsItsResidualStreamHalf) {
  const ir::Graph graph =
      models::build(
          "rwkv4?layers=2&width=8&vocab=16&context=8&copy=4&batch=2&train=1&precision=bf16")
          .graphs[0];
  std::map<std::string, std::set<DType>> by_op;
  int residual = 0;
  for (const ir::Node& node : graph.nodes) {
    const DType type = graph.type(node.outputs[0]).dtype;
    by_op[node.op].insert(type);
    if (node.op.starts_with("wkv")) {
      for (std::size_t i : {2, 3}) EXPECT_EQ(graph.type(node.inputs[i]).dtype, DType::f32);
    }
    if (node.op == "layer_norm" && node.path != "blocks.0.ln0" && node.path != "blocks.0.ln1") {
      EXPECT_EQ(type, DType::bf16) << describe(graph, node);
    }
    if (node.op == "add" && (node.path == "blocks.0" || node.path == "blocks.1")) {
      EXPECT_EQ(type, DType::bf16) << describe(graph, node);
      ++residual;
    }
  }
  EXPECT_EQ(residual, 4);
  for (const char* op : {"linear", "matmul", "wkv", "wkv_backward"}) {
    EXPECT_EQ(by_op[op], std::set{DType::bf16}) << op;
  }
  for (const char* op : {"mean", "rsqrt", "cross_entropy", "softmax", "sigmoid", "square", "exp",
                         "adam_update", "scatter_columns"}) {
    EXPECT_EQ(by_op[op], std::set{DType::f32}) << op;
  }
}

/// Losses of steps that were not skipped, over PyTorch's.
void expect_losses(const Fixture& fixture, Session& session, DType half) {
  const ir::Graph& train = session.package().graphs[0];
  const auto nodes = static_cast<double>(session.package().graphs[1].nodes.size());
  const double allowed = 6 * (half == DType::f16 ? 0x1p-12 : 0x1p-9) * std::sqrt(nodes);
  int step = 0;
  for (int run = 0; run < 12 && step < 3; ++run) {
    const Arrays told = session.run({"train", fixture.feeds(train), {}});
    const double expected = fixture.file.tensor("losses").real(step);
    EXPECT_NEAR(told.at("loss").real(0) / expected, 1, allowed) << "step " << step;
    const auto skipped = told.find("skipped");
    step += skipped == told.end() || skipped->second.integer(0) == 0;
  }
  EXPECT_EQ(step, 3);
}

// As Halves in training_test.cpp, which says where the tolerance comes from. A batch norm's running
// statistics advance also in a skipped step, but do not change what training computes.
TEST(Mixed, FollowsTheLossesOfPyTorch) {
  for (const char* name : kModels) {
    for (DType half : {DType::bf16, DType::f16}) {
      SCOPED_TRACE(str(name, " ", half));
      const Fixture fixture(name, DType::f32);
      Session session = with_states(fixture, mixed(fixture, half), nullptr);
      expect_losses(fixture, session, half);
    }
  }
}

TEST(Mixed, CompiledFollowsTooAndRepeatsItsBits) {
  for (const char* name : {"rwkv4", "gpt2"}) {
    SCOPED_TRACE(name);
    const Fixture fixture(name, DType::f32);
    const ir::Package package = mixed(fixture, DType::bf16);
    Session a = with_states(fixture, package, cpu_target(1));
    Session b = with_states(fixture, package, cpu_target(2));
    expect_losses(fixture, a, DType::bf16);
    expect_losses(fixture, b, DType::bf16);
    for (const std::string& state : a.state_names()) {
      EXPECT_TRUE(a.state(state).same_bits(b.state(state))) << state;
    }
  }
}

// In f64 and without dropout and batch norms, whose results depend on the batch.
TEST(Accumulated, SmallBatchesAreABigOne) {
  for (const std::string spec :
       {"mlp?dtype=f64&width=5", "rwkv4?dtype=f64&layers=1&width=6&vocab=9&context=5&copy=3&clip=1",
        "gpt2?dtype=f64&layers=1&width=6&heads=2&vocab=9&context=5&dropout=0&clip=0.5"}) {
    Session big(models::build(spec + "&train=1&batch=8"), make_target("ref"));
    Session small(models::build(spec + "&train=1&batch=2&accumulate=4"), make_target("ref"));
    const ir::Graph& graph = big.package().graphs[0];
    for (int step = 0; step < 2; ++step) {
      Arrays feeds;
      for (ir::ValueId id : graph.feeds) {
        feeds[graph.value(id).name] = random_feed(graph, id, static_cast<std::uint64_t>(7 + step));
      }
      const Array whole = big.run({"train", feeds, {"loss"}}).at("loss");
      double mean = 0;
      for (int part = 0; part < 4; ++part) {
        Arrays parts;
        for (const auto& [name, all] : feeds) {
          Sizes sizes = all.sizes();
          sizes[0] = 2;
          Array piece(all.dtype(), sizes);
          for (std::int64_t i = 0; i < piece.count(); ++i) {
            piece.set(i, all.real(part * piece.count() + i));
          }
          parts[name] = piece;
        }
        mean += small.run({"train", parts, {"loss"}}).at("loss").real(0) / 4;
      }
      EXPECT_NEAR(mean / whole.real(0), 1, 1e-12) << spec;
    }
    for (const std::string& name : big.state_names()) {
      EXPECT_LT(deviation(small.state(name), big.state(name)), 1e-9) << spec << " " << name;
    }
  }
}

}  // namespace
}  // namespace plait
