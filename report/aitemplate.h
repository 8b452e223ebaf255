// The page of a document of this format.
#pragma once

#include "io/aitemplate/record.h"
#include "io/import.h"
#include "report/page.h"

namespace plait::report {

/// What the document says, what follows from it, and what is wrong with it.
Page of_aitemplate(const io::aitemplate::Record& record, const io::Import& import);

}  // namespace plait::report
