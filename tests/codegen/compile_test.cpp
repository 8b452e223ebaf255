// Compiling, and finding it compiled: results, keys, counts, and how long a hit takes.
#include "codegen/compile.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/cpus.h"
#include "tests/codegen/compile_case.h"
#include "tests/raises.h"

namespace plait::codegen {
namespace {

using Compile = CompileCase;

std::vector<std::string> many(int count, int first = 0) {
  std::vector<std::string> sources;
  for (int i = 0; i < count; ++i) sources.push_back(adds(first + i));
  return sources;
}

TEST_F(Compile, BuildsThenLoads) {
  std::vector<int> seen;
  CompileOptions options;
  options.note = [](const std::string& text) { ADD_FAILURE() << text; };
  options.progress = [&](int done, int total, double seconds) {
    EXPECT_EQ(total, 3);
    EXPECT_GT(seconds, 0);
    seen.push_back(done);
  };
  const Built first = build(many(3), options);
  ASSERT_EQ(first.libraries.size(), 3u);
  EXPECT_EQ(first.from_cache, 0);
  EXPECT_GT(first.seconds, 0);
  EXPECT_FALSE(seen.empty());
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
  EXPECT_EQ(seen.back(), 3);
  options.progress = [](int, int, double) { ADD_FAILURE() << "nothing to compile"; };
  const Built second = build(many(3), options);
  EXPECT_EQ(second.from_cache, 3);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(call(first.libraries[static_cast<std::size_t>(i)], 10), 10 + i);
    EXPECT_EQ(call(second.libraries[static_cast<std::size_t>(i)], 10), 10 + i);
  }
  EXPECT_EQ(entries().size(), 3u);
  EXPECT_EQ(entries("").size(), 3u + entries(".plait").size()) << "nothing else is left over";
}

TEST_F(Compile, NothingIsNothing) {
  const Built built = build({});
  EXPECT_TRUE(built.libraries.empty());
  EXPECT_EQ(built.from_cache, 0);
}

TEST_F(Compile, EqualSourcesAreCompiledOnce) {
  int last = 0;
  CompileOptions options;
  options.progress = [&](int, int total, double) { last = total; };
  const Built built = build({adds(1), adds(2), adds(1)}, options);
  EXPECT_EQ(last, 2);
  EXPECT_EQ(call(built.libraries[0], 0), 1);
  EXPECT_EQ(call(built.libraries[1], 0), 2);
  EXPECT_EQ(call(built.libraries[2], 0), 1);
  EXPECT_EQ(build({adds(1), adds(1)}).from_cache, 2);
}

TEST_F(Compile, ALibraryOutlivesItsFile) {
  Library library = build({adds(5)}).libraries.at(0);
  std::filesystem::remove_all(cache_);
  EXPECT_EQ(call(library, 1), 6);
  const Library copy = library;
  library = Library();
  EXPECT_EQ(call(copy, 1), 6);
}

TEST_F(Compile, MissingSymbolIsABug) {
  const Library library = build({adds(1)}).libraries.at(0);
  EXPECT_NE(test::message_of<Bug>([&] { library.symbol("g"); }).find("has no g"),
            std::string::npos);
  EXPECT_THROW(Library().symbol("f"), Bug);
}

TEST_F(Compile, FlagsArePartOfTheKey) {
  const std::vector<std::string> source{
      "#ifndef N\n#define N 1\n#endif\nint f(int x) { return x + N; }\n"};
  CompileOptions options;
  EXPECT_EQ(call(build(source, options).libraries[0], 0), 1);
  options.extra_flags = "-DN=2  -O1";
  const Built other = build(source, options);
  EXPECT_EQ(other.from_cache, 0);
  EXPECT_EQ(call(other.libraries[0], 0), 2);
}

TEST_F(Compile, OurFlagsAreInForce) {
  const Built built = build({R"(
#include <math.h>
#ifdef __FAST_MATH__
#error fast-math
#endif
#if !defined(__OPTIMIZE__) || __STDC_VERSION__ != 201112L
#error flags
#endif
int f(int x) {  // a product rounded before the sum: 0 with rounding, not 0 when contracted
  volatile float a = 1 + 0x1p-12f, c = -(1 + 0x1p-11f);
  float y = a;
  return x + (y * y + c != 0);
}
double power(double x) { return pow(x, 0.5); }
)"});
  EXPECT_EQ(call(built.libraries[0], 5), 5);
  EXPECT_EQ(reinterpret_cast<double (*)(double)>(built.libraries[0].symbol("power"))(9.0), 3.0);
}

TEST_F(Compile, CompilersHaveTheirOwnEntries) {
  const std::string identity = compiler_identity();
  EXPECT_EQ(identity.find('/'), std::string::npos) << identity;
  ASSERT_EQ(call(build({adds(1)}).libraries[0], 0), 1);
  const std::string other = temporary_ / "other-cc";
  write_text(other,
             "#!/bin/sh\n[ \"$1\" = --version ] && echo 'other 1.0' && exit\nexec cc \"$@\"\n");
  std::filesystem::permissions(other, std::filesystem::perms::owner_all);
  ::setenv("CC", other.c_str(), 1);
  EXPECT_EQ(compiler_identity().substr(0, 10), "other 1.0;");
  EXPECT_EQ(build({adds(1)}).from_cache, 0);
  EXPECT_EQ(build({adds(1)}).from_cache, 1);
  ::unsetenv("CC");
  EXPECT_EQ(compiler_identity(), identity);
  EXPECT_EQ(build({adds(1)}).from_cache, 1);
}

/// Whoever computes may be kept on one cpu; the compilers that it waits for are not.
TEST_F(Compile, CompilersHaveAllCpus) {
  const std::string allowed = "Cpus_allowed_list";
  const std::string said = temporary_ / "said", noting = temporary_ / "noting-cc";
  write_text(noting, str("#!/bin/sh\n[ \"$1\" = --version ] && echo 'noting 1.0' && exit\n",
                         "grep ", allowed, " /proc/self/status > ", said, "\nexec cc \"$@\"\n"));
  std::filesystem::permissions(noting, std::filesystem::perms::owner_all);
  const std::string here = read_text("/proc/self/status");
  const std::size_t line = here.find(allowed);
  const std::string all = here.substr(line, here.find('\n', line) + 1 - line);
  ::setenv("CC", noting.c_str(), 1);
  process_cpus();
  std::thread([&] {
    stay_on({process_cpus()[0]});
    EXPECT_EQ(call(build({adds(4)}).libraries[0], 0), 4);
  }).join();
  ::unsetenv("CC");
  EXPECT_EQ(read_text(said), all);
}

TEST_F(Compile, CCMayCarryArguments) {
  for (int n : {7, 8}) {
    ::setenv("CC", str("cc -DN=", n).c_str(), 1);
    const Built built = build({"int f(int x) { return x + N; }\n"});
    EXPECT_EQ(built.from_cache, 0) << "they are part of the key";
    EXPECT_EQ(call(built.libraries[0], 0), n);
  }
  ::unsetenv("CC");
}

TEST_F(Compile, ProgressMayStopIt) {
  CompileOptions options;
  options.jobs = 1;
  options.progress = [](int, int, double) { throw UserError("enough"); };
  EXPECT_EQ(test::message_of([&] { build(many(8), options); }), "enough");
  EXPECT_LT(entries().size(), 8u);
  EXPECT_EQ(build(many(8)).libraries.size(), 8u);
}

/// Printed, and bounded loosely: the machine may be busy.
TEST_F(Compile, HitTime) {
  build(many(4));
  std::vector<double> each_ms;
  for (int round = 0; round < 20; ++round) {
    const Built built = build(many(4));
    ASSERT_EQ(built.from_cache, 4);
    each_ms.push_back(built.seconds * 1e3 / 4);
  }
  std::sort(each_ms.begin(), each_ms.end());
  std::printf("a hit: median %.3f ms, dlopen included\n", each_ms[10]);
  EXPECT_LT(each_ms[0], 10);
}

}  // namespace
}  // namespace plait::codegen
