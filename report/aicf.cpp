// Facts and findings of the document.
#include "report/aicf.h"

namespace plait::report {

Page of_aicf(const io::aicf::Record&, const io::Import&) { return {}; }

}  // namespace plait::report
