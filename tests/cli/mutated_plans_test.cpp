// Whatever stands in a plan with a right checksum, commands that take it end as they should: it is
// refused, or it is what its graph gives. PLAIT_MUTATIONS and PLAIT_MUTATION_SEED say how many and
// which changes are tried (`make mutate`).
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>

#include "backends/backends.h"
#include "cli/program.h"
#include "io/file.h"
#include "ir/text.h"
#include "run/compile.h"
#include "tests/cli/plan_mutator.h"
#include "tests/temporary.h"

namespace plait::test {
namespace {

std::uint64_t number_of(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

/// A small program that is one function, products with packed weights and what follows them, hand
/// kernels and constants, a size with a range, states and one that is kept rounded.
std::vector<program::Program> plans() {
  constexpr const char* kGraphs[] = {
      R"(
    graph small(x: f32[4,3]) state(w: f32[3,3] = normal(std=0.1)) {
      %y = matmul(x, w) : f32[4,3]
      %z = sum(%y, axes=[0,1]) : f32[]
      next w = w
      return %y, %z
    })",
      R"(
    symbol batch = 1..64
    graph wide(x: f32[batch,64]) state(w: f32[96,64] = normal(std=0.1), b: f32[96] = zeros()) {
      %y = linear(x, w, b) : f32[batch,96]
      %r = relu(%y) : f32[batch,96]
      %z = softmax(%r, axis=1) : f32[batch,96]
      return %z
    })",
      R"(
    graph hands(x: f32[6,40], i: i64[6]) state(w: f32[9,40] = normal(std=0.1)) {
      %c = constant(value=f32[5,8]{1,2,3,4,5,6,7,8,1,2,3,4,5,6,7,8,1,2,3,4,5,6,7,8,1,2,3,4,5,6,7,8,1,2,3,4,5,6,7,8}) : f32[5,8]
      %f = reshape(%c, shape=[40]) : f32[40]
      %g = gather(w, i, axis=0) : f32[6,40]
      %s = cumsum(x, axis=1) : f32[6,40]
      %a = add(%s, %g) : f32[6,40]
      %m = mul(%a, %f) : f32[6,40]
      return %m
    })",
      R"(
    graph step(x: bf16[32,64]) state(w: f32[64,64] = normal(std=0.1), v: f32[64,64] = zeros()) {
      %h = cast(w, dtype=bf16) : bf16[64,64]
      %y = matmul(x, %h) : bf16[32,64]
      %u = tanh(%y) : bf16[32,64]
      %d = matmul(x, %u, transpose_a=true) : bf16[64,64]
      %e = cast(%d, dtype=f32) : f32[64,64]
      %n = add(v, %e) : f32[64,64]
      %o = sub(w, %n) : f32[64,64]
      next w = %o
      next v = %n
      return %u
    })"};
  std::vector<program::Program> out;
  for (const char* text : kGraphs) {
    for (const bool measure : {false, true}) {
      const ir::Graph graph = ir::parse_graph(text);
      out.push_back(compile(graph, *make_target("cpu", 2), {.plan = {.measure = measure}}).program);
    }
  }
  return out;
}

constexpr const char* kCommands[] = {"run", "plan", "explain", "compile", "run", "profile"};

struct Case {
  std::string command, bytes;
};

/// The same for the same number.
Case make_case(const std::vector<program::Program>& plans, std::uint64_t number) {
  program::Random random(number * 0x9e3779b97f4a7c15ull + 1);
  const program::Program& program = plans[random() % plans.size()];
  return {kCommands[random() % std::size(kCommands)], program::mutated(program, random)};
}

/// What became of the cases, in memory that a process that dies leaves behind.
struct Shared {
  std::uint64_t next, done, failed;  // next: the case that runs
};

/// Runs cases until the last one or until a signal ends the process.
void run_cases(const std::vector<program::Program>& plans, std::uint64_t last,
               const std::string& folder, Shared& shared) {
  const std::string file = folder + "/case.plan";
  for (; shared.next < last; ++shared.next) {
    const Case one = make_case(plans, shared.next);
    io::write_file(file, {one.bytes});
    std::vector<std::string> words{one.command, file};
    if (one.command == "profile") words.insert(words.end(), {"--runs", "1"});
    const int code = cli::run_program(words);
    if (code > 2) io::write_file(str(folder, "/bug-", shared.next), {one.bytes});
    if (code == 0) ++shared.done;
    if (code == 1) ++shared.failed;
  }
}

class MutatedPlans : public testing::Test {
 protected:
  MutatedPlans() {
    const char* set = std::getenv("PLAIT_CACHE");
    before_ = set ? set : "";
    ::setenv("PLAIT_CACHE", (folder_ / "cache").c_str(), 1);
  }
  ~MutatedPlans() override {
    before_.empty() ? ::unsetenv("PLAIT_CACHE") : ::setenv("PLAIT_CACHE", before_.c_str(), 1);
  }

  /// A child, so that nothing it does ends the tests: what it says goes to a file.
  int run_child(const std::function<void()>& body) {
    std::fflush(nullptr);
    const pid_t child = ::fork();
    if (child == 0) {
      const int said = ::open((folder_ / "said").c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
      ::dup2(said, 1);
      ::dup2(said, 2);
      body();
      std::fflush(nullptr);
      ::_exit(0);
    }
    int ended = 0;
    ::waitpid(child, &ended, 0);
    return WIFSIGNALED(ended) ? WTERMSIG(ended) : 0;
  }

  TemporaryFolder folder_;
  std::string before_;
};

TEST_F(MutatedPlans, EndInOrder) {
  const std::uint64_t first = number_of("PLAIT_MUTATION_SEED", 1) * 1'000'000;
  const std::uint64_t last = first + number_of("PLAIT_MUTATIONS", 300);
  const std::vector<program::Program> all = plans();
  auto* const shared = static_cast<Shared*>(
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(shared, MAP_FAILED);
  *shared = {first, 0, 0};
  while (shared->next < last) {
    const int signal = run_child([&] { run_cases(all, last, folder_.path(), *shared); });
    if (signal == 0) break;
    ADD_FAILURE() << "case " << shared->next << ", `plait " << make_case(all, shared->next).command
                  << "`, ended by signal " << signal;
    ++shared->next;
  }
  std::uint64_t bugs = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder_.path())) {
    const std::string name = file.path().filename().string();
    if (!name.starts_with("bug-")) continue;
    ++bugs;
    ADD_FAILURE() << "case " << name.substr(4) << " ended as a bug of Plait";
  }
  std::printf("%llu plans changed: %llu refused, %llu as before, %llu bugs\n",
              static_cast<unsigned long long>(last - first),
              static_cast<unsigned long long>(shared->failed),
              static_cast<unsigned long long>(shared->done), static_cast<unsigned long long>(bugs));
  EXPECT_EQ(shared->done + shared->failed, last - first);
  EXPECT_GT(shared->failed, (last - first) / 2);
  EXPECT_GT(shared->done, 0u) << "changes of the log and of times are none";
  ::munmap(shared, sizeof(Shared));
}

}  // namespace
}  // namespace plait::test
