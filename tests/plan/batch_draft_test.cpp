// Steps that are batched in orders that no graph gives.
#include <algorithm>
#include <map>
#include <random>

#include "plan/order/batch.h"
#include "plan/order/independent.h"
#include "tests/plan/batches.h"

namespace plait::plan {
namespace {

using program::Access;

class Drafted : public testing::Test {
 protected:
  ViewId value() {
    return view(graph_.add_feed(graph_.fresh_name("v"), {DType::f32, {Dim(8), Dim(8)}}));
  }
  ViewId state(const std::string& name, ViewId next) {
    const ir::ValueId old = graph_.add_state({name, {DType::f32, {Dim(8), Dim(8)}}, {}, {}});
    graph_.nexts.push_back({name, draft_.value(next)});
    return view(old);
  }
  /// A product of `a` and another value, of `extent` rows.
  DraftStep& product(ViewId a, ViewId result, std::int64_t extent = 8,
                     const std::string& epilogue = "k_e") {
    DraftStep d;
    ProductCall call;
    call.a = a;
    call.b = value();
    ProductCall::Part part;
    part.contraction.m = {{extent, 8, 0, 8}};
    part.epilogue.name = epilogue;
    part.arguments = {{}, {result, Access::kWrite}};
    part.variant = "library apart";
    call.parts = {part};
    d.step.calls = {call};
    return add(std::move(d));
  }
  /// The same with nothing behind it.
  DraftStep& bare(ViewId a, ViewId result, std::int64_t extent = 8) {
    DraftStep& d = product(a, result, extent, "");
    auto& call = std::get<ProductCall>(d.step.calls[0]);
    call.c = result;
    call.parts[0].arguments.clear();
    call.parts[0].variant = "library";
    return d;
  }
  DraftStep& other(const std::vector<ViewId>& reads, const std::vector<ViewId>& writes) {
    LoopCall call{{"k_l", {}}, {}};
    for (ViewId v : reads) call.arguments.push_back({v, Access::kRead});
    for (ViewId v : writes) call.arguments.push_back({v, Access::kWrite});
    DraftStep d;
    d.step.calls = {call};
    return add(std::move(d));
  }
  /// The names of the steps that are left, each with the number of its products: "p0 2, o1 0".
  std::string batched(int most = 8, Bare bare = Bare::kAlone) {
    DecisionLog log;
    batch_products(graph_, draft_, Batches(most, bare), {}, log);
    std::vector<std::string> out;
    for (const DraftStep& d : draft_.steps) {
      out.push_back(str(d.step.name, " ", products_of(d.step).size()));
    }
    return join(out, ", ");
  }
  void clear() {
    graph_ = {};
    draft_ = {};
    layouts_ = {};
  }
  ir::Graph graph_;
  Draft draft_;

