// The text of codegen/prelude.h and of what it includes, as one C text that needs no include path.
#pragma once

#include <string_view>

namespace plait::codegen {

std::string_view prelude_text();

}  // namespace plait::codegen
