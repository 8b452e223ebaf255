// Printing and parsing as inverses over random packages; texts cut short and texts with changed
// bytes, which are read or refused but never do anything else.
#include <gtest/gtest.h>

#include <chrono>

#include "ir/text.h"
#include "ir/verify.h"
#include "tests/ir/random_graph.h"
#include "tests/ir/same_graph.h"

namespace plait::ir {
namespace {

/// True when the text parses; false on a UserError; any other exception fails the test.
bool parses(const std::string& text) {
  try {
    const std::string printed = print(parse(text));
    EXPECT_EQ(print(parse(printed)), printed) << text;
    return true;
  } catch (const UserError&) {
    return false;
  } catch (const std::exception& e) {
    ADD_FAILURE() << "not a UserError: " << e.what() << "\nfrom:\n" << text;
    return false;
  }
}

TEST(TextProperty, RandomPackagesRoundTrip) {
  RandomGraphs random(1);
  int graphs = 0, nodes = 0;
  for (int i = 0; i < 1500; ++i) {
    const Package package = random.package();
    ASSERT_NO_THROW(verify(package));
    const std::string text = print(package);
    Package read;
    ASSERT_NO_THROW(read = parse(text)) << text;
    ASSERT_EQ(print(read), text);
    ASSERT_EQ(read.graphs.size(), package.graphs.size());
    for (std::size_t g = 0; g < read.graphs.size(); ++g) {
      ASSERT_EQ(difference(package.graphs[g], read.graphs[g]), "") << text;
      ASSERT_EQ(print(parse_graph(print(package.graphs[g]))), print(package.graphs[g]));
      ++graphs;
      nodes += static_cast<int>(read.graphs[g].nodes.size());
    }
  }
  EXPECT_GT(graphs, 1000);
  EXPECT_GT(nodes, 4000);
}

TEST(TextProperty, DifferencesAreSeen) {
  const char* const text =
      "graph g(x: f32[2]) {\n  %a = f(x, n=1) : f32[2] @ p (s:1)\n  return y = %a\n}\n";
  const Graph g = parse_graph(text);
  auto changed = [&](std::string from, std::string to) {
    std::string other = text;
    other.replace(other.find(from), from.size(), to);
    return difference(g, parse_graph(other));
  };
  EXPECT_EQ(difference(g, parse_graph(text)), "");
  EXPECT_EQ(changed("graph g", "graph h"), "name");
  EXPECT_EQ(changed("f32[2])", "f32[3])"), "type of x");
  EXPECT_EQ(changed("f(x", "f(_"), "node 0: inputs");
  EXPECT_EQ(changed("n=1", "n=1.0"), "node 0: attrs");
  EXPECT_EQ(changed("s:1", "s:2"), "node 0: source");
  EXPECT_EQ(changed("@ p", "@ q"), "node 0: path");
  EXPECT_EQ(changed("y =", "z ="), "name of fetch 0");
  EXPECT_EQ(changed("= %a", "= x"), "fetch 0");
}

TEST(TextProperty, EveryPrefixIsReadOrRefused) {
  RandomGraphs random(3);
  int read = 0, refused = 0;
  for (int i = 0; i < 12; ++i) {
    const std::string text = print(random.package());
    for (std::size_t n = 0; n <= text.size(); ++n) {
      ++(parses(text.substr(0, n)) ? read : refused);
    }
  }
  EXPECT_GT(read, 20);
  EXPECT_GT(refused, 1000);
}

TEST(TextProperty, ChangedBytesAreReadOrRefused) {
  RandomGraphs random(4);
  const std::string alphabet = "abfx019%_=:,.()[]{}@#\"\\+-*/ \n\t\r~\xff" + std::string(1, '\0');
  const auto start = std::chrono::steady_clock::now();
  int read = 0, refused = 0;
  for (int i = 0; i < 400; ++i) {
    const std::string text = print(random.package());
    if (text.empty()) continue;
    for (int k = 0; k < 20; ++k) {
      std::string changed = text;
      for (int m = random.below(3); m >= 0; --m) {
        const auto at = static_cast<std::size_t>(random.below(static_cast<int>(changed.size())));
        const char c =
            alphabet[static_cast<std::size_t>(random.below(static_cast<int>(alphabet.size())))];
        switch (random.below(4)) {
          case 0:
            changed[at] = c;
            break;
          case 1:
            changed.insert(at, 1, c);
            break;
          case 2:
            changed.erase(at, 1 + static_cast<std::size_t>(random.below(4)));
            break;
          default:
            changed.insert(at, changed.substr(at / 2, 12));
            break;
        }
        if (changed.empty()) changed = " ";
      }
      ++(parses(changed) ? read : refused);
    }
    if (std::chrono::steady_clock::now() - start > std::chrono::seconds(60)) break;
  }
  EXPECT_GT(read, 100);
  EXPECT_GT(refused, 500);
}

/// Broken ids must be refused, not followed.
TEST(TextProperty, BrokenGraphsAreVerifiedSafely) {
  RandomGraphs random(5);
  int refused = 0;
  for (int i = 0; i < 1000; ++i) {
    Package package = random.package();
    for (Graph& g : package.graphs) {
      if (g.nodes.empty()) continue;
      const ValueId id = random.below(40) - 5;
      Node& n = g.nodes[static_cast<std::size_t>(random.below(static_cast<int>(g.nodes.size())))];
      switch (random.below(6)) {
        case 0:
          n.inputs.push_back(id);
          break;
        case 1:
          n.outputs.push_back(id);
          break;
        case 2:
          n.outputs[0] = id;
          break;
        case 3:
          g.feeds.push_back(id);
          break;
        case 4:
          g.values.back().producer = id;
          break;
        default:
          g.fetches.push_back({"broken", id});
          break;
      }
    }
    try {
      verify(package);
      EXPECT_NO_THROW(print(package));
    } catch (const UserError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 300);
}

}  // namespace
}  // namespace plait::ir
