// One simplification as text: a graph before and after, by the rule that makes the difference.
#pragma once

#include <span>

#include "passes/simplify.h"
#include "text_case.h"

namespace plait::test {

struct RuleCase {
  std::string_view rule;    // that must fire; empty: none may
  std::string_view feeds;   // `x: f32[3]`
  std::string_view before;  // nodes and return
  std::string_view after;   // without what is dead; empty: as before
};

std::span<const RuleCase> value_cases();
std::span<const RuleCase> shape_cases();

}  // namespace plait::test
