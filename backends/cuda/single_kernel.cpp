// The text of a whole program and its one launch. Words: runs, bytes of the image (0: there is
// none), bits of the calls before which there must be a barrier because buffers share memory, three
// words for each of kRanges ranges (address, place in the image, bytes), then the words of all
// calls, in which an address is a place in the image where there is one.
#include "backends/cuda/single_kernel.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "backends/cuda/code.h"
#include "base/text.h"
#include "codegen/cuda/print.h"

namespace plait::cuda {
namespace {

constexpr std::size_t kRanges = 8, kMeetings = 4, kFirstMeeting = 2,
                      kFirstRange = kFirstMeeting + kMeetings, kFirst = kFirstRange + 3 * kRanges;

struct Range {
  const char* begin;
  const char* end;
  std::int64_t place;  // in the image
};

/// How many words of a call are addresses that may move: all before its error bits.
std::size_t addresses_of(const LoopCall& call) {
  return call.arguments.size() + call.column_sizes.size();
}

/// Whether a call's warps need no barrier and no shared memory of their block.
bool is_loose(const LoopCall& call) { return call.block_bytes == 0 && call.finish_rows.is(0); }

/// Threads of the block: those of a kernel's blocks where some have to meet.
int threads_of(const program::Program& program) {
  int threads = 512;
  each_generated(program, [&](const LoopCall& call) {
    if (!is_loose(call)) threads = codegen::cuda::kThreads;
  });
  return threads;
}

int own_bytes(const program::Program& program) {
  int most = 0;
  each_generated(program, [&](const LoopCall& c) { most = std::max(most, c.block_bytes); });
  return static_cast<int>(rounded(most));
}

std::vector<Range> ranges_of(const program::Program& program, const Memory& memory) {
  std::vector<Range> all;
  for (std::size_t b = 0; b < memory.buffers.size(); ++b) {
    all.push_back({memory.buffers[b], memory.buffers[b] + program.buffers[b].bytes, 0});
  }
  if (memory.shared_bytes > 0) {
    all.push_back({memory.shared, memory.shared + memory.shared_bytes, 0});
  }
  std::sort(all.begin(), all.end(), [](const Range& a, const Range& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
  });
  std::vector<Range> merged;
  for (const Range& r : all) {
    if (!merged.empty() && r.begin <= merged.back().end) {  // a gap may be nobody's
      merged.back().end = std::max(merged.back().end, r.end);
    } else {
      merged.push_back(r);
    }
  }
  std::int64_t place = 0;
  for (Range& r : merged) {
    r.place = place;
    place += rounded(r.end - r.begin);
  }
  return merged;
}

/// Bits of calls that touch memory of another buffer than was touched there since the bit before.
void set_meetings(const program::Program& program, const Memory& memory, std::vector<Word>& words) {
  using program::BufferId;
  std::set<BufferId> touched;
  const auto begin = [&](BufferId b) { return memory.buffers[b.index()]; };
  const auto end = [&](BufferId b) { return begin(b) + program.buffer(b).bytes; };
  std::size_t number = 0;
  each_generated(program, [&](const LoopCall& call) {
    std::set<BufferId> mine;
    for (const program::Argument& a : call.arguments) mine.insert(program.view(a.view).buffer);
    const bool meets = std::any_of(mine.begin(), mine.end(), [&](BufferId b) {
      return std::any_of(touched.begin(), touched.end(), [&](BufferId t) {
        return t != b && begin(t) < end(b) && begin(b) < end(t);
      });
    });
    if (meets) touched.clear();
    if (meets && number < 64 * kMeetings) {
      words[kFirstMeeting + number / 64] |= Word(1) << number % 64;
    }
    touched.merge(mine);
    ++number;
  });
}

/// Copies of 16 bytes between device memory and the image, of all ranges at once.
std::string copy_text(bool in, int threads) {
  return str(
      "#pragma unroll 1\n  for (int at = threadIdx.x * 16; at < (int)w.v[1]; at += ", 16 * threads,
      ") {\n", "    int r = ", kFirstRange, ";\n#pragma unroll\n    for (int q = ", kFirstRange + 3,
      "; q < ", kFirst, "; q += 3) r = at >= (int)w.v[q + 1] ? q : r;\n",
      "    const int from = at - (int)w.v[r + 1];\n",
      "    uint8_t* const far = (uint8_t*)w.v[r] + from;\n",
      "    uint8_t* const near = (uint8_t*)image + at;\n",
      "    if (from < (int)w.v[r + 2]) pl_move<16>(", in ? "near, far" : "far, near", ");\n  }\n");
}

/// The calls of a program as text, dealt out to the warps of the block.
class Bodies {
 public:
  Bodies(const program::Program& program, int threads) : program_(program), threads_(threads) {}

