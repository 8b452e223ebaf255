// Products that share a launch: which are gathered, what becomes of their steps, and that every
// step still finds what it reads.
#include <algorithm>
#include <map>
#include <set>

#include "base/at.h"
#include "ir/text.h"
#include "models/registry.h"
#include "plan/draft.h"
#include "tests/plan/gathers.h"
#include "tests/plan/same_program.h"

namespace plait::plan {
namespace {

// --- What a gathered step is. ---

bool has(const std::vector<int>& list, int x) {
  return std::find(list.begin(), list.end(), x) != list.end();
}

std::vector<int> buffers_of(Call call) {
  std::vector<int> out;
  each_buffer(call, [&](int b) {
    if (b >= 0) out.push_back(b);
  });
  return out;
}

/// Calls of a step run together: what one writes, no other touches.
void check_calls_are_apart(const Step& step) {
  for (const Call& one : step.calls) {
    for (const Call& other : step.calls) {
      if (&one == &other) continue;
      for (int b : buffers_of(one)) {
        EXPECT_FALSE(has(step.writes, b) && has(buffers_of(other), b)) << "buffer " << b;
      }
    }
  }
}

void check_shared_step(const Step& step) {
  SCOPED_TRACE(step.name);
  const std::vector<const ProductCall*> calls = products_of(step);
  EXPECT_EQ(calls.size(), step.calls.size());
  const bool bare = calls[0]->c >= 0;
  EXPECT_EQ(step.shared_bytes, bare ? 0 : kGathered * static_cast<std::int64_t>(calls.size()));
  EXPECT_EQ(step.kernel, "loop.pair.01234567");
  for (const ProductCall* call : calls) {
    ASSERT_EQ(call->parts.size(), 1u);
    const ProductCall::Part& part = call->parts[0];
    EXPECT_TRUE(part.generated.table);
    EXPECT_EQ(call->c >= 0, bare);
    EXPECT_EQ(part.generated.buffers, (std::vector<int>{call->a, call->b, bare ? call->c : -1}));
    EXPECT_EQ(part.generated.function.name, "k_pair_0123456789abcdef");
    EXPECT_EQ(part.variant, "");
    EXPECT_EQ(part.epilogue.name, calls[0]->parts[0].epilogue.name);
    EXPECT_EQ(part.epilogue.name.empty(), bare);
    EXPECT_EQ(std::count(part.buffers.begin(), part.buffers.end(), -1), bare ? 0 : 1);
    EXPECT_TRUE(has(step.reads, call->a) && has(step.reads, call->b));
  }
  check_calls_are_apart(step);
}

// --- That steps find what they read. ---

/// What lies in the buffers while the steps run one after the other.
class Contents {
 public:
  explicit Contents(const Program& p) : p_(p), graph_(ir::parse_graph(p.graph_text)) {
    for (const StateBinding& s : p.states) put(p.values[at(s.held)].buffer, s.state.name);
    for (const Binding& c : p.rounded) put(p.values[at(c.held)].buffer, rounded(c));
    for (const Binding& f : p.feeds) put(p.values[at(f.held)].buffer, f.name);
    for (const auto& [held, _] : p.constants) {
      put(p.values[at(held)].buffer, p.values[at(held)].name);
    }
  }

  void run() {
    for (const Step& s : p_.steps) {
      SCOPED_TRACE("step " + s.name);
      const std::set<std::string> made = made_by(s);
      for (const std::string& node : s.nodes) {
        if (s.kind == "copy") {
          expect_read(s, node);
        } else {
          expect_inputs(s, node, made);
        }
      }
      for (int b : s.writes) write(s, b, made);
    }
    for (const ir::NextState& n : graph_.nexts) {
      EXPECT_EQ(lies_[state_buffer(n.state)], graph_.value(n.value).name);
    }
    for (const Binding& c : p_.rounded) {
      EXPECT_EQ(lies_[p_.values[at(c.held)].buffer], rounded(c));
    }
    for (std::size_t i = 0; i < graph_.fetches.size(); ++i) {
      const int b = p_.values[at(p_.fetches[i].held)].buffer;
      EXPECT_EQ(lies_[b], graph_.value(graph_.fetches[i].value).name);
    }
  }

