// Attributes of Plait's ops as Python values, both ways: how an op that AITemplate has no word for
// stands in a document.
#pragma once

#include "io/aitemplate/value.h"
#include "ir/attrs.h"

namespace plait::io::aitemplate {

PyValue py_of_attrs(const ir::Attrs& attrs);
/// Symbols in formulas are asked of `resolve`. UserError when a value is none of an attribute.
ir::Attrs attrs_of_py(const PyValue& dict, const DimResolver& resolve);
/// Those entries that an attribute can hold, of an operator that Plait lacks.
ir::Attrs known_attrs(const std::vector<Entry>& rest);

/// A number, or a formula as it is written.
PyValue py_of_dim(const Dim& dim);

}  // namespace plait::io::aitemplate
