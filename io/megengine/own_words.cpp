// What our writer adds where MegEngine has no word: our own ops with their attributes as text,
// roles and initial values of states, module paths and lines of source. Read back here.
#include "base/lexer.h"
#include "io/megengine/translate.h"
#include "io/megengine/words.h"
#include "ir/reader.h"

namespace plait::io::megengine {
namespace {

Dim no_symbol(std::string_view name) { fail("the size ", name, " is not a number"); }

/// Runs `read` over a text of the text form; UserError says which text and why.
template <class Read>
auto read_text(std::string_view text, Read read) {
  Lexer in{text};
  try {
    auto out = read(in);
    if (!in.at_end()) in.expected("the end");
    return out;
  } catch (const SyntaxError& e) {
    fail(clipped(text), " at column ", e.offset + 1, ": ", e.message);
  }
}

ir::AttrValue read_value(const std::string& text) {
  return read_text(text, [](Lexer& in) { return ir::read_value(in, no_symbol); });
}

/// `normal(std=0.02)`
ir::Init read_init(const std::string& text) {
  return read_text(text, [](Lexer& in) {
    ir::Init init{in.name("an initialiser"), {}};
    if (!in.take('(')) return init;
    in.list(')', [&] {
      const std::size_t start = in.skip();
      std::string name = in.name("an attribute");
      in.expect('=', "behind an attribute");
      ir::read_attr_into(init.attrs, std::move(name), start, in, no_symbol);
    });
    return init;
  });
}

const std::string* text_in(const Json::Object& object, std::string_view key) {
  for (const Member& m : object) {
    if (m.key == key) return m.value.as<std::string>();
  }
  return nullptr;
}

}  // namespace

ir::Attrs own_attrs(const Json& param) {
  ir::Attrs attrs;
  const auto* object = param.as<Json::Object>();
  if (!object) return attrs;
  for (const Member& m : *object) {
    const auto* text = m.value.as<std::string>();
    attrs.set(m.key, text ? read_value(*text) : ir::AttrValue(json_text(m.value)));
  }
  return attrs;
}

std::vector<Tensor> own_op(Call& c, const Op& op) {
  std::vector<Tensor> operands;
  const Json::Array* left_out = nullptr;
  for (const Member& m : c.op.extra) {
    if (m.key == kLeftOut) left_out = m.value.as<Json::Array>();
  }
  const auto is_left_out = [&](std::size_t i) {
    return left_out && std::find(left_out->begin(), left_out->end(),
                                 Json(static_cast<std::int64_t>(i))) != left_out->end();
  };
  for (int i = 0; i < c.count(); ++i) {
    while (is_left_out(operands.size()) && operands.size() < 64) operands.push_back({});
    operands.push_back(c.in(i));
  }
  std::vector<std::string> names;
  for (Id out : c.op.outputs) {
    const auto name = c.t.names_for(c.t.index.var_of(out));
    names.push_back(name.empty() ? c.t.b.graph().fresh_name(c.op.type) : name[0]);
  }
  return c.t.b.add(op, operands, c.params.known() ? own_attrs(c.params.json()) : ir::Attrs(), {},
                   std::move(names));
}

void read_state_extra(const Operator& op, const std::string& file, ir::State& state) {
  if (const std::string* role = text_in(op.extra, kRole)) {
    for (ir::Role r : {ir::Role::kParam, ir::Role::kBuffer, ir::Role::kSlot, ir::Role::kCounter}) {
      if (ir::role_name(r) == *role) state.role = r;
    }
  }
  const std::string* init = text_in(op.extra, kInit);
  if (!init) return;
  try {
    state.init = read_init(*init);
  } catch (const UserError& e) {
    fail(file, ": graph_exec.operator.", op.id, ".extra.init: ", e.what());
  }
}

ir::Source source_of(const Operator& op) {
  const std::string* text = text_in(op.extra, kSource);
  if (!text) return {};
  const std::size_t colon = text->rfind(':');
  const std::string_view line =
      colon == text->npos ? "" : std::string_view(*text).substr(colon + 1);
  const std::optional<Id> number = line.size() < 9 ? id_of(line) : std::nullopt;
  if (!number) return {*text, 0};
  return {text->substr(0, colon), static_cast<int>(*number)};
}

std::string path_of(const Operator& op) {
  const std::string* text = text_in(op.extra, kPath);
  return text ? *text : "";
}

bool is_opaque(const Operator& op) { return text_in(op.extra, kOpaque) != nullptr; }

}  // namespace plait::io::megengine
