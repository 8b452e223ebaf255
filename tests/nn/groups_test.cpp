// Parameter groups, optimizers side by side, and losses that no gradient reaches.
#include "nn/groups.h"

#include "ir/text.h"
#include "nn/layers.h"
#include "nn/optimizer.h"
#include "ops/activation.h"
#include "ops/loss.h"
#include "ops/scan.h"
#include "ops/shape.h"
#include "tests/nn/run_ref.h"

namespace plait {
namespace {

struct Net : nn::ModuleOf<Net> {
  using ModuleOf::ModuleOf;
  nn::Linear fc1{this, "fc1", 3, 4}, fc2{this, "fc2", 4, 2};
  nn::LayerNorm norm{this, "norm", 2};
  Tensor forward(const Tensor& x) { return norm(fc2(ops::tanh(fc1(x)))); }
};

Tensor loss_of(Net& net, Builder& b) {
  const Tensor y = net(b.feed("x", DType::f64, {4, 3}));
  return ops::mse_loss(y, b.feed("t", DType::f64, {4, 2}));
}

Arrays feeds() {
  Array x(DType::f64, {4, 3}), t(DType::f64, {4, 2});
  for (std::int64_t i = 0; i < x.count(); ++i) x.set(i, std::sin(1.0 + double(i)));
  for (std::int64_t i = 0; i < t.count(); ++i) t.set(i, std::cos(2.0 * double(i)));
  return {{"x", x}, {"t", t}};
}

/// Three steps with these options.
Session trained(const nn::Optimizer& optimizer, const nn::StepOptions& options, Net& net) {
  Builder b("step");
  nn::minimize(loss_of(net, b), net.parameters(), optimizer, options);
  Session session = session_of(b);
  for (int i = 0; i < 3; ++i) session.run({"", feeds(), {}});
  return session;
}
Session trained(const nn::Optimizer& optimizer) {
  Net net(DType::f64);
  return trained(optimizer, {}, net);
}

bool has_state(const Session& session, const std::string& name) {
  const auto names = session.state_names();
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Each parameter goes its own way here: what one does changes no other's gradient in one step, and
// with Adam no other's moments.
TEST(Groups, HaveTheirOwnRateAndDecay) {
  const auto one_step = [](const nn::Optimizer& optimizer, bool grouped) {
    Net net(DType::f64);
    nn::StepOptions options;
    if (grouped) {
      options.groups = {{.parameters = net.fc1.parameters(), .lr = 0.5},
                        {.parameters = {&net.fc2.weight}, .weight_decay = 0.25}};
    }
    Builder b("step");
    nn::minimize(loss_of(net, b), net.parameters(), optimizer, options);
    Session session = session_of(b);
    session.run({"", feeds(), {}});
    return session;
  };
  const auto expect_same = [](const Session& a, const Session& b, const std::string& name) {
    EXPECT_TRUE(a.state(name).same_bits(b.state(name))) << name;
  };
  Session grouped = one_step(nn::AdamW{.lr = 0.125, .weight_decay = 0.5}, true);
  Session plain = one_step(nn::AdamW{.lr = 0.125, .weight_decay = 0.5}, false);
  Session fast = one_step(nn::AdamW{.lr = 0.5, .weight_decay = 0.5}, false);
  Session light = one_step(nn::AdamW{.lr = 0.125, .weight_decay = 0.25}, false);
  for (const char* name : {"fc1.weight", "fc1.bias"}) expect_same(grouped, fast, name);
  for (const char* name : {"fc2.bias", "norm.weight"}) expect_same(grouped, plain, name);
  expect_same(grouped, light, "fc2.weight");
  EXPECT_FALSE(plain.state("fc1.weight").same_bits(fast.state("fc1.weight")));
  EXPECT_FALSE(plain.state("fc2.weight").same_bits(light.state("fc2.weight")));
}

TEST(Groups, TakeTheirRateFromTheirState) {
  Net net(DType::f64);
  Session session = trained(nn::Sgd{.lr = 0.125},
                            {.groups = {{.parameters = {&net.fc1.weight}, .lr = 0.5}}}, net);
  EXPECT_EQ(session.state("optim.lr").real(0), 0.125);
  EXPECT_EQ(session.state("optim.lr.1").real(0), 0.5);
  session.set_state("optim.lr.1", Array::scalar(DType::f32, 0));
  const Array fc1 = session.state("fc1.weight"), fc2 = session.state("fc2.weight");
  session.run({"", feeds(), {}});
  EXPECT_TRUE(session.state("fc1.weight").same_bits(fc1));
  EXPECT_FALSE(session.state("fc2.weight").same_bits(fc2));
}

TEST(Groups, FrozenOnesStayAndTakeNoPart) {
  Net net(DType::f64);
  Session session = trained(
      nn::Adam{.lr = 0.1, .weight_decay = 0.1},
      {.clip = 0.01, .groups = {{.parameters = net.fc1.parameters(), .frozen = true}}}, net);
  Session untrained = trained(nn::Sgd{.lr = 0});
  for (const char* name : {"fc1.weight", "fc1.bias"}) {
    EXPECT_TRUE(session.state(name).same_bits(untrained.state(name))) << name;
    EXPECT_FALSE(has_state(session, str("optim.m.", name)));
  }
  EXPECT_FALSE(session.state("fc2.weight").same_bits(untrained.state("fc2.weight")));
  Net all(DType::f64);
  EXPECT_EQ(error_of([&] {
              trained(nn::Sgd{}, {.groups = {{.parameters = all.parameters(), .frozen = true}}},
                      all);
            }),
            "all 6 parameters are frozen: nothing is left to train");
}

TEST(Groups, DecayOfMatricesLeavesOutVectors) {
  const auto decayed = [](nn::Decay decay) {
    Net net(DType::f64);
    // Without gradients only the decay moves: lr * weight_decay = 1/16 of each.
    Builder b("step");
    std::vector<Tensor> zeros;
    for (const nn::Parameter* p : net.parameters()) {
      zeros.push_back(b.full(0, DType::f64, p->state().type.shape));
    }
    nn::apply_gradients(b, nn::AdamW{.lr = 0.125, .weight_decay = 0.5}, net.parameters(), zeros,
                        {.decay = decay});
    Session session = session_of(b);
    std::string names;
    Arrays before;
    for (const nn::Parameter* p : net.parameters()) before[p->name()] = session.state(p->name());
    session.run({"", {}, {}});
    for (const auto& [name, value] : before) {
      if (session.state(name).same_bits(value)) continue;
      names += name + " ";
      EXPECT_NEAR(session.state(name).real(0), value.real(0) * 0.9375, 1e-15) << name;
    }
    return names;
  };
  EXPECT_EQ(decayed(nn::Decay::kMatrices), "fc1.weight fc2.weight ");
  EXPECT_EQ(decayed(nn::Decay::kAll), "fc1.bias fc1.weight fc2.bias fc2.weight norm.weight ");
  for (const Shape& shape : {Shape{}, Shape{5}, Shape{1, 1, 5}, Shape{1, 5, 1, 1}}) {
    EXPECT_TRUE(nn::is_vector(shape)) << shape_text(shape);
  }
  for (const Shape& shape : {Shape{1, 5}, Shape{5, 1}, Shape{1, 1, 3, 3}, Shape{2, 1, 1, 4}}) {
    EXPECT_FALSE(nn::is_vector(shape)) << shape_text(shape);
  }
}

TEST(Groups, AreMadeByRules) {
  Net net(DType::f64);
  const nn::GroupRules rules{{nn::parse_group_rule("*.bias weight_decay=0", "c"),
                              nn::parse_group_rule(" fc1.*  lr=1e-3 weight_decay=0.5 ", "c")},
                             {"norm.*", "fc2.bias"}};
  std::string text;
  for (const nn::ParameterGroup& group : nn::groups_by(rules, net.parameters(), "c")) {
    for (const nn::Parameter* p : group.parameters) text += p->name() + " ";
    text += str("lr ", group.lr.value_or(-1), " decay ", group.weight_decay.value_or(-1),
                group.frozen ? " frozen\n" : "\n");
  }
  EXPECT_EQ(text,
            "fc1.bias lr -1 decay 0\n"
            "fc1.weight lr 0.001 decay 0.5\n"
            "fc2.bias norm.weight norm.bias lr -1 decay -1 frozen\n");
}

TEST(GroupMistakes, AreNamed) {
  Net net(DType::f64), other(DType::f64);
  const auto mistake = [&](std::vector<nn::ParameterGroup> groups) {
    return error_of([&] { trained(nn::Sgd{}, {.groups = std::move(groups)}, net); });
  };
  EXPECT_EQ(mistake({{.parameters = {&*other.fc1.bias}}}),
            "group 1 has fc1.bias, which is not among the parameters to train");
  EXPECT_EQ(mistake({{.parameters = net.fc1.parameters()}, {.parameters = {&*net.fc1.bias}}}),
            "fc1.bias is in groups 1 and 2: a parameter has one");
  EXPECT_EQ(mistake({{.parameters = {&*net.fc1.bias}, .lr = -1}}),
            "the learning rate must be finite and >= 0, is -1");
  const auto rule = [](std::string_view text) {
    return error_of([&] { nn::parse_group_rule(text, "c.toml: line 3"); });
  };
  EXPECT_EQ(rule(""), "c.toml: line 3: a group without a pattern. Say `GLOB lr=RATE`");
  EXPECT_EQ(rule("fc1.*"),
            "c.toml: line 3: 'fc1.*' says nothing of its group. Say lr=RATE or "
            "weight_decay=FACTOR");
  EXPECT_EQ(rule("fc1.* lr=1 lr=2"), "c.toml: line 3: 'fc1.* lr=1 lr=2' says lr twice");
  EXPECT_EQ(rule("fc1.* lr=-1"), "c.toml: line 3: lr must be finite and >= 0, is -1");
  EXPECT_EQ(rule("fc1.* momentum=1"),
            "c.toml: line 3: 'momentum=1' in 'fc1.* momentum=1' is unknown: a group is `GLOB "
            "lr=RATE weight_decay=FACTOR`, with one of the two or both");
  EXPECT_EQ(error_of([&] {
              nn::groups_by({{}, {"fc1.wieght"}}, net.parameters(), "c");
            }),
            "c: freeze: no parameter is matched by 'fc1.wieght'. Did you mean 'fc1.weight'?");
}

TEST(GroupMistakes, NothingToTrain) {
  Net net(DType::f64);
  Builder b("step");
  const Tensor loss = loss_of(net, b);
  EXPECT_EQ(error_of([&] { nn::minimize(loss, {}, nn::Adam{}); }),
            "graph step: no parameters to train were given. Give minimize those of a module: "
            "net.parameters()");
}

TEST(GroupMistakes, AGroupThatIsLeftNothingNamesWhatTookIt) {
  Net net(DType::f64);
  const auto mistake = [&](const std::vector<std::string>& groups,
                           const std::vector<std::string>& freeze) {
    nn::GroupRules rules{{}, freeze};
    for (const std::string& text : groups) rules.rules.push_back(nn::parse_group_rule(text, "c"));
    return error_of([&] { nn::groups_by(rules, net.parameters(), "c"); });
  };
  const std::string hint =
      ". freeze wins over groups, and the first group that matches takes: say it before them, or "
      "leave it out";
  EXPECT_EQ(mistake({"* lr=1", "fc1.* lr=2"}, {}),
            "c: groups: 'fc1.*' takes nothing: what it matches (fc1.weight, fc1.bias) is taken by "
            "'*'" +
                hint);
  EXPECT_EQ(mistake({"fc1.* lr=1"}, {"fc1.*"}),
            "c: groups: 'fc1.*' takes nothing: what it matches (fc1.weight, fc1.bias) is taken by "
            "freeze 'fc1.*'" +
                hint);
  EXPECT_EQ(mistake({"*.weight lr=1", "* lr=2"}, {"*.bias"}),
            "c: groups: '*' takes nothing: what it matches (fc1.weight, fc1.bias, fc2.weight, "
            "fc2.bias, norm.weight, ... 6 parameters) is taken by '*.weight' and freeze '*.bias'" +
                hint);
}

/// y = w over a vector, so that the gradient of its sum is 1.
struct One : nn::ModuleOf<One> {
  using ModuleOf::ModuleOf;
  nn::Parameter a{this, "a", {2}, init::zeros()}, b{this, "b", {2}, init::zeros()};
};

TEST(SideBySide, OptimizersCountTheirOwnUpdates) {
  const auto first_updates = [](const std::string& first, const std::string& second) {
    One net;
    ir::Package package;
    for (const bool of_a : {true, false}) {
      Builder b(of_a ? "step_a" : "step_b");
      nn::Parameter* p = of_a ? &net.a : &net.b;
      nn::minimize(p->in(b).sum(), {p}, nn::Adam{.lr = 1e-3}, {.name = of_a ? first : second});
      package.graphs.push_back(b.take());
    }
    Session session(std::move(package), make_target("ref"));
    session.run({"step_a", {}, {}});
    session.run({"step_b", {}, {}});
    return std::pair{session.state("a").real(0), session.state("b").real(0)};
  };
  const auto [a, b] = first_updates("", "other");
  EXPECT_NEAR(a, -1e-3, 1e-9);
  EXPECT_NEAR(b, -1e-3, 1e-9) << "its first update, whatever the other has done";
  EXPECT_EQ(error_of([&] { first_updates("", ""); }),
            "graphs step_a and step_b both count their updates in optim.step, but only step_b "
            "updates b: Adam's correction would be wrong. Give each optimizer a name of its own "
            "(nn::StepOptions{.name = \"generator\"})");
}

TEST(SideBySide, OneGraphCanHoldTwo) {
  One net;
  Builder b("step");
  nn::minimize(net.a.in(b).sum(), {&net.a}, nn::Adam{.lr = 0.5}, {.name = "left"});
  EXPECT_EQ(error_of([&] {
              nn::minimize(net.b.in(b).sum(), {&net.b}, nn::Sgd{.lr = 0.25}, {.name = "left"});
            }),
            "graph step has two optimizers with one name: both would count in optim.left.step. "
            "Give each further one a name of its own: {.name = \"generator\"}");
  nn::minimize(net.b.in(b).sum(), {&net.b}, nn::Sgd{.lr = 0.25, .momentum = 0.5},
               {.accumulate = 2, .loss_scale = 8, .name = "right"});
  Session session = session_of(b);
  for (const char* name : {"optim.left.lr", "optim.left.step", "optim.left.m.a", "optim.right.lr",
                           "optim.right.step", "optim.right.momentum.b", "optim.right.micro",
                           "optim.right.grad.b", "optim.right.scale", "optim.right.good"}) {
    EXPECT_TRUE(has_state(session, name)) << name;
  }
  EXPECT_EQ(session.state_names().size(), 2u + 10u + 1u) << "and optim.left.v.a";
  session.run({"", {}, {}});
  EXPECT_EQ(session.state("optim.left.step").integer(0), 1);
  EXPECT_EQ(session.state("optim.right.step").integer(0), 0);
  session.run({"", {}, {}});
  EXPECT_EQ(session.state("optim.right.step").integer(0), 1);
  EXPECT_EQ(session.state("b").real(0), -0.25);
}

TEST(SideBySide, NamesAreWordsOfTheirOwn) {
  One net;
  for (const std::string name : {"m", "lr", "a.b", "a b"}) {
    Builder b("step");
    EXPECT_TRUE(error_of([&] {
                  nn::minimize(net.a.in(b).sum(), {&net.a}, nn::Sgd{}, {.name = name});
                }).starts_with("an optimizer cannot be named"))
        << name;
  }
}

TEST(Unreached, ALossThatNoGradientReachesIsAnError) {
  Net net(DType::f32);
  Builder b("step");
  const Tensor y = net(b.feed("x", DType::f32, {4, 3}));
  const Tensor best = ops::argmax(y);
  const Tensor loss = best.cast(DType::f32).mean();
  const std::string error = error_of([&] { nn::minimize(loss, net.parameters(), nn::Sgd{}); });
  EXPECT_TRUE(
      error.starts_with("graph step: no gradient of the loss reaches fc1.weight, fc1.bias, "
                        "fc2.weight, fc2.bias, norm.weight, ... (6 parameters): the path "
                        "ends at %argmax ("))
      << error;
  EXPECT_NE(error.find("argmax makes i64 of f32"), std::string::npos) << error;
  EXPECT_NE(error.find("Nothing would be trained"), std::string::npos) << error;
}

TEST(Unreached, ALossOfSomethingElseIsAnError) {
  One net;
  Builder b("step");
  net.a.in(b);
  const Tensor loss = b.feed("x", DType::f32, {3}).sum();
  EXPECT_EQ(error_of([&] { nn::minimize(loss, {&net.a}, nn::Sgd{}); }),
            "graph step: no gradient of the loss reaches a: it is not computed from them. Nothing "
            "would be trained: compute the loss from them by operations on floats that have a "
            "gradient");
}

TEST(Unreached, ParametersAreNamedOnceAndStay) {
  One net;
  Builder b("step");
  const Tensor used = net.a.in(b);
  const Tensor loss = (used + ops::stop_gradient(net.b.in(b))).sum();
  std::vector<std::string> notes;
  const nn::Step step =
      nn::minimize(loss, net.parameters(), nn::Adam{.lr = 0.5, .weight_decay = 0.5},
                   {.clip = 10, .note = [&](const std::string& text) { notes.push_back(text); }});
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_TRUE(
      notes[0].starts_with("graph step: no gradient of the loss reaches b: the path ends "
                           "at %stop_gradient"))
      << notes[0];
  EXPECT_TRUE(notes[0].ends_with("stop_gradient lets none through; they are not trained"));
  ASSERT_EQ(step.grads.size(), 1u);
  EXPECT_EQ(step.parameters, std::vector<nn::Parameter*>{&net.a});
  Session session = session_of(b);
  EXPECT_FALSE(has_state(session, "optim.m.b"));
  session.set_state("b", Array::of(DType::f32, {2}, {1, 2}));
  session.run({"", {}, {}});
  EXPECT_EQ(session.state("b").real(1), 2) << "as a parameter without .grad in PyTorch: no decay";
  EXPECT_NE(session.state("a").real(1), 0);
}

}  // namespace
}  // namespace plait
