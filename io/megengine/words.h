// A node of ours in MegEngine's words, and the words of our own that stand where it has none.
#pragma once

#include <string_view>

#include "io/megengine/fields.h"
#include "ir/graph.h"
#include "ops/op.h"

namespace plait::io::megengine {

// Keys of an operator's `extra` that MegEngine does not have.
inline constexpr std::string_view kRole = "role";         // of a state: `buffer`
inline constexpr std::string_view kInit = "init";         // of a state: `normal(std=0.02)`
inline constexpr std::string_view kPath = "path";         // of modules
inline constexpr std::string_view kSource = "source";     // `models/mlp.cpp:20`
inline constexpr std::string_view kOpaque = "opaque";     // an op that Plait lacks too
inline constexpr std::string_view kLeftOut = "left_out";  // operands that are not there, by place

/// Type and parameters of an operator.
struct Word {
  std::string type;
  Json param = Json::Object{};
};

/// MegEngine's word where it means the same; else the op's own name and its attributes as text.
Word word_for(const ir::Graph& graph, const ir::Node& node);

/// Attributes that word_for wrote as text; UserError where one is no attribute value.
ir::Attrs own_attrs(const Json& param);
/// Empty where the document says none: it has no lines of its own.
ir::Source source_of(const Operator& op);
std::string path_of(const Operator& op);
bool is_opaque(const Operator& op);

}  // namespace plait::io::megengine
