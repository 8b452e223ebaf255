// The page of whatever document was read.
#pragma once

#include "io/document.h"
#include "report/page.h"

namespace plait::report {

Page of_document(const io::Document& document);

}  // namespace plait::report
