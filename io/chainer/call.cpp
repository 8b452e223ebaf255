// Operands, attributes and sizes of one operation.
#include "io/chainer/call.h"

#include "base/error.h"
#include "io/import.h"
#include "ops/initializers.h"

namespace plait::io::chainer {
namespace {

constexpr std::size_t kMaxRank = 16;

const Value* present(const Members& attributes, std::string_view name) {
  const Value* v = find(attributes, name);
  return v && !std::holds_alternative<std::monostate>(v->data) ? v : nullptr;
}

[[noreturn]] void wrong_attribute(std::string_view name, const Value* value) {
  if (!value) fail("has no attribute ", name);
  const std::string text = json_text(*value);
  fail("attribute ", name, " is ", text.substr(0, 60));
}

/// Weights by their fan-in, vectors zero.
ir::Init default_init(const Shape& shape) {
  return shape.size() > 1 ? init::make(init::Kaiming{}) : init::zeros();
}

}  // namespace

std::optional<std::int64_t> whole(const Value& value) {
  constexpr std::int64_t most = std::int64_t{1} << 40;
  if (const auto* n = std::get_if<std::int64_t>(&value.data)) {
    if (*n >= -most && *n <= most) return *n;
  }
  return {};
}

Dim NamedSizes::named(const std::string& name, std::int64_t n) const {
  const auto it = symbols.find(name);
  return it != symbols.end() && evaluate(it->second, numbers) == n ? it->second : Dim(n);
}

std::int64_t times(std::int64_t a, std::int64_t b) { return (Dim(a) * Dim(b)).value(); }

Call::Call(const Record& record, const Operation& operation, const std::vector<Known>& variables,
           const NamedSizes& sizes, DType real, std::int64_t stream)
    : op(operation),
      record_(record),
      variables_(variables),
      sizes_(sizes),
      real_(real),
      stream_(stream) {
  b.set_source(ir::Source{});  // messages speak of the document, not of the line here
}

std::int64_t Call::bytes(int i) const {
  return record_.variables[static_cast<std::size_t>(variable(i))].bytes;
}

std::int64_t Call::out_bytes(int i) const {
  const int v = op.outputs[static_cast<std::size_t>(i)];
  return record_.variables[static_cast<std::size_t>(v)].bytes;
}

std::int64_t Call::floats(std::int64_t bytes) const {
  const auto size = static_cast<std::int64_t>(size_of(real_));
  if (bytes % size != 0) fail(bytes, " bytes are no whole number of ", name_of(real_));
  return bytes / size;
}

Tensor Call::operand(int v, const ir::Type& type) {
  const auto it = operands_.find(v);
  if (it != operands_.end()) return b.value(it->second);
  const Tensor t = b.feed(str("operand", v), type.dtype, type.shape);
  operands_[v] = t.id();
  return t;
}

bool Call::known(int i) const {
  return i < count() && (variables_[static_cast<std::size_t>(variable(i))].type ||
                         resolved_.count(variable(i)) > 0);
}

Tensor Call::in(int i) {
  if (i >= count()) fail("has ", count(), " inputs, needs more");
  const Known& v = variables_[static_cast<std::size_t>(variable(i))];
  if (v.type) return operand(variable(i), *v.type);
  if (const auto it = resolved_.find(variable(i)); it != resolved_.end()) {
    return operand(variable(i), it->second.type);
  }
  return as(i, guess(i).value_or(Shape{elements(i)}));
}

std::optional<Shape> Call::guess(int i) {
  const Known& v = variables_[static_cast<std::size_t>(variable(i))];
  if (!v.parameter) asked_.insert(variable(i));
  return v.guess;
}

Tensor Call::as(int i, const Shape& shape, std::optional<DType> dtype, ir::Init init) {
  if (i >= count()) fail("has ", count(), " inputs, needs more");
  const ir::Type type{dtype.value_or(real_), shape};
  if (number(type.bytes()) != bytes(i)) {
    fail("operand ", i, " has ", bytes(i), " bytes, ", type, " would be ", number(type.bytes()));
  }
  if (known(i)) {
    const Tensor t = in(i);
    if (!(t.type() == type)) fail("operand ", i, " is ", t.type(), " elsewhere, here ", type);
    return t;
  }
  if (init.kind == "zeros" && init.attrs.empty()) init = default_init(shape);
  resolved_[variable(i)] = {type, std::move(init)};
  return operand(variable(i), type);
}

Tensor Call::like(int i, int other) {
  if (known(i) || !known(other) || bytes(i) != bytes(other)) return in(i);
  const ir::Type type = in(other).type();
  return as(i, type.shape, type.dtype);
}

Shape Call::reshape_of(const Shape& from, const Sizes& target) const {
  if (const auto shape = reshaped(from, target, sizes_.numbers)) return *shape;
  return shape_of(target);
}

Tensor Call::key() {
  if (key_ == ir::kNone) key_ = b.feed("key", DType::i64, {2}).id();
  return b.value(key_);
}

bool Call::has(std::string_view name) const { return present(op.attributes, name); }

std::int64_t Call::integer(std::string_view name, std::optional<std::int64_t> otherwise) const {
  const Value* v = present(op.attributes, name);
  if (!v && otherwise) return *otherwise;
  const auto n = v ? whole(*v) : std::nullopt;
  if (!n || *n > 65536 || *n < -65536) wrong_attribute(name, v);
  return *n;
}

double Call::real_number(std::string_view name, std::optional<double> otherwise) const {
  const Value* v = present(op.attributes, name);
  if (!v && otherwise) return *otherwise;
  if (!v) wrong_attribute(name, v);
  if (const auto* x = std::get_if<double>(&v->data)) return *x;
  if (const auto* n = std::get_if<std::int64_t>(&v->data)) return static_cast<double>(*n);
  wrong_attribute(name, v);
}

bool Call::flag(std::string_view name, bool otherwise) const {
  const Value* v = present(op.attributes, name);
  if (!v) return otherwise;
  const auto* flag = std::get_if<bool>(&v->data);
  if (!flag) wrong_attribute(name, v);
  return *flag;
}

std::string Call::word(std::string_view name, std::string_view otherwise) const {
  const Value* v = present(op.attributes, name);
  if (!v) return std::string(otherwise);
  const auto* text = std::get_if<std::string>(&v->data);
  if (!text) wrong_attribute(name, v);
  return *text;
}

Sizes Call::list(std::string_view name) const {
  const Value* v = present(op.attributes, name);
  if (!v) return {};
  if (const auto n = whole(*v)) return {*n};
  const auto* items = std::get_if<std::vector<Value>>(&v->data);
  if (!items || items->size() > kMaxRank) wrong_attribute(name, v);
  Sizes out;
  for (const Value& item : *items) {
    const auto n = whole(item);
    if (!n) wrong_attribute(name, v);
    out.push_back(*n);
  }
  return out;
}

}  // namespace plait::io::chainer
