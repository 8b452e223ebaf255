// The programs of a run, kept in its folder: a resumed run computes with the same kernels in the
// same order, whatever a newer plan would choose.
#pragma once

#include <string>
#include <vector>

#include "run/session.h"
#include "train/run_folder.h"

namespace plait::train {

/// What may run: a request without feeds, and the target it is compiled for.
struct Wanted {
  const RunRequest& request;
  const Target& target;
};

/// Gives the session the folder's program (GRAPH.plan) where it was made from the same graph,
/// target and options; otherwise compiles one and keeps it. Notes say why a kept one is not used,
/// and when it is one of another build of Plait.
void load_program(Session& session, const Wanted& wanted, RunFolder& folder,
                  std::vector<std::string>& notes);

}  // namespace plait::train
