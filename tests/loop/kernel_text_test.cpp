// The text form of kernels and contractions: text in, text out; every message; texts that are cut
// or changed, which are read or refused but never do anything else.
#include "loop/kernel_text.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <random>

#include "tests/loop/same_kernel.h"
#include "tests/raises.h"

namespace plait::loop {
namespace {

// As the printer writes it.
constexpr const char* kRow = R"(symbol n = 1..64

kernel rows($r0: n, $r1_: 6) inner($i0: 8) {
  b0: f32
  b1: f32 written
  b2: i64
  b3: bf16 written
  call v0: f32 = sqrt(x0) with x0 = b0[0]
  row v1: i64 as $g0: 5 = x0 with x0 = b2[$r0]
  inner kept v2: f32 = exp(sub(x0,x1)) with x0 = b0[48*$g0+$i0+8*$r0], x1 = v0
  inner v3: f32 in f64 = sum of mul(x0,x1) then div(add(acc,[n]),x2) with
      x0 = v2,
      x1 = b0[$i0-1] if 0 <= $i0-1 < n and $r0 <= $r1_ < 6 else -inf,
      x2 = 2.5
  inner v4: f32 = column max of select(lt(x0,0.0),neg(x0),x0) with x0 = v2
  stage 1
  inner v5: bf16 = mul(t0,t0) with x0 = v2, x1 = v3, t0 = div(x0,x1)
  b1[$i0] = v4
  b3[$i0+8*$r0] = v5
}
)";

constexpr const char* kTile = R"(open epilogue batch($b: 3) rows($m: 4) inner($n': 5) stages 2 {
  b0: f64 written
  inner v0: f64 = add(x0,nan) with x0 = tile if 0 <= min($m,$n') < 3 else -0.0
  b0[$b*($m//2)+$n'] = v0
}
)";

constexpr const char* kProduct = R"(symbol n = 2..9

contraction bf16 {
  batch n: a = 64, c = 256
  m 8: a = 8, c = 8, h = 1
  m 8: a = 1, c = 1, w = -1
  n 4: b = 9, c = 64*n
  k 3: a = 8, b = 3, h = 1
  k 3
  origin: a = -9, h = -1, w = -1
  image: h = n, w = 8
}
)";

TEST(KernelText, RoundTrips) {
  for (const char* text : {kRow, kTile}) {
    const Kernel k = parse_kernel(text);
    EXPECT_EQ(print(k), text);
    EXPECT_EQ(difference(parse_kernel(print(k)), k), "");
  }
  for (const char* text :
       {kProduct, "contraction f32 {\n}\n", "contraction f64 {\n  unguarded\n}\n",
        "contraction f32 {\n  k 2: a = 1, b = 1\n  unguarded: w = 3\n}\n",
        "contraction i32 {\n  image: h = 1, w = 1\n}\n"}) {
    const Contraction c = parse_contraction(text);
    EXPECT_EQ(print(c), text);
    EXPECT_EQ(difference(parse_contraction(print(c)), c), "");
  }
}

/// The first block of the page that begins so, up to the end of its braces.
std::string example(const std::string& page, const std::string& begin) {
  const std::size_t first = page.find("\n" + begin) + 1;
  return page.substr(first, page.find("\n}\n", first) + 3 - first);
}

TEST(KernelText, TheExampleInTheDocsRoundTrips) {
  std::ifstream file("docs/text_form.md");
  const std::string page((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const std::string kernel = example(page, "symbol n = 1..64\n\nkernel ");
  EXPECT_EQ(print(parse_kernel(kernel, "docs/text_form.md")), kernel);
  const std::string product = example(page, "contraction ");
  EXPECT_EQ(print(parse_contraction(product, "docs/text_form.md")), product);
}

TEST(KernelText, SaysWhatTheFieldsAre) {
  const Kernel k = parse_kernel(kRow);
  EXPECT_EQ(k.rows.at(1).symbol, "$r1_");
  EXPECT_EQ(k.rows[0].extent.hi(), 64);
  EXPECT_EQ(k.stages, 2);
  EXPECT_TRUE(k.buffers.at(1).written);
  EXPECT_EQ(k.lets.at(1).index, "$g0");
  EXPECT_EQ(k.lets[2].level, Level::kInner);
  EXPECT_TRUE(k.lets[2].kept);
  EXPECT_EQ(k.lets[2].operands[0].load.offset.hi(), 8 * 63 + 48 * 4 + 7);
  EXPECT_EQ(k.lets.at(3).compute, DType::f64);
  EXPECT_EQ(k.lets[3].reduce, Reduce::kSum);
  EXPECT_EQ(k.lets[3].operands.at(1).guards.size(), 2u);
  EXPECT_TRUE(k.lets.at(4).column);
  EXPECT_EQ(flatten(k.lets.at(5).body).steps.size(), 4u);  // what is shared is one step
  EXPECT_EQ(k.stores.at(1).let, 5);
  const Kernel tile = parse_kernel(kTile);
  EXPECT_TRUE(tile.open && tile.epilogue);
  EXPECT_EQ(tile.batch_rows, 1);
  EXPECT_EQ(tile.stages, 2);
  EXPECT_EQ(tile.lets.at(0).operands.at(0).kind, KernelOperand::kTile);
}

TEST(KernelText, LeavesOfAFormulaMayBeShared) {
  const Expr x = Expr::load(0), one(1.0);
  Kernel k = parse_kernel(
      "kernel inner($i: 4) {\n  b0: f32\n  b1: f32 written\n"
      "  inner v0: f32 = x0 with x0 = b0[$i]\n  b1[$i] = v0\n}\n");
  k.lets[0].body = (x * x + one) * (one - x * Expr::load(0));
  const std::string text = print(k);
  EXPECT_NE(text.find("v0: f32 = mul(add(mul(t0,t0),t1),sub(t1,mul(t0,x0))) with x0 = b0[$i], "
                      "t0 = x0, t1 = 1.0\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(difference(parse_kernel(text), k), "");
  const Kernel before = k;
  k.lets[0].body = (x * x + one) * (Expr(1.0) - x * Expr::load(0));
  EXPECT_EQ(difference(before, k), "body of statement 0");
}

TEST(KernelText, DifferencesAreSeen) {
  const auto changed = [](const char* text, const std::string& from, const std::string& to) {
    std::string other = text;
    other.replace(other.find(from), from.size(), to);
    return difference(parse_kernel(text), parse_kernel(other));
  };
  EXPECT_EQ(changed(kRow, "1..64", "2..64"), "rows");
  EXPECT_EQ(changed(kRow, "$i0: 8", "$i0: 9"), "inner indices");
  EXPECT_EQ(changed(kRow, "b3: bf16 written", "b3: bf16"), "buffer 3");
  EXPECT_EQ(changed(kRow, "f32 in f64", "f32"), "compute of statement 3");
  EXPECT_EQ(changed(kRow, "inner kept", "row kept"), "level of statement 2");
  EXPECT_EQ(changed(kRow, "inner kept", "inner"), "kept of statement 2");
  EXPECT_EQ(changed(kRow, "else -inf", "else inf"), "operand 1 of statement 3");
  EXPECT_EQ(changed(kRow, "add(acc", "sub(acc"), "finish of statement 3");
  EXPECT_EQ(changed(kRow, "column max", "max"), "reduction of statement 4");
  EXPECT_EQ(changed(kRow, "as $g0: 5", "as $g0: 6"), "index of statement 1");
  EXPECT_EQ(changed(kRow, "b1[$i0] = v4", "b1[$i0] = v5"), "store 0");
  EXPECT_EQ(changed(kTile, "stages 2", "stages 3"), "stages");
  EXPECT_EQ(changed(kTile, "open ", ""), "open");
  EXPECT_EQ(changed(kTile, "batch($b: 3) rows($m: 4)", "rows($b: 3, $m: 4)"), "epilogue");
  EXPECT_EQ(changed(kTile, "-0.0", "0.0"), "operand 0 of statement 0");
}

// --- mistakes ------------------------------------------------------------------------------------

struct Case {
  const char* name;
  std::string from, to;  // in kRow
  std::string message;
};

std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.name; }

class KernelMistake : public ::testing::TestWithParam<Case> {};

TEST_P(KernelMistake, SaysWhatAndWhere) {
  std::string text = kRow;
  text.replace(text.find(GetParam().from), GetParam().from.size(), GetParam().to);
  EXPECT_EQ(test::message_of([&] { parse_kernel(text, "f"); }), GetParam().message);
}

const Case kCases[] = {
    {"Word", "kernel rows", "kernal rows",
     "f:3:1: expected 'symbol', 'open', 'kernel' or 'epilogue', found 'kernal'"},
    {"Brace", "{\n", "\n", "f:4:3: expected '{' before the buffers, found 'b0'"},
    {"IndexName", "$r0:", "r0:", "f:3:13: expected an index such as $r0, found 'r0'"},
    {"IndexTwice", "$r1_", "$r0", "f:3:21: the index $r0 is declared twice"},
    {"Extent", "$i0: 8", "$i0: -8", "f:3:41: an index has a negative extent"},
    {"Symbol", "$r0: n", "$r0: m", "f:3:18: unknown symbol 'm'. Did you mean 'n'?"},
    {"Buffer", "b1: f32", "b7: f32", "f:5:3: the next buffer is b1, not b7"},
    {"BufferType", "b1: f32", "b1: f33", "f:5:7: unknown dtype 'f33'. Did you mean 'f32'?"},
    {"Index", "48*$g0", "48*$g1", "f:10:56: no index $g1 is known here. Did you mean '$g0'?"},
    {"OwnIndex", "x0 = b2[$r0]", "x0 = b2[$g0]",
     "f:9:43: no index $g0 is known here. Did you mean '$i0'?"},
    {"Level", "call v0", "cal v0",
     "f:8:3: expected 'stage', 'call', 'row', 'inner', an element of a buffer or '}', found "
     "'cal'"},
    {"Value", "call v0", "call v1", "f:8:8: the next value is v0, not v1"},
    {"NoValue", "call v0", "call w0", "f:8:8: expected the name of a value such as v0, found 'w0'"},
    {"Compute", "in f64", "in f16", "f:11:20: values are computed in f32, f64 or i64, not in f16"},
    {"Operation", "sqrt(x0)", "sqr(x0)",
     "f:8:18: unknown scalar operation \"sqr\". Did you mean 'sqrt'?"},
    {"Arity", "sqrt(x0)", "sqrt(x0,x0)", "f:8:18: sqrt takes 1 operands, not 2"},
    {"NoFormula", "sqrt(x0)", "", "f:8:19: expected a formula, found 'with'"},
    {"Load", "sqrt(x0)", "sqrt(x1)", "f:8:23: the statement has no operand x1, it has 1 operand"},
    {"Acc", "sqrt(x0)", "acc", "f:8:18: the reduced value is known behind 'then' alone"},
    {"Then", "sqrt(x0)", "x0 then x0",
     "f:8:21: nothing is reduced here: 'then' has nothing to follow"},
    {"Column", "sqrt(x0)", "column sqrt(x0)",
     "f:8:25: expected 'sum of', 'max of', 'min of' or 'prod of' after 'column', found 'sqrt'"},
    {"Binding", "with x0 = b0[0]", "with y0 = b0[0]",
     "f:8:32: expected an operand x0.. or a shared part t0.., found 'y0'"},
    {"BindingOrder", "with x0 = b0[0]", "with x1 = b0[0]",
     "f:8:32: the next operand is x0, not x1"},
    {"SharedOrder", "t0 = div", "t1 = div", "f:17:54: the next shared part is t0, not t1"},
    {"Shared", "t0 = div(x0,x1)", "t0 = div(t0,x1)", "f:17:63: no shared part t0 is known here"},
    {"NotShared", "mul(t0,t0)", "mul(t0,t1)", "f:17:27: no shared part t1 is known here"},
    {"Operand", "x2 = 2.5", "x2 = 2",
     "f:14:12: expected an element of a buffer, a value, 'tile' or a number with a '.', found '2'"},
    {"LaterValue", "x0 = v2,\n", "x0 = v3,\n", "f:12:12: no value v3 is known here, there are 3"},
    {"UnknownBuffer", "x0 = b2[", "x0 = b4[", "f:9:40: no buffer b4 is known here, there are 4"},
    {"Offset", "b2[$r0]", "b2[]", "f:9:43: expected a number or a symbol in a size, found ']'"},
    {"Guard", "0 <= $i0-1 < n", "0 < $i0-1 < n",
     "f:13:29: expected '=' in a guard: LO <= INDEX < HI, found '$i0-1'"},
    {"Otherwise", "else -inf", "else 3",
     "f:13:65: expected a number with a '.' after 'else', found '3'"},
    {"Stage", "stage 1", "stage -1", "f:16:9: a stage cannot be -1"},
    {"StageOfMany", "inner($i0: 8)", "inner($i0: 8) stages 1",
     "f:3:44: a kernel of 1 stage has a statement in stage 1"},
    {"Store", "= v4", "= v9", "f:18:13: no value v9 is known here, there are 6"},
    {"Late", "= v4", "= v4 inner", "f:18:16: stores stand behind all statements"},
    {"End", "= v5\n}", "= v5\n",
     "f:21:1: expected an element of a buffer or '}', found the end of the text"},
    {"Behind", "= v5\n}", "= v5\n} }", "f:20:3: expected the end of the text, found '}'"},
};

INSTANTIATE_TEST_SUITE_P(Text, KernelMistake, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

TEST(KernelText, DeepFormulasAreRefused) {
  std::string formula;
  for (int i = 0; i < 100'000; ++i) formula += "neg(";
  EXPECT_EQ(test::message_of([&] { parse_kernel("kernel {\n  call v0: f32 = " + formula); }),
            "<text>:2:4018: a formula is nested more than 1000 deep");
}

TEST(KernelText, MistakesOfContractions) {
  const auto message = [](const std::string& from, const std::string& to) {
    std::string text = kProduct;
    text.replace(text.find(from), from.size(), to);
    return test::message_of([&] { parse_contraction(text, "f"); });
  };
  EXPECT_EQ(message("contraction", "kernel"),
            "f:3:1: expected 'symbol' or 'contraction', found 'kernel'");
  EXPECT_EQ(message("  m 8", "  q 8"),
            "f:5:3: expected 'batch', 'm', 'n', 'k', 'origin', 'image', 'unguarded' or '}', found "
            "'q'");
  EXPECT_EQ(message("b = 9", "d = 9"),
            "f:7:8: no number here is named \"d\". Known: a, b, c, h, w");
  EXPECT_EQ(message("image: h", "image: a"), "f:11:10: no number here is named \"a\". Known: h, w");
  EXPECT_EQ(message("n 4", "n four"),
            "f:7:5: unknown symbol 'four'. Declare it first: symbol four = LO..HI");
  EXPECT_EQ(message("8\n}", "8\n"),
            "f:13:1: expected 'batch', 'm', 'n', 'k', 'origin', 'image', 'unguarded' or '}', found "
            "the end of the text");
}

// --- mutations -----------------------------------------------------------------------------------

/// Whether a text is read; a UserError is the only other thing that may happen.
template <class Parse>
bool parses(const std::string& text, Parse parse) {
  try {
    const std::string printed = print(parse(text, "f"));
    EXPECT_EQ(print(parse(printed, "f")), printed) << text;
    return true;
  } catch (const UserError& e) {
    EXPECT_TRUE(std::string_view(e.what()).starts_with("f:")) << e.what();
    return false;
  } catch (const std::exception& e) {
    ADD_FAILURE() << "not a UserError: " << e.what() << "\nfrom:\n" << text;
    return false;
  }
}

std::string changed_text(std::string text, std::mt19937& random) {
  static const std::string alphabet = "abtvx0159$_=:,.()[]{}<*/+-% \n\xff" + std::string(1, '\0');
  const auto below = [&](std::size_t n) { return random() % n; };
  for (std::size_t m = 0; m <= below(3); ++m) {
    const std::size_t at = below(text.size());
    switch (below(4)) {
      case 0:
        text[at] = alphabet[below(alphabet.size())];
        break;
      case 1:
        text.insert(at, 1, alphabet[below(alphabet.size())]);
        break;
      case 2:
        text.erase(at, 1 + below(4));
        break;
      default:
        text.insert(at, text.substr(at / 2, 12));
    }
    if (text.empty()) text = " ";
  }
  return text;
}

TEST(KernelText, CutAndChangedTextsAreReadOrRefused) {
  std::mt19937 random(5);
  int read = 0, refused = 0;
  for (const char* text : {kRow, kTile, kProduct}) {
    const auto check = [&](const std::string& changed) {
      ++((text == kProduct ? parses(changed, parse_contraction) : parses(changed, parse_kernel))
             ? read
             : refused);
    };
    for (std::size_t n = 0; n <= std::string_view(text).size(); ++n) {
      check(std::string(text).substr(0, n));
    }
    for (int i = 0; i < 3000; ++i) check(changed_text(text, random));
  }
  EXPECT_GT(read, 150);
  EXPECT_GT(refused, 5000);
}

}  // namespace
}  // namespace plait::loop
