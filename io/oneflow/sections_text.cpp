// Printing the sections of single lines.
#include <algorithm>

#include "base/text.h"
#include "io/oneflow/sections.h"

namespace plait::io::oneflow {
namespace {

/// For lines that say nothing about time.
constexpr std::string_view kLogTime = "I00000000 00:00:00.000000";
constexpr std::string_view kLibaiTime = "[00/00 00:00:00 libai]: ";

std::string size_text(double size) { return str("[ ", real_text(size), " MiB ]"); }

}  // namespace

std::string config_text(const Record& record) {
  std::string out;
  const Config& c = record.config;
  if (c.rank && c.world_size) {
    out += str(kLibaiTime, "Rank of current process: ", *c.rank, ". World size: ", *c.world_size,
               "\n");
  }
  if (!c.file.empty() || !c.lines.empty()) {
    out += str(kLibaiTime, "Contents of args.config_file=", c.file, ":\n");
    for (const std::string& line : c.lines) out += line + "\n";
    out += str(kLibaiTime, "\n");
  }
  for (const Data& d : record.data) {
    out += str("data has ", d.tokens, " tokens, ", d.unique, " unique.\n");
  }
  if (c.train_iter) {
    out += str(kLibaiTime, "Auto-scaling the config to train.train_iter=", *c.train_iter, "\n");
  }
  return out;
}

std::string modules_text(const std::vector<Module>& modules) {
  if (modules.empty()) return "";
  std::string out = str(kLibaiTime, "Model:\n");
  const auto indent = [](int depth) {
    return std::string(2 * static_cast<std::size_t>(depth), ' ');
  };
  int open = 0;
  for (std::size_t i = 0; i < modules.size(); ++i) {
    const Module& m = modules[i];
    while (open > m.depth) out += indent(--open) + ")\n";
    const bool opens = i + 1 < modules.size() && modules[i + 1].depth > m.depth;
    out += indent(m.depth) + (i == 0 ? "" : "(" + m.name + "): ") + m.type + "(";
    out += opens ? "\n" : m.arguments + ")\n";
    if (opens) ++open;
  }
  while (open > 0) out += indent(--open) + ")\n";
  return out;
}

std::string passes_text(const Record& record) {
  std::string out;
  const std::string& graph = record.graph;
  for (std::size_t i = 0; i < record.half_ops.size(); ++i) {
    if (i == 0) out += str(kLogTime, " 0 amp:0] WhiteSet include: ");
    out += record.half_ops[i] + ",\n";
  }
  for (const Pass& p : record.passes) {
    const std::string name = str(" compiling with pass pass_cnt_", p.number, "-", p.name, "\n");
    out += str(stamp_text(p.start), " 0 passes:0] ", graph, " start", name);
    if (p.finish) out += str(stamp_text(*p.finish), " 0 passes:0] ", graph, " finish", name);
  }
  return out;
}

std::string memory_text(const Record& record) {
  std::string out;
  if (record.compile_seconds) {
    out += str(kLogTime, " 0 plan:0] Graph name: ", record.graph,
               " compile time: ", real_text(*record.compile_seconds), " seconds.\n");
  }
  for (const RankMemory& m : record.memory) {
    out += str(" Graph name ", record.graph, " in Rank: ", m.rank, ", Device: ", m.device,
               " needs to allocate ", size_text(m.total), " device memory.\n");
    out += str("   In general, Chunk id: ", m.chunk_id, "  memory is ", size_text(m.chunk),
               " with mem_block_num = ", m.chunk_blocks, "\n");
    out += str("        Unreused memory not eager var is  ", size_text(m.unshared),
               " with mem_block_num = ", m.unshared_blocks, "\n");
    out += str("        Eager Variable Tensor total memory is ", size_text(m.states),
               " with mem_block_num = ", m.state_blocks, "\n");
  }
  for (const MemoryBlock& b : record.blocks) {
    out += str(kLogTime, " 0 plan:0]      In Device: ", b.device, " Chunk id: ", b.chunk,
               " MemBlock id: ", b.id, " has num = ", b.tensors,
               " tensor with mem size = ", real_text(b.size), "\n");
  }
  return out;
}

std::string training_text(const Record& record) {
  std::string out;
  for (const TrainLine& t : record.training) {
    out += str("[", t.time, " lb.utils.events]:  ", t.eta.empty() ? "" : "eta: " + t.eta + "  ",
               "iteration: ", t.iteration, "/", t.iterations, "  consumed_samples: ", t.samples,
               "  total_loss: ", t.loss ? real_text(*t.loss) : "nan",
               "  time: ", real_text(t.seconds), " s/iter  data_time: ", real_text(t.data_seconds),
               " s/iter total_throughput: ", real_text(t.throughput),
               " samples/s lr: ", real_text(t.lr), "\n");
  }
  for (const std::string& line : record.ending) {
    const bool signal = line.find("received SIG") != std::string::npos;
    out += signal ? line + "\n" : str("F00000000 00:00:00.000000 0 end:0] ", line, "\n");
  }
  return out;
}

}  // namespace plait::io::oneflow
