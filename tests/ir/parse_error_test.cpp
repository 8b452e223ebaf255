// Every message of the parser, one small text each, compared whole.
#include <gtest/gtest.h>

#include "ir/text.h"

namespace plait::ir {
namespace {

struct Case {
  const char* name;
  std::string text;
  std::string message;
};

std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.text; }

class ParseError : public ::testing::TestWithParam<Case> {};

TEST_P(ParseError, SaysWhatAndWhere) {
  try {
    parse(GetParam().text, "f");
    FAIL() << "no error";
  } catch (const UserError& e) {
    EXPECT_EQ(std::string(e.what()), GetParam().message);
  }
}

const std::string kNode = "graph g(x: f32[2]) state(w: f32[2]) {\n  ";

const Case kFileCases[] = {
    {"Word", "grph g() {}", "f:1:1: expected 'symbol' or 'graph', found 'grph'"},
    {"AfterGraph", "graph g() {} }", "f:1:14: expected 'graph' or the end of the text, found '}'"},
    {"LateSymbol", "graph g() {}\nsymbol n = 1..2",
     "f:2:1: symbols are declared before the first graph"},
    {"SymbolName", "symbol = 1..2", "f:1:8: expected a symbol's name, found '='"},
    {"SymbolReserved", "symbol f16 = 1..2",
     "f:1:8: \"f16\" cannot name a symbol: letters, digits and '_', not a dtype, true, false, inf, "
     "nan, min or max"},
    {"SymbolDigit", "symbol 2x = 1..2",
     "f:1:8: \"2x\" cannot name a symbol: letters, digits and '_', not a dtype, true, false, inf, "
     "nan, min or max"},
    {"SymbolEquals", "symbol n 1..2", "f:1:10: expected '=' after the symbol's name, found '1..2'"},
    {"SymbolLow", "symbol n = x", "f:1:12: expected the least value of the symbol, found 'x'"},
    {"SymbolDots", "symbol n = 1,2",
     "f:1:13: expected '.' and the greatest value: LO..HI, found ','"},
    {"SymbolHigh", "symbol n = 1..",
     "f:1:15: expected the greatest value of the symbol, found the end of the text"},
    {"SymbolOverflow", "symbol n = 1..99999999999999999999",
     "f:1:15: the number '99999999999999999999' does not fit 64 bits"},
    {"SymbolEmpty", "symbol n = 5..2", "f:1:8: symbol n has an empty range [5, 2]"},
    {"SymbolTwice", "symbol n = 1..2\nsymbol n = 1..2", "f:2:8: the symbol n is declared twice"},
    {"GraphName", "graph (", "f:1:7: expected the graph's name, found '('"},
    {"GraphTwice", "graph g() {}\ngraph g() {}", "f:2:7: two graphs are named g"},
    {"Feeds", "graph g {", "f:1:9: expected '(' and the feeds after the graph's name, found '{'"},
    {"Byte", "graph \x01", "f:1:7: expected the graph's name, found the byte 0x01"},
    {"OpenString", "graph \"g\n\"() {}",
     "f:1:7: the string that starts here does not end on its line"},
    {"Escape", "graph \"g\\t\"() {}",
     "f:1:9: a '\\' in a string stands before '\"', '\\', 'n' or 'u' only"},
    {"EscapeOfALetter", "graph \"g\\u0041\"() {}",
     "f:1:9: '\\u' in a string stands before the four digits of a control character, 0000 to 001f "
     "or 007f"},
};

const Case kHeaderCases[] = {
    {"FeedName", "graph g(,) {}", "f:1:9: expected a feed's name, found ','"},
    {"FeedColon", "graph g(x f32[2]) {}",
     "f:1:11: expected ':' and a type after the feed's name, found 'f32'"},
    {"FeedTwice", "graph g(x: f32[2], x: f32[2]) {}",
     "f:1:20: the name x is used twice in graph g"},
    {"EmptyName", "graph g(\"\": f32[2]) {}", "f:1:9: a value cannot have an empty name"},
    {"FeedsEnd", "graph g(x: f32[2] {}", "f:1:19: expected ',' or ')', found '{'"},
    {"StateOpen", "graph g() state {}", "f:1:17: expected '(' after 'state', found '{'"},
    {"StateName", "graph g() state(=) {}", "f:1:17: expected a state's name, found '='"},
    {"StateColon", "graph g() state(w) {}",
     "f:1:18: expected ':' and a type after the state's name, found ')'"},
    {"StateTwice", "graph g(w: f32[]) state(w: f32[]) {}",
     "f:1:25: the name w is used twice in graph g"},
    {"Role", "graph g() state(w: f32[] as sloth) {}",
     "f:1:29: unknown role 'sloth'. Did you mean 'slot'?"},
    {"RoleFar", "graph g() state(w: f32[] as trainable) {}",
     "f:1:29: unknown role 'trainable'. Known: param, buffer, slot, counter"},
    {"RoleNone", "graph g() state(w: f32[] as) {}", "f:1:28: expected a role, found ')'"},
    {"Init", "graph g() state(w: f32[] = ) {}", "f:1:28: expected an initialiser, found ')'"},
    {"InitAttr", "graph g() state(w: f32[] = normal(,)) {}",
     "f:1:35: expected an attribute's name, found ','"},
    {"InitEquals", "graph g() state(w: f32[] = normal(std)) {}",
     "f:1:38: expected '=' after the attribute's name, found ')'"},
    {"InitTwice", "graph g() state(w: f32[] = normal(a=1, a=2)) {}",
     "f:1:40: the attribute a is given twice"},
    {"Body", "graph g() x", "f:1:11: expected '{' before the nodes, found 'x'"},
};

const Case kTypeCases[] = {
    {"DType", "graph g(x: f17[2]) {}", "f:1:12: unknown dtype 'f17'. Did you mean 'f16'?"},
    {"DTypeFar", "graph g(x: complex[2]) {}",
     "f:1:12: unknown dtype 'complex'. Known: f64, f32, f16, bf16, i64, i32, i16, i8, u8, bool"},
    {"TypeNone", "graph g(x: ) {}", "f:1:12: expected a type such as f32[2,3], found ')'"},
    {"Bracket", "graph g(x: f32) {}", "f:1:15: expected '[' after the dtype, found ')'"},
    {"CutShape", "graph g(x: f32[3,",
     "f:1:18: expected a number or a symbol in a size, found the end of the text"},
    {"ShapeEnd", "graph g(x: f32[3 4]) {}", "f:1:18: expected ',' or ']', found '4'"},
    {"SizeParen", "graph g(x: f32[(3+1]) {}", "f:1:20: expected ')' in a size, found ']'"},
    {"SizeOverflow", "graph g(x: f32[99999999999999999999]) {}",
     "f:1:16: the number '99999999999999999999' does not fit 64 bits"},
    {"Symbol", "symbol batch = 1..2\ngraph g(x: f32[2*bach]) {}",
     "f:2:18: unknown symbol 'bach'. Did you mean 'batch'?"},
    {"SymbolFar", "graph g(x: f32[width]) {}",
     "f:1:16: unknown symbol 'width'. Declare it first: symbol width = LO..HI"},
    {"Division", "symbol n = 0..2\ngraph g(x: f32[4//n]) {}",
     "f:2:20: division of a size by n, which may be zero or negative"},
    {"Deep", "graph g(x: f32[" + std::string(80, '(') + "]) {}",
     "f:1:80: a size expression is nested more than 64 deep"},
    {"Device", "graph g(x: f32[2] on [0](B)) {}", "f:1:22: expected a device, found '['"},
    {"DeviceEmpty", "graph g(x: f32[2] on \"\"[0](B)) {}",
     "f:1:22: a device cannot have an empty name"},
    {"Ranks", "graph g(x: f32[2] on cuda(B)) {}",
     "f:1:26: expected '[' and the ranks of the mesh after the device, found '('"},
    {"Rank", "graph g(x: f32[2] on cuda[x](B)) {}", "f:1:27: expected a rank, found 'x'"},
    {"RankSize", "graph g(x: f32[2] on cuda[-1](B)) {}", "f:1:27: a rank cannot be -1"},
    {"Mesh", "graph g(x: f32[2] on cuda[0]{x}(B)) {}",
     "f:1:30: expected the size of a mesh axis, found 'x'"},
    {"Layouts", "graph g(x: f32[2] on cuda[0]) {}",
     "f:1:29: expected '(' and a layout per mesh axis, found ')'"},
    {"Layout", "graph g(x: f32[2] on cuda[0](Q)) {}",
     "f:1:30: expected 'S(dimension)', 'B' or 'P', found 'Q'"},
    {"Split", "graph g(x: f32[2] on cuda[0](S)) {}", "f:1:31: expected '(' after 'S', found ')'"},
    {"SplitAxis", "graph g(x: f32[2] on cuda[0](S()) {}",
     "f:1:32: expected a split dimension, found ')'"},
    {"SplitEnd", "graph g(x: f32[2] on cuda[0](S(0 {}",
     "f:1:34: expected ')' after the split dimension, found '{'"},
};

const Case kNodeCases[] = {
    {"Statement", kNode + "y = f()", "f:2:3: expected '%', 'next', 'return' or '}', found 'y'"},
    {"Result", kNode + "% = f()", "f:2:5: expected a result's name, found '='"},
    {"SecondResult", kNode + "%a, b = f()",
     "f:2:7: expected '%' before a result's name, found 'b'"},
    {"ResultTwice", kNode + "%a, %a = f()", "f:2:8: the name a is used twice in graph g"},
    {"ResultTaken", kNode + "%x = f()", "f:2:4: the name x is used twice in graph g"},
    {"Equals", kNode + "%a f()", "f:2:6: expected '=' and an op after the results, found 'f'"},
    {"Op", kNode + "%a = (x)", "f:2:8: expected an op, found '('"},
    {"Operands", kNode + "%a = f x",
     "f:2:10: expected '(' and the operands after the op, found 'x'"},
    {"Argument", kNode + "%a = f(,)", "f:2:10: expected an operand or an attribute, found ','"},
    {"ArgumentsEnd", kNode + "%a = f(x x)", "f:2:12: expected ',' or ')', found 'x'"},
    {"UnknownBare", kNode + "%a = f(xx)", "f:2:10: no value xx is known here. Did you mean 'x'?"},
    {"UnknownNumber", kNode + "%a = f(1)",
     "f:2:10: no value 1 is known here. Operands are values, numbers too: %c = "
     "constant(value=f32[]{1}) : f32[]"},
    {"UnknownFar", kNode + "%a = f(%missing)", "f:2:10: no value %missing is known here."},
    {"Itself", kNode + "%abc = f(%abc)", "f:2:12: no value %abc is known here."},
    {"Percent", kNode + "%a = f(%x)", "f:2:10: x is a feed or a state: write it without '%'"},
    {"NoPercent", kNode + "%a = f() : f32[]\n  %b = f(a) : f32[]",
     "f:3:10: a node makes this value: write %a"},
    {"PercentName", kNode + "%a = f(%)", "f:2:11: expected a value's name after '%', found ')'"},
    {"OperandLast", kNode + "%a = f(n=1, x)", "f:2:15: operands stand before attributes"},
    {"AttrTwice", kNode + "%a = f(n=1, n=2)", "f:2:15: the attribute n is given twice"},
    {"Colon", kNode + "%a = f(x) f32[]",
     "f:2:13: expected ':' and the types of the results, "
     "found 'f32'"},
    {"TypeCount", kNode + "%a, %b = f(x) : f32[]",
     "f:2:19: results and types differ in number: 2 and 1"},
    {"Path", kNode + "%a = f(x) : f32[] @ }", "f:2:23: expected a module path or '(', found '}'"},
    {"Source", kNode + "%a = f(x) : f32[] @ ()", "f:2:24: expected a source FILE:LINE, found ')'"},
    {"SourceLine", kNode + "%a = f(x) : f32[] @ (file)", "f:2:24: a source is FILE:LINE"},
    {"SourceNumber", kNode + "%a = f(x) : f32[] @ (file:x)",
     "f:2:24: a source's line must be a whole number, not 'x'"},
    {"SourceLarge", kNode + "%a = f(x) : f32[] @ (file:3000000000)",
     "f:2:24: a line cannot be 3000000000"},
    {"SourceColon", kNode + "%a = f(x) : f32[] @ (\"a file\")",
     "f:2:32: expected ':' and a line after the source's file, found ')'"},
    {"SourceEnd", kNode + "%a = f(x) : f32[] @ (file:3 4)",
     "f:2:31: expected ')' after the source, found '4'"},
    {"NextName", kNode + "next = x", "f:2:8: expected a state's name, found '='"},
    {"NextUnknown", kNode + "next ww = x", "f:2:8: no state is named ww. Did you mean 'w'?"},
    {"NextFeed", kNode + "next x = x", "f:2:8: no state is named x. Did you mean 'w'?"},
    {"NextTwice", kNode + "next w = x\n  next w = x", "f:3:8: state w has two next values"},
    {"NextEquals", kNode + "next w x", "f:2:10: expected '=' after the state's name, found 'x'"},
    {"NextValue", kNode + "next w = }", "f:2:12: expected a value, found '}'"},
    {"Fetch", kNode + "return }", "f:2:10: expected a value, or NAME = value, found '}'"},
    {"FetchTwice", kNode + "return x, x = w", "f:2:13: two fetches are named x"},
    {"AfterReturn", kNode + "return x %a", "f:2:12: expected '}' after 'return', found '%a'"},
    {"CutBody", kNode, "f:2:3: expected '%', 'next', 'return' or '}', found the end of the text"},
};

const Case kValueCases[] = {
    {"Nothing", kNode + "%a = f(n=)", "f:2:12: expected a number or a symbol in a size, found ')'"},
    {"Word", kNode + "%a = f(n=tru)", "f:2:12: unknown symbol 'tru'. Did you mean 'true'?"},
    {"Double", kNode + "%a = f(n=1e999)", "f:2:12: the number '1e999' does not fit a double"},
    {"MixedStrings", kNode + "%a = f(n=[\"a\",1])",
     "f:2:17: expected a string, as the first of the list, found '1'"},
    {"MixedNumbers", kNode + "%a = f(n=[1,\"a\"])",
     "f:2:15: expected a number or a symbol in a size, found '\"a\"'"},
    {"SymbolicReal", "symbol s = 1..2\n" + kNode + "%a = f(n=[s,0.5])",
     "f:3:13: the list holds real numbers, s is symbolic"},
    {"ListEnd", kNode + "%a = f(n=[1;2])", "f:2:14: expected ',' or ']', found ';'"},
    {"LiteralSize", kNode + "%a = f(n=f32[s]{1})",
     "f:2:16: expected a number: a literal's sizes are not symbolic, found 's'"},
    {"LiteralNegative", kNode + "%a = f(n=f32[-1]{})", "f:2:16: a size cannot be -1"},
    {"LiteralValues", kNode + "%a = f(n=f32[2])",
     "f:2:18: expected '{' and the values of the literal, found ')'"},
    {"LiteralCount", kNode + "%a = f(n=f32[2]{1.0})",
     "f:2:15: a literal f32[2] has 2 values, found 1"},
    {"LiteralHuge", kNode + "%a = f(n=f32[1000000000000]{})",
     "f:2:15: a literal f32[1000000000000] has 1000000000000 values, found 0"},
    {"LiteralOverflow", kNode + "%a = f(n=f32[9999999999,9999999999]{})",
     "f:2:15: shape [9999999999,9999999999] has more elements than 64 bits can count"},
    {"LiteralReal", kNode + "%a = f(n=f32[1]{x})", "f:2:19: expected a number, found 'x'"},
    {"LiteralWhole", kNode + "%a = f(n=i32[1]{x})", "f:2:19: expected a whole number, found 'x'"},
    {"LiteralFraction", kNode + "%a = f(n=i32[1]{1.5})", "f:2:20: expected ',' or '}', found '.5'"},
    {"LiteralRange", kNode + "%a = f(n=i8[2]{1,300})", "f:2:20: 300 does not fit i8"},
    {"LiteralBool", kNode + "%a = f(n=bool[1]{2})", "f:2:20: 2 does not fit bool"},
    {"LiteralHalf", kNode + "%a = f(n=f16[1]{70000})", "f:2:19: 70000.0 does not fit f16"},
    {"LongWord", "graph g() { " + std::string(50, 'z'),
     "f:1:13: expected '%', 'next', 'return' or '}', found 'zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz...'"},
};

std::string case_name(const ::testing::TestParamInfo<Case>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(File, ParseError, ::testing::ValuesIn(kFileCases), case_name);
INSTANTIATE_TEST_SUITE_P(Header, ParseError, ::testing::ValuesIn(kHeaderCases), case_name);
INSTANTIATE_TEST_SUITE_P(Type, ParseError, ::testing::ValuesIn(kTypeCases), case_name);
INSTANTIATE_TEST_SUITE_P(Node, ParseError, ::testing::ValuesIn(kNodeCases), case_name);
INSTANTIATE_TEST_SUITE_P(Value, ParseError, ::testing::ValuesIn(kValueCases), case_name);

TEST(ParseGraph, NeedsExactlyOne) {
  auto message = [](std::string_view text) -> std::string {
    try {
      parse_graph(text, "f");
    } catch (const UserError& e) {
      return e.what();
    }
    return "no error";
  };
  EXPECT_EQ(message(""), "f: one graph is needed here, the text has 0");
  EXPECT_EQ(message("graph a() {} graph b() {}"), "f: one graph is needed here, the text has 2");
  EXPECT_EQ(message("graph a() {}"), "no error");
}

}  // namespace
}  // namespace plait::ir
