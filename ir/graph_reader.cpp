// Reading one graph from the text form. Names are looked up as they are read, so that a mistake is
// reported where it stands.
#include <limits>
#include <unordered_set>

#include "base/names.h"
#include "ir/reader.h"

namespace plait::ir {
namespace {

using Names = std::unordered_set<std::string>;

struct GraphReader {
  Lexer& in;
  const DimResolver& resolve;
  Graph graph{};
  Names state_names{}, next_names{}, fetch_names{};

  Graph read() {
    graph.name = in.name("the graph's name");
    in.expect('(', "and the feeds after the graph's name");
    in.list(')', [&] { feed(); });
    if (in.take_word("state")) {
      in.expect('(', "after 'state'");
      in.list(')', [&] { state(); });
    }
    in.expect('{', "before the nodes");
    while (!in.take('}')) {
      if (in.peek() == '%') {
        node();
      } else if (in.take_word("next")) {
        next();
      } else if (in.take_word("return")) {
        do {
          fetch();
        } while (in.take(','));
        in.expect('}', "after 'return'");
        break;
      } else {
        in.expected("'%', 'next', 'return' or '}'");
      }
    }
    return std::move(graph);
  }

  [[noreturn]] void used_twice(const std::string& name, std::size_t offset) {
    throw SyntaxError{offset, str("the name ", name_text(name), " is used twice in graph ",
                                  name_text(graph.name))};
  }

  /// A name that no value of the graph has yet.
  std::string new_name(std::string_view what) {
    const std::size_t start = in.skip();
    std::string name = in.name(what);
    if (name.empty()) throw SyntaxError{start, "a value cannot have an empty name"};
    if (graph.find_value(name) != kNone) used_twice(name, start);
    return name;
  }

  void feed() {
    std::string name = new_name("a feed's name");
    in.expect(':', "and a type after the feed's name");
    graph.add_feed(std::move(name), read_type(in, resolve));
  }

  void state() {
    State s;
    s.name = new_name("a state's name");
    in.expect(':', "and a type after the state's name");
    s.type = read_type(in, resolve);
    if (in.take_word("as")) s.role = role();
    if (in.take('=')) {
      s.init.kind = in.name("an initialiser");
      if (in.take('(')) in.list(')', [&] { init_attr(s.init.attrs); });
    }
    state_names.insert(s.name);
    graph.add_state(std::move(s));
  }

  Role role() {
    std::vector<std::string> known;
    for (Role r : {Role::kParam, Role::kBuffer, Role::kSlot, Role::kCounter}) {
      if (in.take_word(role_name(r))) return r;
      known.emplace_back(role_name(r));
    }
    const std::string_view word = in.bare();
    if (word.empty()) in.expected("a role");
    const std::string hint = suggestion(word, known);
    throw SyntaxError{in.pos, str("unknown role '", word, "'.",
                                  hint.empty() ? " Known: " + join(known, ", ") : hint)};
  }

  void init_attr(Attrs& attrs) {
    const std::size_t start = in.skip();
    std::string name = in.name("an attribute's name");
    in.expect('=', "after the attribute's name");
    read_attr_into(attrs, std::move(name), start, in, resolve);
  }

  void node() {
    std::vector<std::string> names = results();
    Node n;
    op(n);
    in.expect('(', "and the operands after the op");
    in.list(')', [&] { argument(n); });
    in.expect(':', "and the types of the results");
    const std::size_t start = in.skip();
    std::vector<Type> types;
    do {
      types.push_back(read_type(in, resolve));
    } while (in.take(','));
    if (types.size() != names.size()) {
      throw SyntaxError{
          start, str("results and types differ in number: ", names.size(), " and ", types.size())};
    }
    if (in.take('@')) where(n);
    graph.add_node(std::move(n), types, std::move(names));
  }

  std::vector<std::string> results() {
    std::vector<std::string> names;
    Names seen;
    do {
      in.expect('%', "before a result's name");
      const std::size_t start = in.skip();
      names.push_back(new_name("a result's name"));
      if (!seen.insert(names.back()).second) used_twice(names.back(), start);
    } while (in.take(','));
    in.expect('=', "and an op after the results");
    return names;
  }

  /// `relu`, `opaque "Relu"`; an op may itself be called `opaque`.
  void op(Node& n) {
    n.opaque = in.take_word("opaque");
    if (n.opaque && in.peek() == '(') {
      n.op = "opaque";
      n.opaque = false;
    } else {
      n.op = in.name("an op");
    }
  }

