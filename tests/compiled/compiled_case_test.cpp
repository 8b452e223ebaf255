// What the other tests of this room rely on: which programs are one function, and that quickly
// compiled kernels are not taken for others.
#include "tests/compiled/compiled_case.h"
#include "backends/backends.h"
#include "codegen/compile.h"
#include "ir/text.h"
#include "run/compile.h"

namespace plait::test {
namespace {

TEST_F(CompiledCase, SmallGraphsAreOneFunctionUnlessAScanIsBeside) {
  const ir::Graph small =
      ir::parse_graph("graph g(x: f32[2]) {\n %y = exp(x) : f32[2]\n return %y\n}");
  const auto target = make_target("cpu", 2);
  EXPECT_TRUE(compile(side_by_side({small, small}), *target).program.single_kernel);
  EXPECT_FALSE(compile(side_by_side({small, small, scan_graph()}), *target).program.single_kernel);
}

TEST_F(CompiledCase, AQuickCompilerIsAnotherCompilerWhileItLives) {
  const std::string usual = codegen::compiler_identity();
  {
    const QuickCompiler quick;
    const std::string identity = codegen::compiler_identity();
    EXPECT_NE(identity, usual);
    EXPECT_NE(identity.find(" -O1 "), std::string::npos) << identity;
    const std::string version = usual.substr(0, usual.find(';'));
    EXPECT_TRUE(identity.starts_with(version)) << identity << " for " << usual;
  }
  EXPECT_EQ(codegen::compiler_identity(), usual);
}

}  // namespace
}  // namespace plait::test
