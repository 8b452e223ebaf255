// Products of one grouped launch: which are batched, what becomes of their steps, and that every
// step still finds what it reads.
#include <algorithm>
#include <map>
#include <set>

#include "base/at.h"
#include "ir/text.h"
#include "models/registry.h"
#include "plan/draft.h"
#include "tests/plan/batches.h"
#include "tests/program/same_program.h"

namespace plait::plan {
namespace {

// --- What a batched step is. ---

using program::Access;
using program::Binding;
using program::Buffer;
using program::BufferId;
using program::Call;
using program::Program;
using program::StateBinding;
using program::View;
using program::Workspace;

template <class T>
bool has(const std::vector<T>& list, const T& x) {
  return std::find(list.begin(), list.end(), x) != list.end();
}

/// What a call touches, or writes alone.
std::vector<BufferId> buffers_of(const Program& program, const Call& call, bool written = false) {
  std::vector<BufferId> out;
  each_argument(call, [&](ViewId v, Access access) {
    if (access == Access::kWrite || !written) out.push_back(program.view(v).buffer);
  });
  return out;
}

/// Calls of a step run together: what one writes, no other touches, and each has a workspace.
void check_calls_are_apart(const Program& program, const Step& step) {
  std::int64_t end = 0;
  for (const Call& one : step.calls) {
    const std::vector<BufferId> written = buffers_of(program, one, true);
    EXPECT_FALSE(written.empty());
    for (const Call& other : step.calls) {
      if (&one == &other) continue;
      for (BufferId b : buffers_of(program, other)) {
        EXPECT_FALSE(has(written, b)) << "buffer " << b.number();
      }
    }
    const Workspace& workspace = std::get<ProductCall>(one).parts[0].workspace;
    EXPECT_EQ(workspace.offset, end);
    end += workspace.bytes;
  }
  EXPECT_EQ(end, step.shared_bytes);
}

void check_grouped_step(const Program& program, const Step& step) {
  SCOPED_TRACE(step.name);
  const std::vector<const ProductCall*> calls = products_of(step);
  EXPECT_EQ(calls.size(), step.calls.size());
  const bool bare = calls[0]->c.valid();
  const std::vector<ViewId> reads = program::uses_of(step).reads;
  EXPECT_EQ(step.shared_bytes, bare ? 0 : kGrouped * static_cast<std::int64_t>(calls.size()));
  EXPECT_EQ(step.kernel, "loop.pair.01234567");
  for (const ProductCall* call : calls) {
    ASSERT_EQ(call->parts.size(), 1u);
    const ProductCall::Part& part = call->parts[0];
    EXPECT_TRUE(part.generated.table);
    EXPECT_EQ(call->c.valid(), bare);
    EXPECT_EQ(part.workspace.bytes, bare ? 0 : kGrouped);
    ASSERT_EQ(part.generated.arguments.size(), 3u);
    const ViewId operands[] = {call->a, call->b, call->c};
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(part.generated.arguments[i].view, operands[i]);
      EXPECT_EQ(part.generated.arguments[i].access, i < 2 ? Access::kRead : Access::kWrite);
    }
    EXPECT_EQ(part.generated.function.name, "k_pair_0123456789abcdef");
    EXPECT_EQ(part.variant, "");
    EXPECT_EQ(part.epilogue.name, calls[0]->parts[0].epilogue.name);
    EXPECT_EQ(part.epilogue.name.empty(), bare);
    EXPECT_EQ(std::count_if(part.arguments.begin(), part.arguments.end(),
                            [](const program::Argument& a) { return !a.view.valid(); }),
              bare ? 0 : 1);
    EXPECT_TRUE(has(reads, call->a) && has(reads, call->b));
  }
  check_calls_are_apart(program, step);
}

// --- That steps find what they read. ---

/// What lies where the views are while the steps run one after the other.
class Contents {
 public:
  explicit Contents(const Program& p) : p_(p), graph_(ir::parse_graph(p.graph_text)) {
    for (const StateBinding& s : p.states) put(s.view, s.state.name);
    for (const Binding& c : p.rounded) put(c.view, rounded(c));
    for (const Binding& f : p.feeds) put(f.view, f.name);
    for (const auto& [view, _] : p.constants) put(view, p.view(view).name);
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
      for (ViewId v : program::uses_of(s).writes) write(s, v, made);
    }
    for (const ir::NextState& n : graph_.nexts) {
      EXPECT_EQ(lies_at(state_view(n.state)), graph_.value(n.value).name);
    }
    for (const Binding& c : p_.rounded) {
      EXPECT_EQ(lies_at(c.view), rounded(c));
    }
    for (std::size_t i = 0; i < graph_.fetches.size(); ++i) {
      EXPECT_EQ(lies_[p_.fetches[i].view], graph_.value(graph_.fetches[i].value).name);
    }
  }

