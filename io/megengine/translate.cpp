// Values of vars, parameters of operators, and the names that survive.
#include "io/megengine/translate.h"

#include <algorithm>

#include "base/error.h"
#include "ops/constant.h"
#include "ops/initializers.h"

namespace plait::io::megengine {
namespace {

/// Numbers that the document says in full; nothing where it does not.
std::optional<std::vector<double>> known_numbers(const Var& var) {
  const auto* list = var.value ? var.value->result.as<Json::Array>() : nullptr;
  if (!list) return std::nullopt;
  std::vector<double> out;
  for (const Json& item : *list) {
    if (const auto* n = item.as<std::int64_t>()) {
      out.push_back(static_cast<double>(*n));
    } else if (const auto* x = item.as<double>()) {
      out.push_back(*x);
    } else {
      return std::nullopt;
    }
  }
  return out;
}

bool all_whole(const Var& var) {
  const auto& list = *var.value->result.as<Json::Array>();
  return std::all_of(list.begin(), list.end(),
                     [](const Json& item) { return item.as<std::int64_t>() != nullptr; });
}

/// Weights of contractions by their fan, with gain 1 (norms are folded into the weights, so
/// residual sums would grow from block to block with more); the statistics of a batch norm so that
/// it changes nothing; what else there is, biases among it, small.
ir::Init initial(const Index& index, int var, DType dtype, const Sizes& sizes) {
  if (!is_float(dtype)) return init::zeros();
  for (int reader : index.readers[static_cast<std::size_t>(var)]) {
    const Operator& op = index.op(reader);
    const auto place =
        std::find(op.inputs.begin(), op.inputs.end(), index.var(var).id) - op.inputs.begin();
    if (op.type == "BatchNormForward" && place > 0) {  // x, scale, bias, mean, variance
      return place == 1 || place == 4 ? init::ones() : init::zeros();
    }
    if (is_contraction(op) && sizes.size() >= 2 && place < 2) {
      return init::make(init::Kaiming{.gain = 1});
    }
  }
  return init::make(init::Normal{.mean = 0, .std = 0.01});
}

Sizes want_shape(const Index& index, int var) {
  const std::optional<Sizes> shape = shape_of(index, var);
  if (!shape) fail("the shape of var ", index.var(var).id, " is recorded nowhere");
  return *shape;
}

/// The literal that a constant is, where its numbers are known; else a state.
Tensor constant_or_state(Translation& t, int var) {
  const Var& v = t.index.var(var);
  const Sizes sizes = want_shape(t.index, var);
  const auto numbers = known_numbers(v);
  if (numbers && static_cast<std::int64_t>(numbers->size()) == element_count(sizes) &&
      !is_foreign(v) && v.value->infer_type != "RT_STATIC") {
    const DType dtype = dtype_of(t.index, var).value_or(all_whole(v) ? DType::i32 : DType::f32);
    const Array array = Array::of(dtype, sizes, *numbers);
    const ops::Constant attrs{{std::make_shared<Array>(array)}};
    return t.b.add(ops::constant, {}, ir::encode(attrs), {}, t.names_for(var))[0];
  }
  const DType dtype = dtype_of(t.index, var).value_or(DType::f32);
  const std::vector<std::string> names = t.names_for(var);
  ir::State state{names.empty() ? t.b.graph().fresh_name("const") : names[0],
                  {dtype, plait::shape_of(sizes)},
                  ir::Role::kParam,
                  initial(t.index, var, dtype, sizes)};
  read_state_extra(t.index.op(t.index.producer_of(var)), t.index.record.file, state);
  return t.b.state(state);
}

/// The sizes of an image batch by name: batch first, then the square that two neighbours make.
Shape named_shape(Translation& t, const Sizes& sizes) {
  Shape shape = plait::shape_of(sizes);
  auto& known = t.import.sizes;
  const auto name = [&](std::size_t i, const std::string& as, std::int64_t least) {
    if (sizes[i] < 2 || (known.contains(as) && known[as] != sizes[i])) return;
    const std::int64_t most = t.import.named(as, sizes[i]).hi();
    shape[i] = Dim::symbol(as, std::min(least, sizes[i]), most);
  };
  if (t.naming.batch && !sizes.empty()) name(0, "batch", 1);
  if (t.naming.image > 0 && sizes.size() == 4) {
    if (sizes[2] == sizes[3] || sizes[1] == sizes[2]) {
      const std::size_t first = sizes[2] == sizes[3] ? 2 : 1;
      name(first, "image", t.naming.image);
      name(first + 1, "image", t.naming.image);
    } else {
      name(2, "height", t.naming.image);
      name(3, "width", t.naming.image);
    }
  }
  t.bindings = t.import.bindings();
  return shape;
}

Tensor feed(Translation& t, int var) {
  std::optional<DType> dtype = dtype_of(t.index, var);
  const std::vector<std::string> names = t.names_for(var);
  const std::string name = names.empty() ? t.b.graph().fresh_name("feed") : names[0];
  if (!dtype) {
    dtype = DType::f32;
    t.import.notes.push_back(str("the dtype of ", name, " is not recorded; it is taken for f32"));
  }
  return t.b.feed(name, *dtype, named_shape(t, want_shape(t.index, var)));
}

}  // namespace

Params::Params(const Record& record, const Operator& op, const Footprint* footprint) {
  if (!footprint) return;
  json_ = &footprint->param;
  path_ = str(record.file, record.footprints_on_top ? ": " : ": profiler.", "opr_footprint.", op.id,
              ".param.");
}

const Json* Params::find(std::string_view key) const { return json_ ? json_->find(key) : nullptr; }

void Params::expected(std::string_view key, std::string_view what) const {
  fail(path_, key, ": expected ", what, ", is ", glimpse(*find(key)));
}

std::string Params::text(std::string_view key, std::string_view missing) const {
  const Json* json = find(key);
  if (!json) return std::string(missing);
  if (!json->as<std::string>()) expected(key, "a text");
  return *json->as<std::string>();
}

std::int64_t Params::integer(std::string_view key, std::int64_t missing) const {
  const Json* json = find(key);
  if (!json) return missing;
  if (!json->as<std::int64_t>()) expected(key, "a whole number");
  return *json->as<std::int64_t>();
}

double Params::real(std::string_view key, double missing) const {
  const Json* json = find(key);
  if (!json) return missing;
  if (const auto* n = json->as<std::int64_t>()) return static_cast<double>(*n);
  if (!json->as<double>()) expected(key, "a number");
  return *json->as<double>();
}

bool Params::boolean(std::string_view key, bool missing) const {
  const Json* json = find(key);
  if (!json) return missing;
  if (!json->as<bool>()) expected(key, "true or false");
  return *json->as<bool>();
}

Translation::Translation(const Index& i, Naming n, const Misfits& m)
    : index(i), naming(n), misfits(m), b("profile"), values(i.record.vars.size()) {}

Tensor Translation::value_of(int var) {
  Tensor& value = values[static_cast<std::size_t>(var)];
  if (value) return value;
  const Operator& maker = index.op(index.producer_of(var));
  const bool host = index.step[static_cast<std::size_t>(index.producer_of(var))] < 0;
  if (is_feed(maker)) return value = feed(*this, var);
  const auto numbers = known_numbers(index.var(var));
  if (is_constant(maker) || (host && numbers)) return value = constant_or_state(*this, var);
  fail("var ", index.var(var).id, " has no value here: operator ", maker.id, " (", maker.type,
       ") makes it ", host ? "on the host" : "as scratch or nothing");
}

std::vector<std::string> Translation::names_for(int var) {
  const std::string& name = index.var(var).name;
  if (name.empty()) return {};
  return {b.graph().find_value(name) == ir::kNone ? name : b.graph().fresh_name(name)};
}

Shape Translation::reshaped(const Tensor& from, const Sizes& sizes) const {
  if (const auto shape = io::reshaped(from.shape(), sizes, bindings)) return *shape;
  for (const Dim& dim : from.shape()) {
    if (!dim.is_const()) {
      fail("no split of ", shape_text(from.shape()), " explains the recorded ", shape_text(sizes));
    }
  }
  return plait::shape_of(sizes);
}

Tensor Call::in(int i) const {
  if (i >= count()) fail("has ", count(), " inputs, expected more than ", i);
  return t.value_of(t.index.var_of(op.inputs[static_cast<std::size_t>(i)]));
}

std::optional<std::vector<std::int64_t>> Call::numbers(int i) const {
  const Var& var = t.index.var(t.index.var_of(op.inputs[static_cast<std::size_t>(i)]));
  const auto* list = var.value ? var.value->result.as<Json::Array>() : nullptr;
  if (!list || !all_whole(var)) return std::nullopt;
  std::vector<std::int64_t> out;
  for (const Json& item : *list) out.push_back(*item.as<std::int64_t>());
  return out;
}

Sizes Call::recorded() const {
  if (result < 0) fail("has no output");
  return want_shape(t.index, result);
}

std::optional<DType> Call::recorded_dtype() const {
  return result < 0 ? std::nullopt : dtype_of(t.index, result);
}

Tensor Call::last(const Op& o, const std::vector<Tensor>& operands, ir::Attrs attrs) const {
  std::vector<std::string> names;
  if (result >= 0) names = t.names_for(result);
  return t.b.add(o, operands, std::move(attrs), {}, std::move(names))[0];
}

}  // namespace plait::io::megengine
