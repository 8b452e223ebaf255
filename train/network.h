// The graphs of a run: those of a named model, or made of a file's graphs (model.file), whose loss
// is differentiated and followed by the config's optimizer.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"
#include "train/config.h"

namespace plait::train {

/// What a run's folder keeps of model.file.
struct NetworkFile {
  std::string text;                // graph `train`, and `eval` where the file has one (text form)
  std::vector<std::string> notes;  // for people
};

/// Reads model.file: feeds get the names that the data gives, sizes their numbers; only the batch
/// may keep a name. UserError, with the file's name, when it has no scalar loss, or when its feeds
/// are not batches of one size.
NetworkFile read_network(const Config& config);

/// A NetworkFile's text as a run's folder keeps it. UserError, with the path and what to do, where it
/// no longer holds the graphs of a step.
std::string read_kept_network(const std::string& path, const std::string& original);

/// Whether a NetworkFile's text leaves the batch open.
bool has_open_batch(const std::string& network);

/// Graphs `train` and `eval` for the config's batch; `network` is a NetworkFile's text, and not
/// looked at for named models. Without a graph `eval` of its own, a file's is evaluated by its
/// training graph, with dropout left out.
ir::Package build_package(const Config& config, const std::string& network);

/// The smallest extent that whole numbers of any feed index; 0 where they index nothing.
std::int64_t index_limit(const ir::Graph& graph);

}  // namespace plait::train