 private:
  ViewId state_view(const std::string& name) const {
    for (const StateBinding& s : p_.states) {
      if (s.state.name == name) return s.view;
    }
    return {};
  }

  /// The value that a kept copy of a state stands for.
  std::string rounded(const Binding& copy) const {
    const std::string& name = p_.view(copy.view).name;
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
    return std::any_of(p_.views.begin(), p_.views.end(),
                       [&](const View& v) { return v.name == name; });
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
    const std::vector<ViewId> reads = program::uses_of(s).reads;
    EXPECT_TRUE(std::any_of(reads.begin(), reads.end(),
                            [&](ViewId v) { return lies_.count(v) && lies_.at(v) == value; }))
        << value << " does not lie where the step reads";
  }

  void write(const Step& s, ViewId view, const std::set<std::string>& made) {
    if (s.kind == "copy") return put(view, s.nodes[0]);
    const std::string& name = p_.view(view).name;
    const std::string value = name.substr(0, name.rfind(".recomputed"));
    EXPECT_TRUE(made.count(value)) << name << " is none of the step's nodes";
    put(view, value);
  }

  struct Range {
    program::Region region;
    std::int64_t begin, end;
    bool operator==(const Range&) const = default;
  };
  Range range_of(ViewId id) const {
    const Buffer& b = p_.buffer_of(id);
    const std::int64_t begin = b.offset + p_.view(id).offset;
    return {b.region, begin, begin + p_.view(id).type.bytes().hi()};
  }

  /// Whichever view it was written by.
  std::string lies_at(ViewId view) const {
    for (const auto& [other, value] : lies_) {
      if (range_of(other) == range_of(view)) return value;
    }
    return "";
  }

  /// What lay in the same bytes is gone.
  void put(ViewId view, const std::string& value) {
    const Range to = range_of(view);
    for (auto it = lies_.begin(); it != lies_.end();) {
      const Range x = range_of(it->first);
      const bool meets = x.region == to.region && x.begin < to.end && to.begin < x.end;
      it = meets ? lies_.erase(it) : std::next(it);
    }
    lies_[view] = value;
  }

  const Program& p_;
  ir::Graph graph_;
  std::map<ViewId, std::string> lies_;
};

