// The page of a document of this format.
#pragma once

#include "io/import.h"
#include "io/oneflow/record.h"
#include "report/page.h"

namespace plait::report {

/// What the document says, what follows from it, and what is wrong with it.
Page of_oneflow(const io::oneflow::Record& record, const io::Import& import);

}  // namespace plait::report