  void add(const LoopCall& call) {
    meet(call);
    const std::string words = str("v + ", word_, ", ");
    const std::int64_t blocks = call.rows.value();
    if (call.element_threads > 0) {
      text_ += str("    pl_product_whole<", call.function.name, "_p, ", call.element_threads, ">(",
                   words, "threadIdx.x, ", threads_, ");\n");
    } else if (is_loose(call)) {
      // Its warps are independent of each other. The next call begins with the next warp.
      const std::int64_t warps = threads_ / 32, each = call.threads / 32, all = blocks * each;
      text_ += str("    for (int u = (warp + ", (warps - turn_) % warps, ") % ", warps, "; u < ",
                   all, "; u += ", warps, ") ", call.function.name, "_body(", words, "u / ", each,
                   ", u % ", each, " * 32 + threadIdx.x % 32);\n");
      turn_ = (turn_ + all) % warps;
    } else {
      // Blocks of one call do not read what others of it write; they end with a barrier.
      add_blocks(call.function.name + "_body(" + words, blocks);
      if (!call.finish_rows.is(0)) {
        text_ += "    __syncthreads();\n";
        add_blocks(call.function.name + "_finish_body(" + words, call.finish_rows.value());
      }
    }
    word_ += word_count(call);
    ++number_;
  }

  const std::string& text() const { return text_; }

 private:
  void add_blocks(const std::string& call, std::int64_t blocks) {
    text_ += blocks == 1
                 ? str("    ", call, "0, threadIdx.x);\n")
                 : str("    for (int b = 0; b < ", blocks, "; ++b) ", call, "b, threadIdx.x);\n");
  }

  /// A barrier where the call touches what was written since the last one, or writes what was
  /// touched; buffers that share memory are the launch's to know.
  void meet(const LoopCall& call) {
    std::map<program::BufferId, bool> touches;  // whether it is written
    bool must = false;
    for (const program::Argument& a : call.arguments) {
      const program::BufferId buffer = program_.view(a.view).buffer;
      bool& written = touches[buffer];
      written |= a.access == program::Access::kWrite;
      const auto before = touched_.find(buffer);
      must |= before != touched_.end() && (before->second || written);
    }
    must |= !call.column_sizes.empty() || number_ >= 64 * kMeetings;
    if (number_ > 0) {
      text_ += must ? "    __syncthreads();\n"
                    : str("    if (w.v[", kFirstMeeting + number_ / 64, "] >> ", number_ % 64,
                          " & 1) __syncthreads();\n");
    }
    if (must) touched_.clear();
    for (const auto& [buffer, written] : touches) touched_[buffer] |= written;
  }