void check_program(const Program& program) {
  std::set<std::string> logged;
  for (const LogEntry& e : program.log) {
    if (e.what == "grouped") logged.insert(e.node);
  }
  std::size_t tabled = 0;
  for (const Step& s : program.steps) {
    const std::vector<const ProductCall*> calls = products_of(s);
    if (calls.size() > 1) check_grouped_step(program, s);
    for (const ProductCall* call : calls) {
      tabled += is_tabled(*call);
      EXPECT_EQ(is_tabled(*call), calls.size() > 1) << s.name;
    }
  }
  EXPECT_EQ(logged.size(), tabled);
  Contents(program).run();
  const std::string bytes = to_bytes(program);
  const Program read = program::from_bytes(bytes, "memory");
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

TEST(Batch, NothingWhereTheTargetHasNoSuchLaunch) {
  const Program program = planned(updates(5), kNever);
  EXPECT_EQ(grouped_launches(program.steps), Counts{});
  EXPECT_EQ(program.shared_bytes, kAlone);
  for (const LogEntry& e : program.log) EXPECT_NE(e.what, "grouped");
  check_program(program);
}

TEST(Batch, AsManyAsShareALaunch) {
  const std::map<int, Counts> expected = {{1, {}},  {2, {2, 2}}, {3, {3, 2}},
                                          {4, {4}}, {5, {5}},    {9, {5}}};
  for (const auto& [most, counts] : expected) {
    SCOPED_TRACE(str("at most ", most));
    const Program program = planned(updates(5), most);
    EXPECT_EQ(grouped_launches(program.steps), counts);
    check_program(program);
  }
}

TEST(Batch, AStepIsTheSumOfItsProducts) {
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
  EXPECT_EQ(shared.shared_bytes, 3 * kGrouped);
  EXPECT_EQ(shared.arena_bytes, apart.arena_bytes);  // the states are advanced in place
  EXPECT_EQ(std::count_if(shared.texts.begin(), shared.texts.end(),
                          [](const auto& t) { return t.first.starts_with("k_pair_"); }),
            1);
}

TEST(Batch, SmallProductsAreNotAskedFor) {
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
  EXPECT_EQ(grouped_launches(program.steps), Counts{});
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

TEST(Batch, TwoThatNeedNothingOfEachOther) {
  EXPECT_EQ(grouped_launches(two_updates("d", "", "x").steps), Counts{2});
}

TEST(Batch, NotWhatIsMadeFromTheFirstOnesUpdate) {
  expect_apart_though_equal(two_updates("d", "", "%u"));
}

TEST(Batch, NotPastWhoReadsWhatItWrote) {
  expect_apart_though_equal(two_updates("d",
                                        "%s = softmax(%u, axis=1) : bf16[512,512]\n"
                                        "%t = softmax(%s, axis=0) : bf16[512,512]\n",
                                        "%t"));
}

TEST(Batch, NotWhereOneAdvancesWhatTheOtherMultiplies) {
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
  EXPECT_EQ(grouped_launches(apart.steps), Counts{});
  check_program(apart);
  for (int most : {2, 3, 64}) {
    SCOPED_TRACE(str("at most ", most));
    const Program program = planned(*train, most);
    Counts counts = grouped_launches(program.steps);
    std::sort(counts.begin(), counts.end());
    EXPECT_EQ(counts, launches_of(shapes, static_cast<std::size_t>(most)));
    check_program(program);
  }
}

TEST(Batch, Rwkv) {  // five square weights in a layer and two in the head; ffn's key and value
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

TEST(Batch, KeyValueAndReceptance) {
  const ir::Package package = models::build(
      "rwkv4?layers=2&width=256&vocab=512&context=512&batch=2&train=1&precision=bf16");
  const Program program = planned(package.graphs.at(0), 8, Bare::kTogether);
  check_program(program);
  EXPECT_LE(program.arena_bytes, planned(package.graphs.at(0), 8).arena_bytes);
  const ir::Graph graph = ir::parse_graph(program.graph_text);
  std::map<std::set<std::string>, int> found;  // bare ones that share a launch
  for (const Step& s : program.steps) {
    const std::vector<const ProductCall*> calls = products_of(s);
    if (calls.size() > 1 && calls[0]->c.valid()) ++found[paths_of(s, graph)];
  }
  for (const std::string layer : {"blocks.0.att.", "blocks.1.att."}) {
    const std::string key = layer + "key", value = layer + "value";
    // Forward, receptance is multiplied where wkv is there: no bare product.
    EXPECT_EQ((found[{key, value}]), 1) << layer;
    EXPECT_EQ((found[{key, value, layer + "receptance"}]), 1) << layer;
  }
}

TEST(Batch, Gpt2) {  // four weights in a layer
  check_network(
      "gpt2?layers=3&width=256&heads=4&vocab=512&context=512&batch=2&train=1&precision=bf16",
      {3, 3, 3, 3});
}

}  // namespace
}  // namespace plait::plan
