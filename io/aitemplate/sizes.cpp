// Symbols of a document's dimensions.
#include "io/aitemplate/sizes.h"

#include <algorithm>

#include "base/error.h"
#include "base/names.h"
#include "base/text.h"

namespace plait::io::aitemplate {
namespace {

constexpr std::size_t kMaxNames = 64;

/// A name that a symbol may have.
std::string legal(std::string name) {
  for (char& c : name) {
    const bool fits = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!fits) c = '_';
  }
  return is_symbol_name(name) ? name : "dim_" + name;
}

/// The symbol that sympy's text is, when it is one alone; otherwise the dimension's own name.
std::string symbol_name(const IntVar& d) {
  const PyValue* v = d.symbolic_value ? &*d.symbolic_value : nullptr;
  if (v && v->is(PyValue::kForeign) && is_symbol_name(v->text)) return v->text;
  return d.name.value_or("");
}

template <class F>
void each_dim(const Record& record, F f) {
  for (const TensorRecord& t : record.tensors) {
    for (const IntVar& d : t.shape) f(t, d);
  }
}

}  // namespace

SizeTable::SizeTable(const Record& record, bool named) {
  each_dim(record, [&](const TensorRecord& t, const IntVar& d) {
    const std::string name = symbol_name(d);
    if (d.is_const() || name.empty()) return;
    const Dim symbol = Dim::symbol(legal(name), d.lo(), d.hi());
    const auto [it, fresh] = ranges_.emplace(name, symbol);
    if (!fresh && (it->second.lo() != d.lo() || it->second.hi() != d.hi())) {
      fail(record.file, ":", d.at.line, ":", d.at.column, ": symbol '", name, "' is ", d.lo(),
           " to ", d.hi(), " in tensor '", t.name, "', but ", it->second.lo(), " to ",
           it->second.hi(), " before");
    }
    values_[legal(name)] = Dim(d.hi());
  });
  if (!named) return;
  each_dim(record, [&](const TensorRecord& t, const IntVar& d) {
    if (!t.is_input || !d.is_const() || d.lo() < 1 || !d.name) return;
    if (!is_symbol_name(*d.name) || values_.contains(*d.name)) return;
    if (named_.size() == kMaxNames || !named_.emplace(*d.name, d.lo()).second) return;
    order_.push_back(*d.name);
  });
  Import names;
  for (const auto& [name, value] : named_) {
    symbols_.emplace(name, names.named(name, value));
    values_[name] = Dim(value);
  }
}

Dim SizeTable::of(const IntVar& d) const {
  if (d.is_const()) {
    const auto it = d.name ? named_.find(*d.name) : named_.end();
    if (it == named_.end()) return d.lo();
    return symbols_.at(*d.name).substitute(follows_);
  }
  // A formula over symbols that are known, if it can be read as one.
  if (d.symbolic_value && d.symbolic_value->is(PyValue::kForeign)) {
    const std::string& text = d.symbolic_value->text;
    try {
      std::size_t pos = 0;
      const Dim formula = parse_dim(text, pos, [&](std::string_view name) { return symbol(name); });
      if (pos == text.size() && number(formula) == d.hi()) return formula;
    } catch (const UserError&) {  // sympy writes more than sizes are; the name will do
    }
  }
  const auto it = ranges_.find(symbol_name(d));
  if (it != ranges_.end()) return it->second;
  fail("a dimension from ", d.lo(), " to ", d.hi(), " has neither a name nor a symbolic_value");
}

Shape SizeTable::of(const std::vector<IntVar>& shape) const {
  Shape out;
  for (const IntVar& d : shape) out.push_back(of(d));
  return out;
}

Dim SizeTable::symbol(std::string_view name) const {
  const auto it = ranges_.find(std::string(name));
  if (it == ranges_.end()) fail("the document has no symbol '", std::string(name), "'");
  return it->second;
}

Sizes SizeTable::numbers(const Shape& shape) const {
  Sizes out;
  for (const Dim& d : shape) out.push_back(number(d));
  return out;
}

void SizeTable::replace(ir::Graph& graph, const std::string& name, const Dim& by) {
  const DimBindings binding{{name, by}};
  for (auto& [other, dim] : follows_) dim = dim.substitute(binding);
  follows_[name] = by;
  graph = ir::substitute(graph, binding);
}

void SizeTable::unify(ir::Graph& graph, const Dim& a, const Dim& b) {
  const Dim gap = a - b;
  if (gap.is(0) || named_.empty() || number(gap) != 0) return;
  // The name declared last follows from those before it: a term `name` or `-name` of the gap, with
  // the name nowhere else.
  for (auto name = order_.rbegin(); name != order_.rend(); ++name) {
    for (const DimTerm& term : gap.terms()) {
      const bool alone = term.factors.size() == 1 && term.factors[0]->kind == DimAtom::kSymbol &&
                         term.factors[0]->name == *name && std::abs(term.coefficient) == 1;
      if (!alone) continue;
      const DimAtom& atom = *term.factors[0];
      const Dim symbol = Dim::symbol(atom.name, atom.lo, atom.hi);
      const Dim by = term.coefficient == 1 ? symbol - gap : symbol + gap;
      std::map<std::string, Dim> left;
      by.collect_symbols(left);
      if (!left.contains(*name)) return replace(graph, *name, by);
    }
  }
}

void SizeTable::pin(ir::Graph& graph, const Dim& dim) {
  std::map<std::string, Dim> symbols;
  dim.collect_symbols(symbols);
  for (const auto& [name, symbol] : symbols) {
    const auto it = named_.find(name);
    if (it != named_.end()) replace(graph, name, Dim(it->second));
  }
}

void SizeTable::raise(ir::Graph& graph, const Dim& dim, std::int64_t least) {
  std::map<std::string, Dim> found;
  dim.collect_symbols(found);
  for (const auto& [name, symbol] : found) {
    const auto it = named_.find(name);
    if (it == named_.end() || dim.lo() >= least) continue;
    // Sizes grow with what they are made of: the smallest lower end is found by halving.
    const auto with = [&, &key = name, &old = symbol](std::int64_t lo) {
      return Dim::symbol(key, lo, old.hi());
    };
    std::int64_t low = symbol.lo(), high = it->second;
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      const bool enough = dim.substitute({{name, with(middle)}}).lo() >= least;
      (enough ? high : low) = enough ? middle : middle + 1;
    }
    const DimBindings binding{{name, with(high)}};
    symbols_[name] = with(high);
    for (auto& [other, by] : follows_) by = by.substitute(binding);
    graph = ir::substitute(graph, binding);
    return;
  }
}

void SizeTable::finish(Import& import) const {
  std::vector<std::string> followed;
  for (const std::string& name : order_) {
    const auto it = follows_.find(name);
    if (it == follows_.end()) {
      import.sizes[name] = named_.at(name);
    } else {
      followed.push_back(str(name, " = ", it->second));
    }
  }
  if (followed.empty()) return;
  import.notes.push_back("sizes that follow from others: " + join(followed, ", "));
}

}  // namespace plait::io::aitemplate
