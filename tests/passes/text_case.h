// Passes tested as text in, text out: whole graphs, blanks as they come.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "ir/text.h"
#include "passes/dead.h"
#include "passes/pipeline.h"
#include "tests/raises.h"

namespace plait::test {

/// The graph as the printer writes it.
inline std::string normal(std::string_view text) { return ir::print(ir::parse_graph(text)); }

using PassFn = ir::Graph (*)(const ir::Graph&, DecisionLog&);

/// The pass turns `before` into `after`, and says what it did: `node: what: why` per line.
inline void expect_pass(PassFn pass, std::string_view before, std::string_view after,
                        std::string_view said) {
  DecisionLog log;
  EXPECT_EQ(ir::print(pass(ir::parse_graph(before), log)), normal(after));
  std::string lines;
  for (const LogEntry& e : log) lines += str(e.node, ": ", e.what, ": ", e.why, "\n");
  EXPECT_EQ(lines, said);
}

}  // namespace plait::test
