// Facts and findings of the document.
#include "report/oneflow.h"

namespace plait::report {

Page of_oneflow(const io::oneflow::Record&, const io::Import&) { return {}; }

}  // namespace plait::report
