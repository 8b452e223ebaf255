// Steps as a table and as JSON.
#include "cli/kernel_trace.h"

#include "base/error.h"
#include "base/text.h"
#include "cli/buffers.h"
#include "cli/output.h"
#include "profile/profile.h"

namespace plait::cli {

std::string kernel_trace_text(const program::Program& program) {
  Table table{{"step", "kernel", "name", "module"}, {true, false, false, false}, {}};
  for (std::size_t s = 0; s < program.steps.size(); ++s) {
    const program::Step& step = program.steps[s];
    table.rows.push_back({str(s), profile::short_id(step.kernel), "%" + step.name,
                          step.path.empty() ? "-" : step.path});
  }
  return str("\n", counted(program.steps.size(), "step", "steps"), " of ",
             counted(static_cast<std::size_t>(kernel_count(program)), "kernel", "kernels"),
             program.single_kernel ? ", run as one kernel" : ", run in this order", "\n",
             table.text());
}

Json kernel_trace_json(const program::Program& program) {
  Json list = Json::array();
  for (std::size_t s = 0; s < program.steps.size(); ++s) {
    const program::Step& step = program.steps[s];
    list.push_back({{"step", s},
                    {"kernel", step.kernel},
                    {"kind", step.kind},
                    {"name", step.name},
                    {"path", step.path},
                    {"nodes", step.nodes}});
  }
  return list;
}

void tell_kernels(const program::Program& program, bool json, Json& result) {
  if (!json) return print(kernel_trace_text(program));
  result["kernels"] = kernel_trace_json(program);
  result["one_function"] = program.single_kernel;
}

}  // namespace plait::cli
