// Specs: documented sizes and counts of the full models, defaults, equal text from build to build,
// both forms of each model, mistakes in keys.
#include "models/registry.h"

#include <chrono>

#include "ir/text.h"
#include "ir/verify.h"
#include "ops/table.h"
#include "tests/nn/run_ref.h"

namespace plait {
namespace {

std::int64_t parameters(const std::string& spec) {
  std::int64_t total = 0;
  for (const ir::State& state : state_table(models::build(spec))) {
    if (state.role == ir::Role::kParam) total += state.type.elements().value();
  }
  return total;
}

/// Operations of the first graph, by op.
std::map<std::string, std::int64_t> operations(const ir::Graph& graph) {
  std::map<std::string, std::int64_t> by_op;
  for (const ir::Node& node : graph.nodes) by_op[node.op] += operations_of(graph, node).value();
  return by_op;
}

TEST(FullSize, HasTheDocumentedParameters) {
  EXPECT_EQ(parameters("mlp"), 144);
  EXPECT_EQ(parameters("conv_add"), 256 * 3 * 3 * 128);
  EXPECT_EQ(parameters("resnet50"), 25530472);
  EXPECT_EQ(parameters("resnet50?train=1"), 25557032);
  EXPECT_EQ(parameters("vgg19"), 143667240);
  EXPECT_EQ(parameters("vgg19?train=1"), 143667240);
  EXPECT_EQ(parameters("rwkv4"), 94803968);
  EXPECT_EQ(parameters("rwkv4?copy=0"), 94803968 - 2 * 256 * 1024);
  EXPECT_EQ(parameters("rwkv4?train=1"), 94803968);
  EXPECT_EQ(parameters("gpt2"), 124439808);
  EXPECT_EQ(parameters("gpt2?train=1"), 124439808);
}

TEST(FullSize, HasTheDocumentedOperations) {
  auto resnet = operations(models::build("resnet50").graphs[0]);
  EXPECT_EQ(resnet["conv2d"], 81742725120);
  EXPECT_EQ(resnet["linear"], 40960000);
  auto mlp = operations(models::build("mlp").graphs[0]);
  EXPECT_EQ(mlp["linear"], 2 * 2 * 64 * 8 * 8);
  auto conv = operations(models::build("conv_add").graphs[0]);
  EXPECT_EQ(conv["conv2d"], 2ll * 26 * 26 * 256 * 3 * 3 * 128);
}

TEST(FullSize, IsBuiltQuickly) {
  for (const models::Entry& entry : models::all_models()) {
    const auto start = std::chrono::steady_clock::now();
    const ir::Package package = models::build(str(entry.name, "?train=1"));
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    EXPECT_LT(seconds.count(), 1.0) << entry.name;
  }
}

TEST(Defaults, AreTheDocuments) {
  const ir::Package mlp = models::build("mlp?train=1");
  EXPECT_EQ(type_text(mlp.graphs[0].type(mlp.graphs[0].feeds[0])), "f16[64,8]");
  const ir::Package conv = models::build("conv_add");
  EXPECT_EQ(type_text(conv.graphs[0].type(conv.graphs[0].feeds[0])), "f16[1,28,28,128]");
  EXPECT_EQ(type_text(conv.graphs[0].type(conv.graphs[0].feeds[1])), "f16[1,26,26,256]");
  EXPECT_EQ(type_text(conv.graphs[0].states[0].state.type), "f16[256,3,3,128]");
  const ir::Package resnet = models::build("resnet50");
  EXPECT_EQ(type_text(resnet.graphs[0].type(resnet.graphs[0].feeds[0])), "f32[10,3,224,224]");
  EXPECT_EQ(type_text(resnet.graphs[0].type(resnet.graphs[0].fetches[0].value)), "f32[10,1000]");
  const ir::Package vgg = models::build("vgg19?train=1");
  EXPECT_EQ(type_text(vgg.graphs[0].type(vgg.graphs[0].feeds[0])), "f32[32,3,224,224]");
  EXPECT_NE(vgg.graphs[0].find_state("rng"), nullptr) << "dropout draws while training";
  EXPECT_EQ(vgg.graphs[1].find_state("rng"), nullptr) << "and not when evaluating";
  const ir::Package rwkv = models::build("rwkv4");
  EXPECT_EQ(type_text(rwkv.graphs[0].type(rwkv.graphs[0].feeds[0])), "i64[8,1024]");
  EXPECT_EQ(type_text(rwkv.graphs[0].type(rwkv.graphs[0].fetches[0].value)), "f32[8,1024,6064]");
}

std::string small_spec(std::string_view name) {
  const std::map<std::string_view, std::string> sizes{
      {"mlp", "batch=3"},
      {"conv_add", "image=5&channels=3&filters=2"},
      {"resnet50", "batch=2&image=32&width=2&classes=3"},
      {"vgg19", "batch=2&image=32&width=2&hidden=5&classes=3"},
      {"rwkv4", "batch=2&layers=1&width=6&vocab=9&context=5&copy=3"},
      {"gpt2", "batch=2&layers=1&width=6&heads=2&vocab=9&context=5"},
      {"unet", "batch=2&image=8&width=2&depth=2"}};
  return str(name, "?", sizes.at(name));
}

TEST(Forms, AreValidInEveryDTypeAndPrintTheSameTwice) {
  for (const models::Entry& entry : models::all_models()) {
    for (const char* form : {"&dtype=f64", "&dtype=bf16", "&train=1&dtype=f32",
                             "&train=1&dtype=f16", "&train=1&dtype=bf16&optimizer=adamw&lr=0.5"}) {
      const std::string spec = small_spec(entry.name) + form;
      SCOPED_TRACE(spec);
      const ir::Package package = models::build(spec);
      for (const ir::Graph& graph : package.graphs) ir::verify(graph);
      const std::string text = ir::print(package);
      EXPECT_EQ(text, ir::print(models::build(spec)));
      EXPECT_EQ(text, ir::print(ir::parse(text)));
    }
    const ir::Package inference = models::build(small_spec(entry.name));
    ASSERT_EQ(inference.graphs.size(), 1u);
    EXPECT_EQ(inference.graphs[0].name, entry.name);
    EXPECT_TRUE(inference.graphs[0].nexts.empty());
  }
}

TEST(Forms, LeaveNoTrainedStateBehind) {
  for (const models::Entry& entry : models::all_models()) {
    const ir::Graph train = models::build(small_spec(entry.name) + "&train=1").graphs[0];
    std::set<std::string> advanced;
    for (const ir::NextState& next : train.nexts) {
      EXPECT_TRUE(advanced.insert(next.state).second) << next.state << " has two next values";
    }
    for (const ir::StateUse& use : train.states) {
      EXPECT_TRUE(advanced.count(use.state.name) || use.state.name == "optim.lr")
          << entry.name << " " << use.state.name;
    }
  }
}

TEST(Forms, TheCopyMaskIsCountedNotStored) {
  const ir::Package masked = models::build("rwkv4"), open = models::build("rwkv4?mask=0");
  EXPECT_EQ(masked.graphs[0].states.size(), open.graphs[0].states.size());
  EXPECT_GT(masked.graphs[0].nodes.size(), open.graphs[0].nodes.size());
  for (const ir::Node& node : masked.graphs[0].nodes) {
    EXPECT_TRUE(node.op != "constant" || masked.graphs[0].type(node.outputs[0]).rank() == 0);
  }
}

TEST(Optimizers, AreTheModelsOwnOrTheOneAskedFor) {
  const auto rate = [](const std::string& spec) {
    const ir::Graph graph = models::build(spec).graphs[0];
    return initial_value(graph.find_state("optim.lr")->state, 0).real(0);
  };
  EXPECT_FLOAT_EQ(rate(small_spec("rwkv4") + "&train=1"), 8e-4);
  EXPECT_FLOAT_EQ(rate(small_spec("rwkv4") + "&train=1&optimizer=adam"), 8e-4);
  EXPECT_FLOAT_EQ(rate(small_spec("rwkv4") + "&train=1&optimizer=sgd"), 0.01);
  EXPECT_FLOAT_EQ(rate(small_spec("rwkv4") + "&train=1&lr=0.25"), 0.25);
  const ir::Graph resnet =
      models::build(small_spec("resnet50") + "&train=1&optimizer=sgd").graphs[0];
  EXPECT_NE(resnet.find_state("optim.momentum.conv1.weight"), nullptr);
}

/// Attributes of the first update, as text.
std::string update_of(const std::string& spec) {
  const ir::Package package = models::build(spec);
  for (const ir::Node& node : package.graphs[0].nodes) {
    if (!node.op.ends_with("_update")) continue;
    std::string text = node.op;
    for (const auto& [name, value] : node.attrs) text += str(" ", name, "=", ir::attr_text(value));
    return text;
  }
  return "none";
}

TEST(Optimizers, TakeTheSettingsOfTheirKeys) {
  const std::string mlp = small_spec("mlp") + "&train=1", gpt2 = small_spec("gpt2") + "&train=1";
  EXPECT_EQ(update_of(mlp), "sgd_update");
  EXPECT_EQ(update_of(mlp + "&momentum=0.5&nesterov=1&weight_decay=0.25"),
            "sgd_update momentum=0.5 nesterov=true weight_decay=0.25");
  EXPECT_EQ(update_of(mlp + "&optimizer=adam&beta1=0.5&beta2=0.75&eps=0.125"),
            "adam_update beta1=0.5 beta2=0.75 eps=0.125");
  EXPECT_EQ(update_of(gpt2 + "&weight_decay=0"), "adam_update decoupled=true");
  EXPECT_EQ(update_of(small_spec("resnet50") + "&train=1&momentum=0&weight_decay=0"), "sgd_update");
}

/// Of every update: what it updates, by which rate, with which decay.
std::string updates_of(const std::string& spec) {
  const ir::Package package = models::build(spec);
  const ir::Graph& graph = package.graphs[0];
  std::string text;
  for (const ir::Node& node : graph.nodes) {
    if (!node.op.ends_with("_update")) continue;
    const ir::AttrValue* decay = node.attrs.find("weight_decay");
    text += str(graph.value(node.inputs[0]).name, " ", graph.value(node.inputs[2]).name, " ",
                decay ? ir::attr_text(*decay) : "0", "\n");
  }
  return text;
}

TEST(Optimizers, HaveGroupsByName) {
  const std::string mlp = "mlp?dtype=f32&train=1&weight_decay=0.5";
  EXPECT_EQ(updates_of(mlp),
            "0.W optim.lr 0.5\n0.b optim.lr 0.5\n2.W optim.lr 0.5\n2.b optim.lr 0.5\n");
  EXPECT_EQ(updates_of(mlp + "&weight_decay_of=matrices"),
            "0.W optim.lr 0.5\n0.b optim.lr 0\n2.W optim.lr 0.5\n2.b optim.lr 0\n");
  EXPECT_EQ(updates_of(mlp + "&weight_decay_of=matrices&freeze=0.W&"
                             "groups=0.* lr=0.25,*.b weight_decay=0.125"),
            "0.b optim.lr.1 0\n2.W optim.lr 0.5\n2.b optim.lr 0.125\n");
  EXPECT_EQ(error_of([&] { models::build(mlp + "&freeze=0.w"); }),
            "mlp: freeze: no parameter is matched by '0.w'. Did you mean '0.W'?");
  EXPECT_EQ(error_of([&] { models::build(mlp + "&freeze=*"); }),
            "all 4 parameters are frozen: nothing is left to train");
}

// RWKV's time_mix is [1, 1, width], and no matrix.
TEST(Optimizers, DecayOfMatricesLeavesOutNormsAndBiases) {
  for (const std::string model : {"rwkv4", "resnet50", "gpt2"}) {
    const ir::Package package =
        models::build(small_spec(model) + "&train=1&weight_decay=0.5&weight_decay_of=matrices");
    const ir::Graph& graph = package.graphs[0];
    for (const ir::Node& node : graph.nodes) {
      if (!node.op.ends_with("_update")) continue;
      const std::string& name = graph.value(node.inputs[0]).name;
      const bool vector = name.find("time_") != std::string::npos || name.ends_with("bias") ||
                          name.find("bn") != std::string::npos ||
                          name.find("downsample.1") != std::string::npos ||
                          name.find("ln") != std::string::npos;
      const ir::AttrValue* decay = node.attrs.find("weight_decay");
      EXPECT_EQ(decay != nullptr, !vector) << model << " " << name;
    }
  }
}

TEST(Steps, FetchWhatTheirKeysAskFor) {
  const auto fetches = [](const std::string& keys) {
    std::string names;
    const ir::Package package = models::build(small_spec("mlp") + "&train=1&dtype=f32" + keys);
    for (const ir::Fetch& f : package.graphs[0].fetches) names += f.name + " ";
    for (const ir::StateUse& use : package.graphs[0].states) {
      if (use.state.type.rank() == 0) names += use.state.name + " ";
    }
    return names;
  };
  EXPECT_EQ(fetches(""), "loss optim.lr optim.step ");
  EXPECT_EQ(fetches("&clip=1"), "loss grad_norm optim.lr optim.step ");
  EXPECT_EQ(fetches("&accumulate=4"), "loss optim.micro optim.lr optim.step ");
  EXPECT_EQ(fetches("&on_nan=skip"), "loss skipped optim.lr optim.step ");
  EXPECT_EQ(fetches("&precision=bf16"), "loss optim.lr optim.step ");
  EXPECT_EQ(fetches("&precision=f16"), "loss skipped optim.scale optim.good optim.lr optim.step ");
  EXPECT_EQ(fetches("&precision=f16&loss_scale=0"), "loss optim.lr optim.step ");
  EXPECT_EQ(fetches("&loss_scale=8&clip=2&accumulate=3"),
            "loss grad_norm skipped optim.scale optim.micro optim.good optim.lr optim.step ");
}

TEST(FirstValues, OfRwkv4FollowItsFormulas) {
  const auto value = [](const std::string& spec, const std::string& name) {
    for (const ir::State& state : state_table(models::build(spec))) {
      if (state.name == name) return initial_value(state, 0);
    }
    throw Bug("no state " + name);
  };
  const std::string spec = "rwkv4?layers=3&width=8&vocab=20&context=4&copy=4";
  const Array decay = value(spec, "blocks.1.att.time_decay");
  const Array first = value(spec, "blocks.1.att.time_first");
  const Array mix_v = value(spec, "blocks.1.att.time_mix_v");
  const Array mix_r = value(spec, "blocks.1.att.time_mix_r");
  for (int i = 0; i < 8; ++i) {
    EXPECT_NEAR(decay.real(i), -5 + 8 * std::pow(i / 7.0, 0.7 + 1.3 * 0.5), 1e-6);
    EXPECT_NEAR(first.real(i), std::log(0.3) + 0.5 * ((i + 1) % 3 - 1), 1e-6);
    EXPECT_NEAR(mix_v.real(i), std::pow(i / 8.0, 1 - 1 / 3.0) + 0.3 * 0.5, 1e-6);
    EXPECT_NEAR(mix_r.real(i), std::pow(i / 8.0, (1 - 1 / 3.0) / 2), 1e-6);
  }
  EXPECT_EQ(deviation(value(spec, "blocks.0.att.key.weight"), Array(DType::f32, {8, 8})), 0);
  EXPECT_NE(
      deviation(value(spec + "&init=xavier", "blocks.0.att.key.weight"), Array(DType::f32, {8, 8})),
      0);
  const Array head = value(spec, "head.weight");  // [20,8]: columns of length 0.5 sqrt(20/8)
  double square = 0;
  for (int i = 0; i < 20; ++i) square += head.real(8 * i) * head.real(8 * i);
  EXPECT_NEAR(square, 0.25 * 20 / 8, 1e-5);
}

std::string mistake(const std::string& spec) {
  return error_of([&] { models::build(spec); });
}

TEST(Mistakes, NameTheNearest) {
  EXPECT_EQ(mistake("resnet5"),
            "there is no model 'resnet5'. Did you mean 'resnet50'? There are mlp, conv_add, "
            "resnet50, vgg19, rwkv4, gpt2, unet");
  EXPECT_EQ(mistake("mlp?widht=3"),
            "mlp has no key 'widht'. Did you mean 'width'? It has batch, dtype, train, optimizer, "
            "lr, momentum, nesterov, beta1, beta2, eps, weight_decay, weight_decay_of, groups, "
            "freeze, clip, accumulate, precision, "
            "loss_scale, loss_scale_every, on_nan, width");
  EXPECT_EQ(mistake("mlp?dtype=f33"),
            "mlp: dtype cannot be 'f33'. Did you mean 'f32'? It is one of f32, f16, bf16, f64");
  EXPECT_EQ(mistake("mlp?optimizer=adma"),
            "mlp: optimizer cannot be 'adma'. Did you mean 'adam'? It is one of own, sgd, adam, "
            "adamw");
  EXPECT_EQ(mistake("mlp?train=yes"), "mlp: train cannot be 'yes'. It is one of 0, 1");
}

TEST(Mistakes, InValues) {
  EXPECT_EQ(mistake("mlp?batch=x"), "mlp: batch must be a whole number, not 'x'");
  EXPECT_EQ(mistake("mlp?batch=0"), "mlp: batch must be from 1 to 1073741824, is 0");
  EXPECT_EQ(mistake("mlp?batch=-3"), "mlp: batch must be from 1 to 1073741824, is -3");
  EXPECT_EQ(mistake("mlp?batch="), "mlp: batch has no value");
  EXPECT_EQ(mistake("mlp?batch"), "mlp: 'batch' must be key=value");
  EXPECT_EQ(mistake("mlp?batch=2&batch=3"), "mlp: batch is given twice");
  EXPECT_EQ(mistake("mlp?train=1&lr=fast"), "mlp: lr must be a number, not 'fast'");
  EXPECT_EQ(mistake("mlp?lr=-1"), "mlp: lr must not be negative, is -1");
  EXPECT_EQ(mistake("mlp?lr=inf"), "mlp: lr must be finite, is inf");
  EXPECT_EQ(mistake("mlp?weight_decay=-1"), "mlp: weight_decay must not be negative, is -1");
  EXPECT_EQ(mistake("mlp?momentum=1"), "mlp: momentum must be at least 0 and below 1, is 1");
  EXPECT_EQ(mistake("mlp?nesterov=1"), "mlp: nesterov=1 needs a momentum");
  EXPECT_EQ(mistake("mlp?beta1=0.5"),
            "mlp: beta1 is no setting of sgd. Leave it out, or set optimizer");
  EXPECT_EQ(mistake("gpt2?momentum=0.5"),
            "gpt2: momentum is no setting of adamw. Leave it out, or set optimizer");
  EXPECT_EQ(mistake("mlp?clip=-1"), "mlp: clip must not be negative, is -1");
  EXPECT_EQ(mistake("mlp?accumulate=0"), "mlp: accumulate must be from 1 to 1048576, is 0");
  EXPECT_EQ(mistake("mlp?precision=f64"),
            "mlp: precision cannot be 'f64'. Did you mean 'f32'? It is one of f32, bf16, f16");
  EXPECT_EQ(mistake("mlp?precision=bf16"),
            "mlp: precision=bf16 keeps weights in f32, but dtype is f16. Say dtype=f32");
  EXPECT_EQ(mistake("gpt2?width=10&heads=3"), "gpt2: width=10 is not a multiple of heads=3");
  EXPECT_EQ(mistake("gpt2?dropout=1"), "gpt2: dropout must be at least 0 and below 1, is 1");
  EXPECT_EQ(mistake("vgg19?image=31"), "vgg19: image must be at least 32, is 31");
  EXPECT_EQ(mistake("unet?image=100"), "unet: image=100 is not a multiple of 2^depth = 16");
  EXPECT_EQ(mistake("unet?depth=60"), "unet: depth must be from 1 to 16, is 60");
  EXPECT_EQ(mistake("gpt2?layers=99999"), "gpt2: layers must be from 1 to 10000, is 99999");
  EXPECT_EQ(mistake("conv_add?image=2"), "conv_add: image=2 is smaller than kernel=3");
  EXPECT_EQ(mistake("rwkv4?init=zero"),
            "rwkv4: init cannot be 'zero'. It is one of reference, xavier");
}

}  // namespace
}  // namespace plait
