// Facts and findings of the document.
#include "report/chainer.h"

namespace plait::report {

Page of_chainer(const io::chainer::Record&, const io::Import&) { return {}; }

}  // namespace plait::report
