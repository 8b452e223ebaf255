// Splits an index expression into its affine part and the rest.
#include "loop/index_fn.h"

#include "base/error.h"

namespace plait::loop {

IndexFn compile(const Dim& symbolic, const SlotNames& names, const DimBindings& bindings) {
  const Dim d = bindings.empty() ? symbolic : symbolic.substitute(bindings);
  IndexFn fn;
  fn.constant = d.constant();
  fn.linear.assign(names.size(), 0);
  auto slot_of = [&](const DimAtom& atom) {
    const auto it = std::find(names.begin(), names.end(), atom.name);
    if (it == names.end()) fail("the size ", atom.name, " has no value; fix it with --set");
    return static_cast<int>(it - names.begin());
  };
  for (const DimTerm& t : d.terms()) {
    if (t.factors.size() == 1 && t.factors[0]->kind == DimAtom::kSymbol) {
      fn.linear[static_cast<std::size_t>(slot_of(*t.factors[0]))] += t.coefficient;
      continue;
    }
    IndexFn::Product product{t.coefficient, {}};
    for (const DimAtomPtr& atom : t.factors) {
      IndexFn::Factor f;
      if (atom->kind == DimAtom::kSymbol) {
        f.slot = slot_of(*atom);
      } else {
        f.kind = atom->kind;
        f.operands = {compile(atom->a, names, bindings), compile(atom->b, names, bindings)};
      }
      product.factors.push_back(std::move(f));
    }
    fn.rest.push_back(std::move(product));
  }
  return fn;
}

}  // namespace plait::loop
