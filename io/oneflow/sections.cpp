// Reading the sections of single lines.
#include "io/oneflow/sections.h"

#include "base/text.h"
#include "io/import.h"

namespace plait::io::oneflow {
namespace {

constexpr int kMaxDepth = 1000;

void check_room(std::size_t count, const Lines& lines) {
  if (count >= static_cast<std::size_t>(kMaxItems)) {
    lines.fail("more than ", with_commas(kMaxItems), " lines of one kind");
  }
}

/// `[ 7990.68 MiB ]`
double read_size(Cursor& in) {
  in.expect("[ ");
  const double size = in.real("a size");
  if (size < 0) in.lines.fail(in.subject, ": a size of ", real_text(size), " is negative");
  in.expect(" MiB ]");
  return size;
}

std::int64_t read_blocks(Cursor& in) {
  in.expect(" with mem_block_num = ");
  return in.integer("a number of blocks");
}

}  // namespace

std::optional<LibaiLine> libai_line_of(std::string_view line) {
  // `[MM/DD HH:MM:SS logger]: `
  if (line.size() < 20 || line[0] != '[' || line[3] != '/' || line[6] != ' ' || line[15] != ' ') {
    return {};
  }
  const std::size_t end = line.find("]: ");
  if (end == std::string_view::npos || end < 16) {
    if (!line.ends_with("]:")) return {};
    return LibaiLine{line.substr(1, 14), line.substr(16, line.size() - 18), ""};
  }
  return LibaiLine{line.substr(1, 14), line.substr(16, end - 16), line.substr(end + 3)};
}

std::string Config::setting(const std::string& name) const {
  std::string value;
  for (const std::string& line : lines) {
    std::string_view text = trim(line);
    if (!text.starts_with(name)) continue;
    text = trim(text.substr(name.size()));
    if (!text.starts_with("=")) continue;
    text = trim(text.substr(1));
    if (const std::size_t comment = text.find(" #"); comment != std::string_view::npos) {
      text = trim(text.substr(0, comment));
    }
    if (text.ends_with(",")) text.remove_suffix(1);
    value = std::string(text);
  }
  return value;
}

bool read_config_line(const LibaiLine& line, const Lines& lines, Config& config) {
  Cursor in{line.message, lines, "the configuration"};
  if (in.take("Rank of current process: ")) {
    config.rank = in.integer("a rank");
    in.expect(". World size: ");
    config.world_size = in.integer("a number of processes", 1);
    return true;
  }
  if (!in.take("Auto-scaling the config to train.train_iter=")) return false;
  config.train_iter = in.integer("a number of iterations");
  return true;
}

bool read_data_line(const Lines& lines, std::vector<Data>& data) {
  const std::size_t at = lines.line().find("data has ");
  if (at == std::string_view::npos || !lines.line().ends_with(" unique.")) return false;
  Cursor in{lines.line().substr(at), lines, "the data"};
  in.expect("data has ");
  Data out;
  out.tokens = in.integer("a number of tokens");
  in.expect(" tokens, ");
  out.unique = in.integer("a number of tokens");
  in.expect(" unique.");
  check_room(data.size(), lines);
  data.push_back(out);
  return true;
}

std::vector<Module> read_modules(Lines& lines) {
  const std::int64_t first = lines.number();
  std::vector<Module> modules;
  int depth = 0;  // open modules
  while (lines.next()) {
    std::string_view text = trim(lines.line());
    if (text == ")") {
      if (--depth == 0) return modules;
      if (depth < 0) break;
      continue;
    }
    Module module;
    module.depth = depth;
    if (text.starts_with("(") && !modules.empty()) {
      Cursor in{text, lines, "the printed model"};
      in.expect("(");
      module.name = std::string(in.until("): "));
      text = in.rest();
    }
    const std::size_t open = text.find('(');
    if (open == 0 || open == std::string_view::npos || (depth == 0 && !modules.empty())) {
      lines.fail("expected a module, `(name): Type(...)`, found ", quoted(text.substr(0, 40)));
    }
    module.type = std::string(text.substr(0, open));
    if (text.ends_with("(")) {
      if (++depth > kMaxDepth) lines.fail("modules are nested deeper than ", kMaxDepth);
    } else {
      if (!text.ends_with(")")) lines.fail("a module must end with '(' or ')'");
      module.arguments = std::string(text.substr(open + 1, text.size() - open - 2));
    }
    check_room(modules.size(), lines);
    modules.push_back(std::move(module));
    if (depth == 0) return modules;
  }
  lines.fail("the printed model that begins at line ", first,
             " is not closed. Is the log cut off?");
}

bool read_train_line(const LibaiLine& line, const Lines& lines, std::vector<TrainLine>& training) {
  if (line.message.find("iteration: ") == std::string_view::npos ||
      line.message.find("total_loss: ") == std::string_view::npos) {
    return false;
  }
  if (!lines.ended()) return true;  // the last line, cut: it says nothing for sure
  Cursor in{line.message, lines, "a training line"};
  TrainLine out;
  out.time = std::string(line.time);
  const auto skip_to = [&](std::string_view key) { in.until(key); };
  if (line.message.find("eta: ") != std::string_view::npos) {
    skip_to("eta: ");
    out.eta = std::string(in.until(" "));
  }
  skip_to("iteration: ");
  out.iteration = in.integer("an iteration");
  in.expect("/");
  out.iterations = in.integer("a number of iterations");
  skip_to("consumed_samples: ");
  out.samples = in.integer("a number of samples");
  skip_to("total_loss: ");
  if (!in.take("nan") && !in.take("inf") && !in.take("-inf")) out.loss = in.real("a loss");
  skip_to(" time: ");
  out.seconds = in.real("seconds");
  skip_to("data_time: ");
  out.data_seconds = in.real("seconds");
  skip_to("total_throughput: ");
  out.throughput = in.real("samples a second");
  skip_to("lr: ");
  out.lr = in.real("a learning rate");
  check_room(training.size(), lines);
  training.push_back(std::move(out));
  return true;
}

bool read_pass_line(const LogLine& line, const Lines& lines, std::vector<Pass>& passes) {
  const bool start = line.message.find(" start compiling with pass ") != std::string_view::npos;
  const bool finish = line.message.find(" finish compiling with pass ") != std::string_view::npos;
  if (!start && !finish) return false;
  if (!lines.ended()) return true;
  Cursor in{line.message, lines, "a compile pass"};
  in.until(" compiling with pass ");
  in.expect("pass_cnt_");
  const std::int64_t number = in.integer("a number");
  in.expect("-");
  const std::string name(trim(in.rest()));
  check_name(lines, name, "a pass");
  if (start) {
    check_room(passes.size(), lines);
    passes.push_back({number, name, line.stamp, std::nullopt});
    return true;
  }
  if (passes.empty() || passes.back().name != name || passes.back().finish) {
    lines.fail("pass ", name, " finishes without having started");
  }
  passes.back().finish = line.stamp;
  return true;
}

bool read_memory_line(const Lines& lines, std::vector<RankMemory>& memory) {
  Cursor in{trim(lines.line()), lines, "memory"};
  if (!lines.ended()) return false;
  if (in.text.starts_with("Graph name ") &&
      in.text.find(" needs to allocate ") != std::string_view::npos) {
    RankMemory out;
    in.until(" in Rank: ");
    out.rank = in.integer("a rank");
    in.expect(", Device: ");
    out.device = in.integer("a device");
    in.expect(" needs to allocate ");
    out.total = read_size(in);
    check_room(memory.size(), lines);
    memory.push_back(out);
    return true;
  }
  if (memory.empty()) return false;
  RankMemory& last = memory.back();
  if (in.take("In general, Chunk id: ")) {
    last.chunk_id = in.integer("a chunk");
    in.expect("  memory is ");
    last.chunk = read_size(in);
    last.chunk_blocks = read_blocks(in);
  } else if (in.take("Unreused memory not eager var is  ")) {
    last.unshared = read_size(in);
    last.unshared_blocks = read_blocks(in);
  } else if (in.take("Eager Variable Tensor total memory is ")) {
    last.states = read_size(in);
    last.state_blocks = read_blocks(in);
  } else {
    return false;
  }
  return true;
}

bool read_block_line(const LogLine& line, const Lines& lines, std::vector<MemoryBlock>& blocks) {
  Cursor in{trim(line.message), lines, "a memory block"};
  if (!in.take("In Device: ")) return false;
  if (!lines.ended()) return true;
  MemoryBlock out;
  out.device = in.integer("a device");
  in.expect(" Chunk id: ");
  out.chunk = in.integer("a chunk");
  in.expect(" MemBlock id: ");
  out.id = in.integer("a block");
  in.expect(" has num = ");
  out.tensors = in.integer("a number of tensors");
  in.expect(" tensor with mem size = ");
  out.size = in.real("a size");
  if (out.size < 0) lines.fail("a memory block of ", real_text(out.size), " is negative");
  check_room(blocks.size(), lines);
  blocks.push_back(out);
  return true;
}

}  // namespace plait::io::oneflow
