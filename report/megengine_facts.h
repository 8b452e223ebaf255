// What follows from a MegEngine profile, before it is put into words: times by type, memory by
// lifetime, and who waited for whom.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "io/megengine/index.h"
#include "report/memory.h"
#include "report/page.h"

namespace plait::report {

/// Sums over the operators of one type that were launched.
struct TypeSums {
  std::int64_t count = 0, operations = 0, bytes = 0;
  double seconds = 0;  // of kernels
};
std::map<std::string, TypeSums> sums_by_type(const io::megengine::Index& index);

struct DeviceTimes {
  double span = 0;                           // from the first start to the last end
  double busy = 0;                           // of the span, a kernel running on some stream
  double idle = 0;                           // of the span, no kernel running
  double summed = 0;                         // of kernels, over all streams
  std::vector<std::pair<double, int>> gaps;  // seconds idle before an operator, in order of time
  int timed = 0, untimed = 0;                // launched operators with and without times
};
DeviceTimes device_times(const io::megengine::Index& index);

/// Seconds from start to end, over all threads.
double host_seconds(const io::megengine::Timing& timing);
/// Of all operators.
double host_seconds(const io::megengine::Index& index);

/// What the vars of the run need: constants, results (views own nothing) and scratch apart.
struct RunMemory {
  std::int64_t weights = 0;
  std::vector<Buffer> results, scratch;
  int unknown = 0;  // vars that are read and whose size is not recorded
};
RunMemory run_memory(const io::megengine::Index& index);

/// Bytes at the addresses of the last run: counted once where vars share them, and from the lowest
/// to the highest.
struct Addresses {
  std::int64_t distinct = 0, span = 0;
  int vars = 0;
};
Addresses addresses_of_results(const io::megengine::Index& index);

/// How an operator is called on the page.
std::string operator_name(const io::megengine::Operator& op);
bool is_elementwise(const io::megengine::Operator& op);

/// A finding where vars are allocated while the graph runs: which, and the vars without a shape
/// that they wait for.
void add_dynamic_memory(Page& page, const io::megengine::Index& index);
/// Appends what the user did not know.
void add_megengine_findings(Page& page, const io::megengine::Index& index);

}  // namespace plait::report
