// Facts and findings of the document.
#include "report/megengine.h"

namespace plait::report {

Page of_megengine(const io::megengine::Record&, const io::Import&) { return {}; }

}  // namespace plait::report
