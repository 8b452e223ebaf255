// Graphs side by side, and running them compiled.
#include "tests/compiled/compiled_case.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "base/text.h"
#include "codegen/compiler.h"
#include "ir/text.h"

namespace plait::test {
namespace {

constexpr const char* kFenceVariable = "PLAIT_FENCE";

/// Copies a graph into another one under prefixed names.
void append(ir::Graph& to, const ir::Graph& from, const std::string& prefix) {
  std::vector<ir::ValueId> map(from.values.size(), ir::kNone);
  const auto at = [](ir::ValueId id) { return static_cast<std::size_t>(id); };
  for (ir::ValueId id : from.feeds) {
    map[at(id)] = to.add_feed(prefix + from.value(id).name, from.type(id));
  }
  for (const ir::StateUse& use : from.states) {
    ir::State state = use.state;
    state.name = prefix + state.name;
    map[at(use.value)] = to.add_state(std::move(state));
  }
  for (const ir::Node& node : from.nodes) {
    ir::Node copy = node;
    for (ir::ValueId& id : copy.inputs) id = id == ir::kNone ? id : map[at(id)];
    copy.outputs.clear();
    std::vector<ir::Type> types;
    std::vector<std::string> names;
    for (ir::ValueId id : node.outputs) {
      types.push_back(from.type(id));
      names.push_back(prefix + from.value(id).name);
    }
    const ir::NodeId made = to.add_node(std::move(copy), types, names);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      map[at(node.outputs[i])] = to.node(made).outputs[i];
    }
  }
  for (const ir::NextState& n : from.nexts) {
    to.nexts.push_back({prefix + n.state, map[at(n.value)]});
  }
  for (const ir::Fetch& f : from.fetches) to.fetches.push_back({prefix + f.name, map[at(f.value)]});
}

/// A program that was stored is planned again from its own graph, and compared: it comes out the
/// same.
void expect_planned_again(const program::Program& program, const CompileRequest& request,
                          int threads) {
  const program::Program stored = program::from_bytes(program::to_bytes(program), "memory");
  const Compiled again =
      compile(ir::parse_graph(stored.graph_text), *target_under_test(threads),
              {.plan = request.plan, .use_cache = false, .passes = false, .tuned = stored.tuning});
  EXPECT_EQ(program::difference(again.program, stored), "") << stored.graph_text;
}

}  // namespace

void CompiledCase::SetUpTestSuite() {
  const auto program = std::filesystem::read_symlink("/proc/self/exe");
  ::setenv("PLAIT_CACHE", (program.parent_path() / "kernel_cache").c_str(), 1);
}

QuickCompiler::QuickCompiler() {
  if (tested() != Tested::kCpu || is_swept()) return;
  active_ = true;
  const char* given = ::getenv("CC");
  before_ = given ? given : "";
  const std::string compiler = join(codegen::find_compiler().command, " ");
  const std::string quick = "sh tests/compiled/quick_cc.sh -O1 " + compiler + " -ftree-vectorize";
  ::setenv("CC", quick.c_str(), 1);
}

QuickCompiler::~QuickCompiler() {
  if (!active_) return;
  before_.empty() ? ::unsetenv("CC") : ::setenv("CC", before_.c_str(), 1);
}

Fence::Fence(const std::string& mode) {
  is_swept();  // before it changes what that asks for
  const char* given = ::getenv(kFenceVariable);
  before_ = given ? given : "";
  ::setenv(kFenceVariable, mode.c_str(), 1);
}

Fence::~Fence() {
  before_.empty() ? ::unsetenv(kFenceVariable) : ::setenv(kFenceVariable, before_.c_str(), 1);
}

bool is_swept() {
  static const bool given = ::getenv(kFenceVariable) != nullptr;
  return given;
}

std::vector<std::string> protected_modes() {
  if (tested() == Tested::kCpu && !is_swept()) return {"low", "high"};
  return {};
}

ir::Graph side_by_side(const std::vector<ir::Graph>& parts) {
  ir::Graph all;
  for (std::size_t i = 0; i < parts.size(); ++i) append(all, parts[i], str("g", i, "."));
  return all;
}

ir::Graph scan_graph() {
  return ir::parse_graph(R"(graph scan() state(x: f32[3]) {
    %s = cumsum(x) : f32[3]
    return %s
  })");
}

Arrays named_in(std::size_t i, const Arrays& arrays) {
  Arrays out;
  for (const auto& [name, array] : arrays) out.emplace(str("g", i, ".", name), array);
  return out;
}

Session compiled_session(ir::Graph graph, int threads, CompileRequest request) {
  ir::Package package;
  package.graphs.push_back(std::move(graph));
  return Session(std::move(package), target_under_test(threads), 0, std::move(request));
}

Arrays run_compiled(const ir::Graph& graph, const Arrays& feeds, const Arrays& states, int threads,
                    CompileRequest request) {
  Session session = compiled_session(graph, threads, request);
  if (!::getenv(kFenceVariable)) expect_planned_again(session.program({}), request, threads);
  for (const auto& [name, value] : states) session.set_state(name, value);
  Arrays results = session.run({"", feeds, {}});
  for (const ir::NextState& n : graph.nexts) results["next " + n.state] = session.state(n.state);
  return results;
}

bool may_differ() { return tested() != Tested::kEmulated; }

std::uint64_t soak_seeds(std::uint64_t usual) {
  const char* given = ::getenv("PLAIT_SOAK");
  if (given) return static_cast<std::uint64_t>(parse_integer(given, "PLAIT_SOAK"));
  return tested() == Tested::kEmulated ? (usual + 9) / 10 : usual;
}

std::string differing_bits(const Arrays& a, const Arrays& b) {
  if (a.size() != b.size()) return str(a.size(), " results and ", b.size());
  for (const auto& [name, array] : a) {
    const auto other = b.find(name);
    if (other == b.end()) return name + " is missing";
    if (!array.same_bits(other->second)) return name;
  }
  return "";
}

}  // namespace plait::test
