// The table of backends.
#include "backends/backends.h"

#include "backends/cpu/target.h"
#include "backends/null/target.h"
#include "backends/plugin.h"
#include "backends/ref/target.h"
#include "base/cpus.h"
#include "base/text.h"

namespace plait {
namespace {

/// For the GPU of this machine, or where there is none, for the one that the options name.
std::unique_ptr<Target> make_cuda_planner(const TargetOptions& options) {
  try {
    return make_plugin_target(options);
  } catch (const UserError& e) {
    return make_plugin_planner(options, e.what());
  } catch (const RunError& e) {
    return make_plugin_planner(options, e.what());
  }
}

struct Row {
  std::string_view name;
  std::unique_ptr<Target> (*make_target)(const TargetOptions&);
  std::unique_ptr<Target> (*make_plan_target)(const TargetOptions&) = nullptr;  // another one
};

constexpr Row kBackends[] = {
    {"ref", [](const TargetOptions&) { return make_ref_target(); }},
    {"null", [](const TargetOptions& o) { return make_null_target(o.device); }},
    {"cpu", [](const TargetOptions& o) { return make_cpu_target(o.threads, o.device); }},
    {"cuda", make_plugin_target, make_cuda_planner},
};

const Row& row_of(std::string_view name) {
  for (const Row& row : kBackends) {
    if (row.name == name) return row;
  }
  fail("there is no backend '", name, "' in this build; there are ", join(backend_names(), ", "),
       ".", suggestion(name, backend_names()));
}

}  // namespace

std::vector<std::string> backend_names() {
  std::vector<std::string> names;
  for (const Row& row : kBackends) names.emplace_back(row.name);
  return names;
}

std::unique_ptr<Target> make_target(std::string_view name, const TargetOptions& options) {
  const Row& row = row_of(name);
  if (options.threads < 0 || options.threads > kMostThreads) {
    fail(options.threads, " threads are asked for: give a number from 1 to ", kMostThreads,
         ", or 0 for one per cpu");
  }
  return row.make_target(options);
}

std::unique_ptr<Target> make_plan_target(std::string_view name, const TargetOptions& options) {
  const Row& row = row_of(name);
  return row.make_plan_target ? row.make_plan_target(options) : row.make_target(options);
}

std::unique_ptr<Target> make_planner(std::string_view name, const TargetOptions& options,
                                     const std::string& why) {
  return row_of(name).name == "cuda" ? make_plugin_planner(options, why)
                                     : make_plan_target(name, options);
}

std::unique_ptr<Target> make_target(std::string_view name, int threads) {
  return make_target(name, TargetOptions{.threads = threads});
}

}  // namespace plait
