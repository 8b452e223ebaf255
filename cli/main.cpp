// plait: see cli/program.h.
#include <algorithm>

#include "cli/program.h"

int main(int argc, char** argv) {
  return plait::cli::run_program({argv + std::min(argc, 1), argv + argc});
}
