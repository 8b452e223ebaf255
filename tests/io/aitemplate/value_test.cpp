// Python's printed values: what is read, how it is written, what is refused.
#include "io/aitemplate/value.h"

#include <gtest/gtest.h>

#include "tests/raises.h"

namespace plait::io::aitemplate {
namespace {

PyValue parse(const std::string& text) {
  PyReader reader(text, "t");
  PyValue v = reader.value();
  reader.skip_space();
  EXPECT_TRUE(reader.at_end()) << text;
  return v;
}
std::string error(const std::string& text) {
  return test::message_of([&] { PyReader(text, "t").value(); });
}

TEST(PyValue, ReadsLiterals) {
  EXPECT_EQ(parse("None").kind, PyValue::kNone);
  EXPECT_EQ(parse("True"), PyValue::of(true));
  EXPECT_EQ(parse("-12"), PyValue::of(-12));
  EXPECT_EQ(parse("1e-05").real, 1e-5);
  EXPECT_EQ(parse("-inf").real, -parse("inf").real);
  EXPECT_TRUE(parse("nan") == parse("nan"));
  EXPECT_EQ(parse(R"('it\'s')").text, "it's");
  EXPECT_EQ(parse(R"("it's")").text, "it's");
  EXPECT_EQ(parse(R"('a\n\t\\\x41\u00e9\q')").text, "a\n\t\\A\u00e9\\q");
  EXPECT_EQ(parse("'NI == 1 '\n   'more'").text, "NI == 1 more");
  EXPECT_EQ(parse("('NI == 1 '\n 'more')").text, "NI == 1 more");
}

TEST(PyValue, ReadsContainers) {
  const PyValue v = parse("{'a': [1, (2,), ()], 'b': OrderedDict([('k', ''), ('l', {})])}");
  ASSERT_EQ(v.entries.size(), 2U);
  EXPECT_EQ(v.find("a")->items[1].kind, PyValue::kTuple);
  EXPECT_EQ(v.find("a")->items[2].items.size(), 0U);
  EXPECT_EQ(v.find("b")->kind, PyValue::kOrderedDict);
  EXPECT_EQ(v.find("b")->entries[1].key.text, "l");
  EXPECT_EQ(v.find("c"), nullptr);
}

TEST(PyValue, KeepsWhatIsForeign) {
  for (const char* text :
       {"<FuncEnum.ADD: 1>", "<function f.<locals>.g at 0x7f>", "array([1, 2], dtype=int8)",
        "2*batch + 1", "(n + 1)*2", "{1, 2}", "[...]", "{...}", "b'a,b]'", "99999999999999999999",
        "Item(key='a)', n=[1, 2])", "batch", "None_of_it", "1.5.2", "(1+2j)", "((n))"}) {
    const PyValue v = parse(text);
    EXPECT_EQ(v.kind, PyValue::kForeign) << text;
    EXPECT_EQ(v.text, text);
    EXPECT_EQ(py_repr(v), text);
  }
}

TEST(PyValue, SaysWhereItStands) {
  const PyValue v = parse("{'a': 1,\n  'b': [2,\n 3]}");
  EXPECT_EQ(v.find("b")->items[1].at.line, 3);
  EXPECT_EQ(v.find("b")->items[1].at.column, 2);
}

TEST(PyValue, RefusesWhatIsNoValue) {
  EXPECT_EQ(error(""), "t:1:1: a value was expected, found the end of the text");
  EXPECT_EQ(error("["), "t:1:2: a value was expected, found the end of the text");
  EXPECT_EQ(error("[1 2]"), "t:1:4: `,` or `]` was expected in the list opened at 1:1, found `2]`");
  EXPECT_EQ(error("{'a' 1}"), "t:1:6: `:` was expected after a key, found `1}`");
  EXPECT_EQ(error("{'a': 1 'b'}"),
            "t:1:9: `,` or `}` was expected in the dict opened at 1:1, found `'b'}`");
  EXPECT_EQ(error("'abc\n'"), "t:1:1: a text is not closed on its line");
  EXPECT_EQ(error("'\\xZZ'"), "t:1:4: \\x needs 2 hexadecimal digits of a character, found `ZZ'`");
  EXPECT_EQ(error("<a <b>"), "t:1:1: a `<` is not closed");
  EXPECT_EQ(error("OrderedDict(3)"),
            "t:1:13: OrderedDict holds a list of pairs, found the number 3");
  EXPECT_EQ(error("OrderedDict([(1,)])"), "t:1:14: OrderedDict holds pairs, found a tuple");
  EXPECT_EQ(error("OrderedDict([] x"),
            "t:1:16: `)` was expected after OrderedDict's list, found `x`");
  EXPECT_EQ(error("$"), "t:1:1: a value was expected, found `$`");
  EXPECT_EQ(error(std::string(80, '[')),
            "t:1:65: values are nested deeper than 64; is a bracket not closed?");
}

// Expected texts are what Python 3's pformat(value, indent=2) prints.
TEST(PyValue, IsWrittenAsPprintDoes) {
  EXPECT_EQ(pformat(parse("{'a': [1, 2.5], 'b': (1,)}")), "{'a': [1, 2.5], 'b': (1,)}");
  const std::string k(40, 'k');
  EXPECT_EQ(pformat(parse("{'" + k + "': ['" + k + "', 'b']}")),
            "{ '" + k + "': [ '" + k + "',\n" + std::string(48, ' ') + "'b']}");
  const std::string words =
      "word word word word word word word word word word word word word word word word word word";
  EXPECT_EQ(pformat(PyValue::of(words)),
            "('word word word word word word word word word word word word word word word '\n"
            " 'word word word')");
  const std::string wide(80, 'w');  // nothing behind it fits
  for (const char* empty : {"''", "[ ]", "{ }", "( )", "OrderedDict()"}) {
    const std::string text = "{ '" + wide + "': " + empty + "}";
    EXPECT_EQ(pformat(parse(text)), text);
  }
  EXPECT_EQ(py_repr(PyValue::of("it's\x01\n")), "\"it's\\x01\\n\"");
  EXPECT_EQ(py_real(1e-5), "1e-05");
  EXPECT_EQ(py_real(1e22), "1e+22");
  EXPECT_EQ(py_real(3), "3.0");
  EXPECT_EQ(py_real(0.1), "0.1");
}

TEST(PyValue, ManyObjectsInsideOneAnotherArePrintedOnce) {
  PyValue v = PyValue::dict({});
  for (int i = 0; i < 30; ++i) {
    v = PyValue::dict({{PyValue::of("a"), PyValue::list({v})},
                       {PyValue::of("b"), PyValue::of(std::string(80, 'b'))}});
  }
  EXPECT_EQ(pformat(v).size(), pformat(parse(pformat(v))).size());
}

}  // namespace
}  // namespace plait::io::aitemplate