 private:
  int state_buffer(const std::string& name) const {
    for (const StateBinding& s : p_.states) {
      if (s.state.name == name) return p_.values[at(s.held)].buffer;
    }
    return -1;
  }

  /// The value that a kept copy of a state stands for.
  std::string rounded(const Binding& copy) const {
    const std::string& name = p_.values[at(copy.held)].name;
    return name.substr(0, name.rfind(".kept"));
  }

  /// A step names the first output of each of its nodes.
  std::set<std::string> made_by(const Step& s) const {
    std::set<std::string> out;
    for (const std::string& name : s.nodes) {
      const ir::NodeId by = graph_.value(graph_.find_value(name)).producer;
      if (by == ir::kNone) continue;  // a state that is copied
      for (ir::ValueId v : graph_.node(by).outputs) out.insert(graph_.value(v).name);
    }
    return out;
  }

  bool is_held(const std::string& name) const {
    return std::any_of(p_.values.begin(), p_.values.end(),
                       [&](const Held& h) { return h.name == name; });
  }

  /// What has no memory is computed where it is read, of its own inputs.
  void expect_inputs(const Step& s, const std::string& node, const std::set<std::string>& made) {
    const ir::NodeId by = graph_.value(graph_.find_value(node)).producer;
    for (ir::ValueId v : graph_.node(by).inputs) {
      if (v == ir::kNone || made.count(graph_.value(v).name)) continue;
      const std::string& name = graph_.value(v).name;
      is_held(name) ? expect_read(s, name) : expect_inputs(s, name, made);
    }
  }

  void expect_read(const Step& s, const std::string& value) {
    EXPECT_TRUE(std::any_of(s.reads.begin(), s.reads.end(),
                            [&](int b) { return lies_.count(b) && lies_.at(b) == value; }))
        << value << " does not lie where the step reads";
  }

  void write(const Step& s, int buffer, const std::set<std::string>& made) {
    if (s.kind == "copy") return put(buffer, s.nodes[0]);
    for (const Held& h : p_.values) {
      const std::string name = h.name.substr(0, h.name.rfind(".again"));
      if (h.buffer == buffer && made.count(name)) put(buffer, name);
    }
  }

  /// What lay in the same bytes is gone.
  void put(int buffer, const std::string& value) {
    const Buffer& to = p_.buffers[at(buffer)];
    for (auto it = lies_.begin(); it != lies_.end();) {
      const Buffer& x = p_.buffers[at(it->first)];
      const bool meets =
          x.space == to.space && x.offset < to.offset + to.bytes && to.offset < x.offset + x.bytes;
      it = meets ? lies_.erase(it) : std::next(it);
    }
    lies_[buffer] = value;
  }

