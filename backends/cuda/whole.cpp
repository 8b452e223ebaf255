// The text of a whole program and its one launch. Words: runs, the number of ranges, three words
// for each of kRanges ranges (address, place in the image, bytes), then the words of all calls, in
// which an address is a place in the image when there are ranges.
#include "backends/cuda/whole.h"

#include <algorithm>

#include "backends/cuda/code.h"
#include "base/text.h"
#include "codegen/cuda/print.h"

namespace plait::cuda {
namespace {

constexpr std::size_t kRanges = 6, kFirst = 2 + 3 * kRanges;
// Buffers nearer to each other than this are one range.
constexpr std::int64_t kNear = 1024;

struct Range {
  const char* begin;
  const char* end;
  std::int64_t place;  // in the image
};

/// How many words of a call are addresses that may move: all before its error bits.
std::size_t addresses_of(const LoopCall& call) {
  return call.buffers.size() + call.column_sizes.size();
}

int own_bytes(const std::vector<std::vector<Call>>& steps) {
  int most = 0;
  for (const std::vector<Call>& calls : steps) {
    each_generated(calls, [&](const LoopCall& c) { most = std::max(most, c.block_bytes); });
  }
  return static_cast<int>(rounded(most));
}

std::vector<Range> ranges_of(const Memory& memory) {
  std::vector<Range> all;
  for (std::size_t b = 0; b < memory.buffers.size(); ++b) {
    all.push_back({memory.buffers[b], memory.buffers[b] + memory.bytes[b], 0});
  }
  if (memory.shared_bytes > 0) {
    all.push_back({memory.shared, memory.shared + memory.shared_bytes, 0});
  }
  std::sort(all.begin(), all.end(), [](const Range& a, const Range& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
  });
  std::vector<Range> merged;
  for (const Range& r : all) {
    if (!merged.empty() && r.begin - merged.back().end < kNear) {
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

/// Copies of 16 bytes between device memory and the image.
std::string copy_text(bool in) {
  return str("  for (pl_word r = 0; r < w.v[1]; ++r) {\n",
             "    char* const far = (char*)w.v[2 + 3 * r];\n",
             "    char* const near = image + w.v[3 + 3 * r];\n",
             "    for (int64_t i = threadIdx.x * 16; i < (int64_t)w.v[4 + 3 * r]; i += ",
             16 * codegen::cuda::kThreads, ") pl_move<16>((uint8_t*)(", in ? "near" : "far",
             " + i), (const uint8_t*)(", in ? "far" : "near", " + i));\n  }\n");
}

/// Functions without what they assume of addresses: here these are of shared memory.
std::string functions_text(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) {
    for (const std::string& line : split(text, '\n')) {
      if (line.find("__isGlobal") == std::string::npos) out += line + "\n";
    }
  }
  return out;
}

}  // namespace

std::string whole_text(const std::vector<std::vector<Call>>& steps,
                       const std::vector<std::string>& texts) {
  std::string words, bodies;
  std::size_t word = 0;
  const auto add = [&](const LoopCall& call, const char* stage, std::int64_t blocks) {
    // Blocks of one call do not read what others of it write; those with shared memory end with a
    // barrier of their own.
    const std::string body = str(call.function.name, stage, "(v + ", word, ", ");
    bodies += blocks == 1 ? str("    ", body, "0);\n")
                          : str("    for (int64_t b = 0; b < ", blocks, "; ++b) ", body, "b);\n");
  };
  for (const std::vector<Call>& calls : steps) {
    each_generated(calls, [&](const LoopCall& call) {
      add(call, "_body", call.rows.value());
      if (!call.finish_rows.is(0)) {
        bodies += "    __syncthreads();\n";
        add(call, "_finish_body", call.finish_rows.value());
      }
      for (std::size_t i = 0; i < word_count(call); ++i) {
        words += str("  v[", word + i, "] = w.v[", kFirst + word + i, "]",
                     i < addresses_of(call) ? " + base" : "", ";\n");
      }
      word += word_count(call);
    });
    bodies += "    __syncthreads();\n";
  }
  return str(functions_text(texts), "extern \"C\" __global__ void __launch_bounds__(",
             codegen::cuda::kThreads, ") plait_whole(const pl_words<", kFirst + word, "> w) {\n",
             "  char* const image = (char*)pl_dynamic + ", own_bytes(steps), ";\n",
             "  const pl_word base = w.v[1] > 0 ? (pl_word)image : 0;\n", "  pl_word v[",
             std::max<std::size_t>(1, word), "];\n", words, copy_text(true),
             "  __syncthreads();\n  for (pl_word run = 0; run < w.v[0]; ++run) {\n", bodies,
             "  }\n", copy_text(false), "}\n");
}

Launch whole_launch(const std::vector<std::vector<Call>>& steps, const std::vector<Launch>& calls,
                    const Memory& memory, int most_block_bytes) {
  Launch out;
  out.threads = codegen::cuda::kThreads;
  out.block_bytes = own_bytes(steps);
  std::vector<Range> ranges = ranges_of(memory);
  const std::int64_t image =
      ranges.empty() ? 0 : ranges.back().place + rounded(ranges.back().end - ranges.back().begin);
  if (ranges.size() > kRanges || out.block_bytes + image > most_block_bytes) ranges.clear();
  if (!ranges.empty()) out.block_bytes += static_cast<int>(image);
  out.words.assign(kFirst, 0);
  out.words[0] = 1;
  out.words[1] = ranges.size();
  for (std::size_t r = 0; r < ranges.size(); ++r) {
    out.words[2 + 3 * r] = reinterpret_cast<Word>(ranges[r].begin);
    out.words[3 + 3 * r] = static_cast<Word>(ranges[r].place);
    out.words[4 + 3 * r] = static_cast<Word>(ranges[r].end - ranges[r].begin);
  }
  std::size_t next = 0;
  for (const std::vector<Call>& step : steps) {
    each_generated(step, [&](const LoopCall& call) {
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
  }
  return out;
}

}  // namespace plait::cuda
