// Runs a fuzz target without a fuzzer: over every file of a folder as it is, cut, with lines
// exchanged and with bytes changed, the same every time. A short version of `make fuzz` for the
// default tests.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "io/file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using Random = std::mt19937_64;

std::size_t below(Random& random, std::size_t limit) { return random() % limit; }

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t end = std::min(text.find('\n', i), text.size() - 1);
    lines.push_back(text.substr(i, end + 1 - i));
    i = end + 1;
  }
  return lines;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line;
  return text;
}

/// Words that break readers: signs, huge numbers, ends of structures.
const char* const kWords[] = {"-1",    "0",    "99999999999999999999",
                              "1e308", "nan",  "null",
                              "{",     "}",    "[",
                              "]",     "\"",   "\n",
                              "\t",    "\xff", "()",
                              "(0)",   "=",    ", ",
                              "true"};

std::string changed(std::string text, Random& random) {
  const std::size_t at = below(random, text.size());
  switch (below(random, 7)) {
    case 0:
      text[at] = static_cast<char>(random());
      return text;
    case 1:
      return text.erase(at, 1 + below(random, 12));
    case 2:
      return text.insert(at, kWords[below(random, std::size(kWords))]);
    case 3: {  // a number for a number
      const std::size_t digit = text.find_first_of("0123456789", at);
      if (digit == std::string::npos) return text;
      std::size_t end = digit;
      while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
      return text.replace(digit, end - digit, kWords[below(random, 4)]);
    }
    case 4: {  // a line twice, or gone, or elsewhere
      std::vector<std::string> lines = lines_of(text);
      const std::size_t from = below(random, lines.size()), to = below(random, lines.size());
      if (random() % 3 == 0) {
        lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(from));
      } else if (random() % 2 == 0) {
        std::swap(lines[from], lines[to]);
      } else {
        const std::string line = lines[from];
        lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(to), line);
      }
      return joined(lines);
    }
    case 5: {  // a piece of it somewhere else
      const std::string piece = text.substr(at, 1 + below(random, 40));
      return text.insert(below(random, text.size()), piece);
    }
    default:
      return text.substr(0, at);
  }
}

long run(const std::string& text) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  return 1;
}

long replay(const std::string& text, int rounds) {
  long runs = run(text);
  if (text.empty()) return runs;
  const std::size_t step = 1 + text.size() / 3000;  // every byte of a small sample
  for (std::size_t cut = 0; cut < text.size(); cut += step) runs += run(text.substr(0, cut));
  Random random(text.size());
  for (int i = 0; i < rounds; ++i) {
    std::string mutant = text;
    const std::size_t changes = 1 + below(random, 3);
    for (std::size_t c = 0; c < changes && !mutant.empty(); ++c) mutant = changed(mutant, random);
    runs += run(mutant);
    std::vector<std::string> lines = lines_of(text);
    if (i % 50 == 0) std::shuffle(lines.begin(), lines.end(), random);
    if (i % 50 == 0) runs += run(joined(lines));
  }
  return runs;
}

}  // namespace

/// replay FOLDER ROUNDS
int main(int argc, char** argv) {
  if (argc != 3) return std::fprintf(stderr, "usage: replay FOLDER ROUNDS\n"), 2;
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(argv[1])) {
    if (entry.is_regular_file()) files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  long runs = 0;
  for (const std::string& file : files)
    runs += replay(plait::io::read_file(file), std::atoi(argv[2]));
  std::printf("%zu files, %ld runs\n", files.size(), runs);
  return files.empty() ? 1 : 0;
}
