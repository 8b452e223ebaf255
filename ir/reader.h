// Reading the parts of the text form: types and attribute values (reader.cpp), one graph
// (graph_reader.cpp). Mistakes are SyntaxErrors.
#pragma once

#include "base/lexer.h"
#include "ir/graph.h"

namespace plait::ir {

Type read_type(Lexer& in, const DimResolver& resolve);
AttrValue read_value(Lexer& in, const DimResolver& resolve);
/// What stands behind `name=`: reads the value and adds it; a repeated name is a mistake at
/// `start`.
void read_attr_into(Attrs& attrs, std::string name, std::size_t start, Lexer& in,
                    const DimResolver& resolve);
/// What stands behind the word `graph`.
Graph read_graph(Lexer& in, const DimResolver& resolve);

}  // namespace plait::ir
