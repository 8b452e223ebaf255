// The table of backends.
#include "backends/backends.h"

#include "backends/null/null.h"
#include "backends/ref/ref.h"
#include "base/text.h"

namespace plait {
namespace {

struct Row {
  std::string_view name;
  std::unique_ptr<Backend> (*make)();
};

constexpr Row kBackends[] = {
    {"ref", []() -> std::unique_ptr<Backend> { return std::make_unique<RefBackend>(); }},
    {"null", []() -> std::unique_ptr<Backend> { return std::make_unique<NullBackend>(); }},
};

}  // namespace

std::vector<std::string> backend_names() {
  std::vector<std::string> names;
  for (const Row& row : kBackends) names.emplace_back(row.name);
  return names;
}

std::unique_ptr<Backend> make_backend(std::string_view name) {
  for (const Row& row : kBackends) {
    if (row.name == name) return row.make();
  }
  fail("there is no backend '", name, "' in this build; there are ", join(backend_names(), ", "),
       ".", suggestion(name, backend_names()));
}

}  // namespace plait
