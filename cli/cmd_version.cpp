// plait version
#include "cli/command.h"
#include "cli/output.h"

namespace plait::cli {

constinit const Command kVersion{.name = "version",
                                 .usage = "",
                                 .doc = "prints the version",
                                 .example = "  $ plait version\n  plait " PLAIT_VERSION "\n",
                                 .run = [](const Args&) { print("plait " PLAIT_VERSION "\n"); }};

}  // namespace plait::cli