  const Program& p_;
  ir::Graph graph_;
  std::map<int, std::string> lies_;
};

void check_program(const Program& program) {
  std::set<std::string> logged;
  for (const LogEntry& e : program.log) {
    if (e.what == "grouped") logged.insert(e.node);
  }
  std::size_t tabled = 0;
  for (const Step& s : program.steps) {
    const std::vector<const ProductCall*> calls = products_of(s);
    if (calls.size() > 1) check_shared_step(s);
    for (const ProductCall* call : calls) {
      tabled += is_tabled(*call);
      EXPECT_EQ(is_tabled(*call), calls.size() > 1) << s.name;
    }
  }
  EXPECT_EQ(logged.size(), tabled);
  Contents(program).run();
  const std::string bytes = to_bytes(program);
  const Program read = from_bytes(bytes, "memory");
  expect_same(program, read);
  EXPECT_EQ(to_bytes(read), bytes);
}

// --- Programs. ---

/// Gradients of `count` weights of one shape, each with its update.
ir::Graph updates(int count, const std::string& more = "", const std::string& size = "512") {
  std::vector<std::string> feeds, states{"lr: f32[] = constant(value=0.1)"};
  std::string nodes, nexts;
  for (int i = 0; i < count; ++i) {
    const std::string half = str("bf16[", size, ",", size, "]");
    const std::string full = str("f32[", size, ",", size, "]");
    feeds.push_back(str("x", i, ": ", half, ", d", i, ": ", half));
    states.push_back(str("w", i, ": ", full));
    nodes += str("%g", i, " = matmul(d", i, ", x", i, ", transpose_a=true) : ", half, "\n");
    nodes += str("%f", i, " = cast(%g", i, ") : ", full, "\n");
    nodes += str("%u", i, " = sgd_update(w", i, ", %f", i, ", lr) : ", full, "\n");
    nexts += str("next w", i, " = %u", i, "\n");
  }
  return ir::parse_graph(str("graph g(", join(feeds, ", "), ") state(", join(states, ", "), ") {\n",
                             nodes, more, nexts, "}"));
}

using Counts = std::vector<std::size_t>;

TEST(Gather, NothingWhereTheTargetHasNoSuchLaunch) {
  const Program program = planned(updates(5), kNever);
  EXPECT_EQ(shared_launches(program.steps), Counts{});
  EXPECT_EQ(program.shared_bytes, kAlone);
  for (const LogEntry& e : program.log) EXPECT_NE(e.what, "grouped");
  check_program(program);
}

TEST(Gather, AsManyAsShareALaunch) {
  const std::map<int, Counts> expected = {{1, {}},  {2, {2, 2}}, {3, {3, 2}},
                                          {4, {4}}, {5, {5}},    {9, {5}}};
  for (const auto& [most, counts] : expected) {
    SCOPED_TRACE(str("at most ", most));
    const Program program = planned(updates(5), most);
    EXPECT_EQ(shared_launches(program.steps), counts);
    check_program(program);
  }
}

TEST(Gather, AStepIsTheSumOfItsProducts) {
  const Program apart = planned(updates(3), kNever), shared = planned(updates(3), 3);
  ASSERT_EQ(shared.steps.size(), 1u);
  const Step& s = shared.steps[0];
  Dim operations = 0, read = 0, written = 0;
  for (const Step& each : apart.steps) {
    operations = operations + each.operations;
    read = read + each.bytes_read;
    written = written + each.bytes_written;
    for (const std::string& node : each.nodes) {
      EXPECT_EQ(std::count(s.nodes.begin(), s.nodes.end(), node), 1) << node;
    }
  }
  EXPECT_EQ(s.operations, operations);
  EXPECT_EQ(s.bytes_read, read);
  EXPECT_EQ(s.bytes_written, written);
  EXPECT_EQ(shared.shared_bytes, 3 * kGathered);
  EXPECT_EQ(shared.arena_bytes, apart.arena_bytes);  // the states are advanced in place
  EXPECT_EQ(std::count_if(shared.texts.begin(), shared.texts.end(),
                          [](const std::string& t) { return t.find("k_pair_") != t.npos; }),
            1);
}

TEST(Gather, SmallProductsAreNotAskedFor) {
  const Program program = planned(updates(4, "", "64"), 4);
  for (const Step& s : program.steps) {
    for (const ProductCall* call : products_of(s)) EXPECT_FALSE(is_tabled(*call));
  }
}

/// Two products of one shape with one kernel behind them, in steps of their own.
void expect_apart_though_equal(const Program& program) {
  std::vector<std::string> behind;
  for (const Step& s : program.steps) {
    for (const ProductCall* call : products_of(s)) {
      EXPECT_EQ(call->parts[0].variant, "library apart");
      behind.push_back(call->parts[0].epilogue.name);
    }
  }
  ASSERT_EQ(behind.size(), 2u);
  EXPECT_EQ(behind[0], behind[1]);
  EXPECT_EQ(shared_launches(program.steps), Counts{});
  check_program(program);
}

/// Two weights, each less a product of its own operand; what `more` makes stands between them.
Program two_updates(const std::string& first, const std::string& more, const std::string& second) {
  const std::string type = " : bf16[512,512]\n";
  return planned(
      ir::parse_graph(str("graph g(x: bf16[512,512], d: bf16[512,512]) ",
                          "state(v: bf16[512,512], w: bf16[512,512]) {\n", "%g = matmul(", first,
                          ", x, transpose_a=true)", type, "%u = sub(v, %g)", type, more,
                          "%h = matmul(", second, ", x, transpose_a=true)", type, "%o = sub(w, %h)",
                          type, "next v = %u\nnext w = %o\n}")),
      2);
}

TEST(Gather, TwoThatNeedNothingOfEachOther) {
  EXPECT_EQ(shared_launches(two_updates("d", "", "x").steps), Counts{2});
}

TEST(Gather, NotWhatIsMadeFromTheFirstOnesUpdate) {
  expect_apart_though_equal(two_updates("d", "", "%u"));
}

TEST(Gather, NotPastWhoReadsWhatItWrote) {
  expect_apart_though_equal(two_updates("d",
                                        "%s = softmax(%u, axis=1) : bf16[512,512]\n"
                                        "%t = softmax(%s, axis=0) : bf16[512,512]\n",
                                        "%t"));
}

TEST(Gather, NotWhereOneAdvancesWhatTheOtherMultiplies) {
  const Program program = two_updates("w", "", "d");
  expect_apart_though_equal(program);
  for (const LogEntry& e : program.log) EXPECT_NE(e.what, "copied") << e.node;
}

/// Launches of products of which so many are of each shape; one that is left over runs alone.
Counts launches_of(const Counts& shapes, std::size_t most) {
  Counts out;
  for (std::size_t left : shapes) {
    for (; left > 1; left -= std::min(left, most)) out.push_back(std::min(left, most));
  }
  std::sort(out.begin(), out.end());
  return out;
}

void check_network(const std::string& spec, const Counts& shapes) {
  const ir::Package package = models::build(spec);
  const auto train = std::find_if(package.graphs.begin(), package.graphs.end(),
                                  [](const ir::Graph& g) { return g.name == "train"; });
  ASSERT_NE(train, package.graphs.end());
  const Program apart = planned(*train, kNever);
  EXPECT_EQ(shared_launches(apart.steps), Counts{});
  check_program(apart);
  for (int most : {2, 3, 64}) {
    SCOPED_TRACE(str("at most ", most));
    const Program program = planned(*train, most);
    Counts counts = shared_launches(program.steps);
    std::sort(counts.begin(), counts.end());
    EXPECT_EQ(counts, launches_of(shapes, static_cast<std::size_t>(most)));
    check_program(program);
  }
}

TEST(Gather, Rwkv) {  // five square weights in a layer and two in the head; ffn's key and value
  check_network("rwkv4?layers=3&width=256&vocab=512&context=512&batch=2&train=1&precision=bf16",
                {17, 3, 3});
}
/// What the nodes of a step's products are: layers' weights by the path of each.
std::set<std::string> paths_of(const Step& step, const ir::Graph& graph) {
  std::set<std::string> out;
  for (const std::string& node : step.nodes) {
    out.insert(graph.node(graph.value(graph.find_value(node)).producer).path);
  }
  return out;
}

TEST(Gather, KeyValueAndReceptance) {
  const ir::Package package = models::build(
      "rwkv4?layers=2&width=256&vocab=512&context=512&batch=2&train=1&precision=bf16");
  const Program program = planned(package.graphs.at(0), 8, Bare::kTogether);
  check_program(program);
  EXPECT_LE(program.arena_bytes, planned(package.graphs.at(0), 8).arena_bytes);
  const ir::Graph graph = ir::parse_graph(program.graph_text);
  std::map<std::set<std::string>, int> found;  // bare ones that share a launch
  for (const Step& s : program.steps) {
    const std::vector<const ProductCall*> calls = products_of(s);
    if (calls.size() > 1 && calls[0]->c >= 0) ++found[paths_of(s, graph)];
  }
  for (const std::string layer : {"blocks.0.att.", "blocks.1.att."}) {
    const std::string key = layer + "key", value = layer + "value";
    // Forward, receptance is multiplied where wkv is there: no bare product.
    EXPECT_EQ((found[{key, value}]), 1) << layer;
    EXPECT_EQ((found[{key, value, layer + "receptance"}]), 1) << layer;
  }
}

TEST(Gather, Gpt2) {  // four weights in a layer
  check_network(
      "gpt2?layers=3&width=256&heads=4&vocab=512&context=512&batch=2&train=1&precision=bf16",
      {3, 3, 3, 3});
}

}  // namespace
}  // namespace plait::plan
