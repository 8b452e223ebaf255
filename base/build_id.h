// What tells this build of the program from every other one: kept plans are only good for the code
// that made them.
#pragma once

#include <string>

namespace plait {

/// The linker's build id, or else when and how large the file was written; empty when neither is
/// known, and then nothing that depends on the code may be kept.
const std::string& build_id();

}  // namespace plait