  const program::Program& program_;
  int threads_;
  std::map<program::BufferId, bool> touched_;  // since the last barrier
  std::size_t word_ = 0, number_ = 0;
  std::int64_t turn_ = 0;  // the warp that the next call begins with
  std::string text_;
};

/// The words of all calls: addresses in the image or in the device's memory, sizes as numbers.
std::string words_text(const program::Program& program, std::size_t& word) {
  std::string text;
  each_generated(program, [&](const LoopCall& call) {
    const std::vector<Dim>& sizes = call.function.parameters;
    const std::size_t first_size = word_count(call) - sizes.size();
    for (std::size_t i = 0; i < word_count(call); ++i, ++word) {
      const std::string given = str("w.v[", kFirst + word, "]");
      text += str("  v[", word, "] = ",
                  i >= first_size          ? str(sizes[i - first_size].value(), "ULL")
                  : i < addresses_of(call) ? str("NEAR ? (pl_word)(image + ", given, ") : ", given)
                                           : given,
                  ";\n");
    }
  });
  return text;
}

}  // namespace

std::string single_kernel_text(const program::Program& program) {
  const int threads = threads_of(program);
  Bodies bodies(program, threads);
  each_generated(program, [&](const LoopCall& call) { bodies.add(call); });
  std::size_t word = 0;
  const std::string words = words_text(program, word);
  const std::string kind = str("pl_words<", kFirst + word, ">");
  return str("template <bool NEAR>\n__device__ __forceinline__ void ", "plait_runs(const ", kind,
             "& w) {\n", "  char* const image = (char*)pl_dynamic + ", own_bytes(program), ";\n",
             "  const int warp = threadIdx.x / 32;\n  pl_word v[", std::max<std::size_t>(1, word),
             "];\n", words, copy_text(true, threads),
             "  __syncthreads();\n  for (pl_word run = 0; run < w.v[0]; ++run) {\n", bodies.text(),
             "    __syncthreads();\n  }\n", copy_text(false, threads), "}\n",
             "extern \"C\" __global__ void __launch_bounds__(", threads, ") ",
             program::kSingleKernel, "(const ", kind,
             " w) {\n  if (w.v[1] > 0) {\n    plait_runs<true>(w);\n  } else {\n",
             "    plait_runs<false>(w);\n  }\n}\n");
}

Launch single_kernel_launch(const program::Program& program, const std::vector<Launch>& calls,
                            const Memory& memory, int most_block_bytes) {
  Launch out;
  out.threads = threads_of(program);
  out.block_bytes = own_bytes(program);
  std::vector<Range> ranges = ranges_of(program, memory);
  const std::int64_t image =
      ranges.empty() ? 0 : ranges.back().place + rounded(ranges.back().end - ranges.back().begin);
  if (ranges.size() > kRanges || out.block_bytes + image > most_block_bytes) ranges.clear();
  if (!ranges.empty()) out.block_bytes += static_cast<int>(image);
  out.words.assign(kFirst, 0);
  out.words[0] = 1;
  out.words[1] = ranges.empty() ? 0 : static_cast<Word>(image);
  set_meetings(program, memory, out.words);
  for (std::size_t r = ranges.size(); r < kRanges; ++r) {
    out.words[kFirstRange + 3 * r + 1] = std::numeric_limits<std::int32_t>::max();
  }
  for (std::size_t r = 0; r < ranges.size(); ++r) {
    Word* const words = &out.words[kFirstRange + 3 * r];
    words[0] = reinterpret_cast<Word>(ranges[r].begin);
    words[1] = static_cast<Word>(ranges[r].place);
    words[2] = static_cast<Word>(ranges[r].end - ranges[r].begin);
  }
  std::size_t next = 0;
  each_generated(program, [&](const LoopCall& call) {
    std::vector<Word> words = calls[next++].words;
    for (std::size_t i = 0; i < addresses_of(call) && !ranges.empty(); ++i) {
      const char* address = reinterpret_cast<const char*>(words[i]);
      for (const Range& r : ranges) {
        if (address < r.begin || address > r.end) continue;
        words[i] = static_cast<Word>(r.place + (address - r.begin));
        break;
      }
    }
    out.words.insert(out.words.end(), words.begin(), words.end());
  });
  return out;
}

}  // namespace plait::cuda