 private:
  ViewId view(ir::ValueId value) {
    layouts_.of.resize(graph_.values.size(), default_layout(2));
    return draft_.view(graph_, layouts_, value);
  }
  DraftStep& add(DraftStep d) {
    d.step.name = str("s", draft_.steps.size());
    d.step.nodes = {d.step.name};
    draft_.steps.push_back(std::move(d));
    return draft_.steps.back();
  }
  Layouts layouts_;
};

TEST_F(Drafted, MoveDownToTheLast) {
  product(value(), value());
  other({value()}, {value()});
  product(value(), value());
  other({value()}, {value()});
  EXPECT_EQ(batched(), "s1 0, s2 2, s3 0");
}

TEST_F(Drafted, OnlyOfOneShapeAndOneEpilogue) {
  product(value(), value());
  product(value(), value(), 16);
  product(value(), value(), 8, "k_f");
  product(value(), value());
  product(value(), value(), 16);
  EXPECT_EQ(batched(), "s2 1, s3 2, s4 2");
}

TEST_F(Drafted, OnlyWhatIsApartWithAKernelBehindIt) {
  const auto part = [](DraftStep& d) -> ProductCall::Part& {
    return std::get<ProductCall>(d.step.calls[0]).parts[0];
  };
  product(value(), value());
  part(product(value(), value())).generated.function.name = "k_g";
  part(product(value(), value())).arguments = {{value(), Access::kWrite}};
  product(value(), value(), 8, "");
  product(value(), value(), 8, "");
  auto& two = std::get<ProductCall>(product(value(), value()).step.calls[0]);
  two.parts.push_back(two.parts[0]);
  product(value(), value());
  EXPECT_EQ(batched(), "s1 1, s2 1, s3 1, s4 1, s5 1, s6 2");
}

TEST_F(Drafted, NotPastAReaderOfTheResult) {
  const ViewId made = value();
  product(value(), made);
  other({made}, {value()});
  product(value(), value());
  product(value(), value());
  EXPECT_EQ(batched(), "s0 1, s1 0, s3 2");
}

TEST_F(Drafted, NotAnOperandMadeByTheOther) {
  const ViewId made = value();
  product(value(), made);
  product(made, value());
  EXPECT_EQ(batched(), "s0 1, s1 1");
}

TEST_F(Drafted, NotAnOperandMadeByOneOfThem) {
  const ViewId made = value();
  product(value(), value());
  product(value(), made);
  product(made, value());
  EXPECT_EQ(batched(), "s1 2, s2 1");
}

TEST_F(Drafted, NotPastWhoOverwritesItsOperand) {
  const ViewId next = value(), old = state("w", next);
  product(old, value());
  other({value()}, {next});
  product(value(), value());
  EXPECT_EQ(batched(), "s0 1, s1 0, s2 1");
}

TEST_F(Drafted, NotBesideWhoReadsWhatItOverwrites) {
  const ViewId next = value(), old = state("w", next);
  product(value(), next);
  product(old, value());
  EXPECT_EQ(batched(), "s0 1, s1 1");
}

TEST_F(Drafted, NotBesideWhoOverwritesItsOperand) {
  const ViewId next = value(), old = state("w", next);
  product(old, value());
  product(value(), value());
  product(value(), next);
  EXPECT_EQ(batched(), "s1 2, s2 1");
}

TEST_F(Drafted, ShapesThatCross) {
  // The first of each shape passes the other's: none needs what the other has.
  product(value(), value());
  product(value(), value(), 16);
  product(value(), value(), 16);
  product(value(), value());
  product(value(), value(), 16);
  EXPECT_EQ(batched(2), "s2 2, s3 2, s4 1");
}

TEST_F(Drafted, NotPastOneThatAnotherShapeTook) {
  // s1 has moved to s2, which reads what s0 wrote no earlier for that.
  const ViewId made = value();
  product(value(), made);
  product(made, value(), 16);
  product(value(), value(), 16);
  product(value(), value());
  EXPECT_EQ(batched(2), "s0 1, s2 2, s3 1");
}

TEST_F(Drafted, BareOnesWhereTheTargetTakesThem) {
  for (const Bare how : {Bare::kAlone, Bare::kTogether}) {
    clear();
    bare(value(), value());
    product(value(), value());
    bare(value(), value());
    bare(value(), value(), 16);
    EXPECT_EQ(batched(8, how), how == Bare::kAlone ? "s0 1, s1 1, s2 1, s3 1" : "s1 1, s2 2, s3 1");
  }
}

TEST_F(Drafted, ABareOneComesUpToThoseThatMayNotMoveDown) {
  const ViewId next = value(), old = state("w", next), read = value();
  bare(old, value());
  product(value(), next);  // overwrites what s0 multiplies
  bare(value(), read);
  other({read}, {value()});
  bare(value(), value());
  EXPECT_EQ(batched(8, Bare::kTogether), "s4 3, s1 1, s3 0");
}

TEST_F(Drafted, NotBeforeItsOperandIsMade) {
  const ViewId next = value(), old = state("w", next), made = value();
  bare(old, value());
  other({value()}, {next, made});
  bare(made, value());
  bare(value(), value());
  EXPECT_EQ(batched(8, Bare::kTogether), "s0 1, s1 0, s3 2");
}

TEST_F(Drafted, NotBeforeWhoReadsWhatItOverwrites) {
  const ViewId first = value(), v = state("u", first), last = value(), w = state("w", last);
  bare(v, value());
  other({w}, {first});
  bare(value(), last);
  EXPECT_EQ(batched(8, Bare::kTogether), "s0 1, s1 0, s2 1");
}

TEST_F(Drafted, NotBeforeOneThatHasMovedDown) {
  const ViewId next = value(), old = state("w", next), made = value();
  product(value(), made);  // moves down to s3
  bare(old, value());
  other({value()}, {next});
  product(value(), value());
  bare(made, value());
  EXPECT_EQ(batched(8, Bare::kTogether), "s1 1, s2 0, s3 2, s4 1");
}

TEST_F(Drafted, OthersThatWaitForTheirsAreStillFoundWhenOneComesUp) {
  const ViewId next = value(), old = state("w", next);
  bare(old, value());
  other({value()}, {next});
  product(value(), value());  // waits for s4
  bare(value(), value());     // comes up to s0
  product(value(), value());
  EXPECT_EQ(batched(8, Bare::kTogether), "s3 2, s1 0, s4 2");
}

TEST_F(Drafted, NotFartherThanOperandsMayWait) {
  for (const int between : {63, 64}) {
    clear();
    product(value(), value());
    for (int i = 0; i < between; ++i) other({}, {});
    product(value(), value());
    batched();
    EXPECT_EQ(draft_.steps.size(), between == 63 ? 64u : 66u);
  }
}

/// Random steps; where each runs in the end, by its number.
class RandomlyDrafted : public Drafted {
 protected:
  int below(int n) { return static_cast<int>(draw_() % static_cast<unsigned>(n)); }

