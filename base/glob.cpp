// Matching patterns by one way back: to behind the last `*`.
#include "base/glob.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"

namespace plait {

bool matches_glob(std::string_view glob, std::string_view name) {
  std::size_t g = 0, n = 0, behind_star = std::string_view::npos, tried = 0;
  while (n < name.size()) {
    if (g < glob.size() && glob[g] == '*') {
      behind_star = ++g;
      tried = n;
    } else if (g < glob.size() && (glob[g] == '?' || glob[g] == name[n])) {
      ++g, ++n;
    } else if (behind_star != std::string_view::npos) {
      g = behind_star;  // the star takes one character more
      n = ++tried;
    } else {
      return false;
    }
  }
  while (g < glob.size() && glob[g] == '*') ++g;
  return g == glob.size();
}

bool matches_any(const std::vector<std::string>& globs, std::string_view name) {
  return std::any_of(globs.begin(), globs.end(),
                     [&](const std::string& glob) { return matches_glob(glob, name); });
}

void check_matches(std::string_view glob, const std::vector<std::string>& names,
                   std::string_view what, std::string_view where) {
  const auto matched = [&](const std::string& name) { return matches_glob(glob, name); };
  if (std::any_of(names.begin(), names.end(), matched)) return;
  fail(where, ": no ", what, " is matched by '", glob, "'.", suggestion(glob, names));
}

}  // namespace plait
