// The programs of a run, kept in its folder: a resumed run computes with the same kernels in the
// same order. What lies in the folder is never run: the program is planned again from the graph by
// the measurements kept there, and must come out the same.
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

/// Gives the session a program like the folder's (GRAPH.plan) where that was made from the same
/// graph, target and options; otherwise compiles one and keeps it. Notes say why a kept one is not
/// followed, and when it is one of another build of Plait. UserError when it is of this build and
/// not what the graph gives: somebody changed it.
void load_program(Session& session, const Wanted& wanted, RunFolder& folder,
                  std::vector<std::string>& notes);

}  // namespace plait::train