  void draw_steps(unsigned seed, int count) {
    draw_.seed(seed);
    clear();
    std::vector<ViewId> known{value(), value()}, nexts;
    for (int i = 0; i < 3; ++i) {
      nexts.push_back(value());
      known.push_back(state(str("w", i), nexts.back()));
    }
    for (int i = 0; i < count; ++i) {
      const ViewId read = known[static_cast<std::size_t>(below(static_cast<int>(known.size())))];
      ViewId result = value();
      if (!nexts.empty() && below(4) == 0) {  // a state is advanced
        result = nexts.back();
        nexts.pop_back();
      }
      const int extent = 8 * (1 + below(2));
      switch (below(3)) {
        case 0:
          product(read, result, extent);
          break;
        case 1:
          bare(read, result, extent);
          break;
        default:
          other({read}, {result});
      }
      if (below(2) == 0) known.push_back(result);
    }
  }

  std::map<std::string, std::size_t> places() const {
    std::map<std::string, std::size_t> out;
    for (std::size_t i = 0; i < draft_.steps.size(); ++i) {
      for (const std::string& node : draft_.steps[i].step.nodes) out[node] = i;
    }
    return out;
  }

 private:
  std::mt19937 draw_;
};

TEST_F(RandomlyDrafted, WhoMeetKeepTheirOrder) {
  std::size_t moved = 0;
  for (unsigned seed = 0; seed < 3000; ++seed) {
    draw_steps(seed, 14);
    const std::vector<DraftStep> before = draft_.steps;
    std::vector<program::Uses> uses;
    for (const DraftStep& d : before) uses.push_back(program::uses_of(d.step));
    const Independence steps(graph_, draft_);
    batched(4, Bare::kTogether);
    const std::map<std::string, std::size_t> place = places();
    ASSERT_EQ(place.size(), before.size()) << seed;
    for (std::size_t i = 0; i < before.size(); ++i) {
      for (std::size_t j = i + 1; j < before.size(); ++j) {
        const std::size_t first = place.at(before[i].step.name),
                          second = place.at(before[j].step.name);
        const bool flipped = first > second;
        moved += flipped;
        const bool meet = !steps.may_pass(uses[i], uses[j]);
        EXPECT_FALSE(meet && first >= second) << "seed " << seed << ": s" << i << " and s" << j;
        EXPECT_FALSE(first == second && !steps.independent(uses[i], uses[j])) << seed;
      }
    }
  }
  EXPECT_GT(moved, 5000u);
}

}  // namespace
}  // namespace plait::plan