  void argument(Node& n) {
    const std::size_t start = in.skip();
    if (in.take_word("_")) {
      n.inputs.push_back(kNone);
    } else if (in.peek() == '%') {
      n.inputs.push_back(operand());
    } else {
      std::string name = in.name("an operand or an attribute");
      if (in.take('=')) return read_attr_into(n.attrs, std::move(name), start, in, resolve);
      n.inputs.push_back(bare_operand(name, start));
    }
    if (!n.attrs.empty()) throw SyntaxError{start, "operands stand before attributes"};
  }

  ValueId operand() {
    const std::size_t start = in.skip();
    if (!in.take('%')) return bare_operand(in.name("a value"), start);
    const std::string name = in.name("a value's name after '%'");
    const ValueId id = graph.find_value(name);
    if (id == kNone) unknown_value("%" + name_text(name), start);
    if (graph.value(id).producer == kNone) {
      throw SyntaxError{start, str(name_text(name), " is a feed or a state: write it without '%'")};
    }
    return id;
  }

  ValueId bare_operand(const std::string& name, std::size_t start) {
    const ValueId id = graph.find_value(name);
    if (id == kNone) unknown_value(name_text(name), start);
    if (graph.value(id).producer != kNone) {
      throw SyntaxError{start, str("a node makes this value: write %", name_text(name))};
    }
    return id;
  }

  [[noreturn]] void unknown_value(const std::string& text, std::size_t start) {
    std::vector<std::string> known;
    for (const Value& v : graph.values) {
      known.push_back((v.producer == kNone ? "" : "%") + name_text(v.name));
    }
    const bool number = text.find_first_not_of("0123456789.") == text.npos;
    throw SyntaxError{
        start, str("no value ", text, " is known here.",
                   number ? str(" Operands are values, numbers too: %c = constant(value=f32[]{",
                                text, "}) : f32[]")
                          : suggestion(text, known))};
  }

  /// What stands behind '@': a module path, a source line in parentheses, or both.
  void where(Node& n) {
    if (in.peek() != '(') n.path = in.name("a module path or '('");
    if (!in.take('(')) return;
    const std::size_t start = in.skip();
    std::string line;
    if (in.peek() == '"') {
      n.source.file = in.quoted_string();
      in.expect(':', "and a line after the source's file");
      line = in.bare();
      in.pos += line.size();
    } else {
      n.source.file = in.name("a source FILE:LINE");
      const std::size_t colon = n.source.file.rfind(':');
      if (colon == std::string::npos) throw SyntaxError{start, "a source is FILE:LINE"};
      line = n.source.file.substr(colon + 1);
      n.source.file.resize(colon);
    }
    const std::int64_t number =
        in.located(start, [&] { return parse_integer(line, "a source's line"); });
    n.source.line = static_cast<int>(number);
    if (n.source.line != number) throw SyntaxError{start, str("a line cannot be ", number)};
    in.expect(')', "after the source");
  }

  void next() {
    const std::size_t start = in.skip();
    std::string name = in.name("a state's name");
    if (!state_names.count(name)) {
      std::vector<std::string> known;
      for (const StateUse& s : graph.states) known.push_back(name_text(s.state.name));
      throw SyntaxError{start, str("no state is named ", name_text(name), ".",
                                   suggestion(name_text(name), known))};
    }
    if (!next_names.insert(name).second) {
      throw SyntaxError{start, str("state ", name_text(name), " has two next values")};
    }
    in.expect('=', "after the state's name");
    graph.nexts.push_back({std::move(name), operand()});
  }

  void fetch() {
    const std::size_t start = in.skip();
    Fetch f{{}, kNone};
    if (in.peek() == '%') {
      f.value = operand();
      f.name = graph.value(f.value).name;
    } else {
      f.name = in.name("a value, or NAME = value");
      f.value = in.take('=') ? operand() : bare_operand(f.name, start);
    }
    if (!fetch_names.insert(f.name).second) {
      throw SyntaxError{start, str("two fetches are named ", name_text(f.name))};
    }
    graph.fetches.push_back(std::move(f));
  }
};

}  // namespace

Graph read_graph(Lexer& in, const DimResolver& resolve) { return GraphReader{in, resolve}.read(); }

}  // namespace plait::ir
