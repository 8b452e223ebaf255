// The sections of the log that are single lines: configuration, modules, passes, memory, training.
// Each function looks at the current line and takes it when it is one of its own.
#pragma once

#include "io/lines.h"
#include "io/oneflow/record.h"
#include "io/oneflow/words.h"

namespace plait::io::oneflow {

/// `[08/24 02:43:17 libai]: message` -> time, message.
struct LibaiLine {
  std::string_view time, logger, message;
};
std::optional<LibaiLine> libai_line_of(std::string_view line);

/// `Rank of current process`, `Auto-scaling the config`; false for other messages.
bool read_config_line(const LibaiLine& line, const Lines& lines, Config& config);
/// `data has 99621832 tokens, 6064 unique.`, anywhere in the line.
bool read_data_line(const Lines& lines, std::vector<Data>& data);
/// The printed model below `Model:`, to the `)` that closes it.
std::vector<Module> read_modules(Lines& lines);
/// ` eta: ... iteration: 19/10000 ... lr: 8.00e-04`
bool read_train_line(const LibaiLine& line, const Lines& lines, std::vector<TrainLine>& training);

/// `start compiling with pass pass_cnt_0-Name`, `finish compiling ...`
bool read_pass_line(const LogLine& line, const Lines& lines, std::vector<Pass>& passes);
/// ` Graph name ... needs to allocate [ ... MiB ]` and the three lines below it.
bool read_memory_line(const Lines& lines, std::vector<RankMemory>& memory);
/// `In Device: 0 Chunk id: 1 MemBlock id: 152 has num = 1219 tensor with mem size = 5585.02`
bool read_block_line(const LogLine& line, const Lines& lines, std::vector<MemoryBlock>& blocks);

/// The configuration, the printed model, the passes, the memory and the training lines as text.
std::string config_text(const Record& record);
std::string modules_text(const std::vector<Module>& modules);
std::string passes_text(const Record& record);
std::string memory_text(const Record& record);
std::string training_text(const Record& record);

}  // namespace plait::io::oneflow
