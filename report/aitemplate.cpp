// Facts and findings of the document.
#include "report/aitemplate.h"

namespace plait::report {

Page of_aitemplate(const io::aitemplate::Record&, const io::Import&) { return {}; }

}  // namespace plait::report
