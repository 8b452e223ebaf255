// The emulation*.h files as one text, made from them at build time (emulate.cmake).
#pragma once

#include <string_view>

namespace plait::codegen {

std::string_view emulation_text();

}  // namespace plait::codegen
