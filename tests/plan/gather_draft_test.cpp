// Steps that are gathered in orders that no graph gives.
#include <algorithm>
#include <map>

#include "plan/memory.h"
#include "tests/plan/gathers.h"

namespace plait::plan {
namespace {

class Drafted : public testing::Test {
 protected:
  ir::ValueId value() {
    return graph_.add_feed(graph_.fresh_name("v"), {DType::f32, {Dim(8), Dim(8)}});
  }
  ir::ValueId state(const std::string& name, ir::ValueId next) {
    const ir::ValueId old = graph_.add_state({name, {DType::f32, {Dim(8), Dim(8)}}, {}, {}});
    graph_.nexts.push_back({name, next});
    return old;
  }
  /// A product of `a` and another value, of `extent` rows.
  DraftStep& product(ir::ValueId a, ir::ValueId result, std::int64_t extent = 8,
                     const std::string& epilogue = "k_e") {
    DraftStep d;
    ProductCall call;
    call.a = a;
    call.b = value();
    ProductCall::Part part;
    part.contraction.m = {{extent, 8, 0, 8}};
    part.epilogue.name = epilogue;
    part.buffers = {-1, result};
    part.variant = "library apart";
    call.parts = {part};
    d.reads = {call.a, call.b};
    d.writes = {result};
    d.step.calls = {call};
    return add(std::move(d));
  }
  DraftStep& other(std::vector<ir::ValueId> reads, std::vector<ir::ValueId> writes) {
    DraftStep d;
    d.reads = std::move(reads);
    d.writes = std::move(writes);
    d.step.calls = {LoopCall{{"k_l", {}}, {}}};
    return add(std::move(d));
  }
  /// The names of the steps that are left, each with the number of its products: "p0 2, o1 0".
  std::string gathered(int most = 8) {
    DecisionLog log;
    gather_products(graph_, draft_, Gathers(most), {}, log);
    std::vector<std::string> out;
    for (const DraftStep& d : draft_.steps) {
      out.push_back(str(d.step.name, " ", products_of(d.step).size()));
    }
    return join(out, ", ");
  }
  ir::Graph graph_;
  Draft draft_;

 private:
  DraftStep& add(DraftStep d) {
    d.step.name = str("s", draft_.steps.size());
    draft_.steps.push_back(std::move(d));
    return draft_.steps.back();
  }
};

TEST_F(Drafted, MoveDownToTheLast) {
  product(value(), value());
  other({value()}, {value()});
  product(value(), value());
  other({value()}, {value()});
  EXPECT_EQ(gathered(), "s1 0, s2 2, s3 0");
}

TEST_F(Drafted, OnlyOfOneShapeAndOneEpilogue) {
  product(value(), value());
  product(value(), value(), 16);
  product(value(), value(), 8, "k_f");
  product(value(), value());
  product(value(), value(), 16);
  EXPECT_EQ(gathered(), "s2 1, s3 2, s4 2");
}

TEST_F(Drafted, OnlyWhatIsApartWithAKernelBehindIt) {
  const auto part = [](DraftStep& d) -> ProductCall::Part& {
    return std::get<ProductCall>(d.step.calls[0]).parts[0];
  };
  product(value(), value());
  part(product(value(), value())).generated.function.name = "k_g";
  part(product(value(), value())).buffers = {value()};
  product(value(), value(), 8, "");
  product(value(), value(), 8, "");
  auto& two = std::get<ProductCall>(product(value(), value()).step.calls[0]);
  two.parts.push_back(two.parts[0]);
  product(value(), value());
  EXPECT_EQ(gathered(), "s1 1, s2 1, s3 1, s4 1, s5 1, s6 2");
}

TEST_F(Drafted, NotPastAReaderOfTheResult) {
  const ir::ValueId made = value();
  product(value(), made);
  other({made}, {value()});
  product(value(), value());
  product(value(), value());
  EXPECT_EQ(gathered(), "s0 1, s1 0, s3 2");
}

TEST_F(Drafted, NotAnOperandMadeByTheOther) {
  const ir::ValueId made = value();
  product(value(), made);
  product(made, value());
  EXPECT_EQ(gathered(), "s0 1, s1 1");
}

TEST_F(Drafted, NotAnOperandMadeByOneOfThem) {
  const ir::ValueId made = value();
  product(value(), value());
  product(value(), made);
  product(made, value());
  EXPECT_EQ(gathered(), "s1 2, s2 1");
}

TEST_F(Drafted, NotPastWhoOverwritesItsOperand) {
  const ir::ValueId next = value(), old = state("w", next);
  product(old, value());
  other({value()}, {next});
  product(value(), value());
  EXPECT_EQ(gathered(), "s0 1, s1 0, s2 1");
}

TEST_F(Drafted, NotBesideWhoReadsWhatItOverwrites) {
  const ir::ValueId next = value(), old = state("w", next);
  product(value(), next);
  product(old, value());
  EXPECT_EQ(gathered(), "s0 1, s1 1");
}

TEST_F(Drafted, NotBesideWhoOverwritesItsOperand) {
  const ir::ValueId next = value(), old = state("w", next);
  product(old, value());
  product(value(), value());
  product(value(), next);
  EXPECT_EQ(gathered(), "s1 2, s2 1");
}

TEST_F(Drafted, ShapesThatCross) {
  // The first of each shape passes the other's: none needs what the other has.
  product(value(), value());
  product(value(), value(), 16);
  product(value(), value(), 16);
  product(value(), value());
  product(value(), value(), 16);
  EXPECT_EQ(gathered(2), "s2 2, s3 2, s4 1");
}

TEST_F(Drafted, NotPastOneThatAnotherShapeTook) {
  // s1 has moved to s2, which reads what s0 wrote no earlier for that.
  const ir::ValueId made = value();
  product(value(), made);
  product(made, value(), 16);
  product(value(), value(), 16);
  product(value(), value());
  EXPECT_EQ(gathered(2), "s0 1, s2 2, s3 1");
}

TEST_F(Drafted, NotFartherThanOperandsMayWait) {
  for (const int between : {63, 64}) {
    graph_ = {};
    draft_ = {};
    product(value(), value());
    for (int i = 0; i < between; ++i) other({}, {});
    product(value(), value());
    gathered();
    EXPECT_EQ(draft_.steps.size(), between == 63 ? 64u : 66u);
  }
}

}  // namespace
}  // namespace plait::plan
