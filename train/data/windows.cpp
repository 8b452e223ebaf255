// Windows into tokens.
#include "train/data/windows.h"

#include <algorithm>

#include "base/error.h"
#include "base/hash.h"
#include "base/text.h"

namespace plait::train {

Windows::Windows(TokenRange range, std::int64_t context, bool one_chunk)
    : range_(std::move(range)), context_(context) {
  if (context < 1) fail("a context of ", context, " tokens; at least 1 is needed");
  const std::int64_t count = range_.end - range_.begin;
  if (count < context + 1) {
    fail(range_.name, ": ", with_commas(count), " tokens; a context of ", context, " needs ",
         context + 1, " at least");
  }
  if (one_chunk) range_.end = range_.begin + context + 1;
  size_ = range_.end - range_.begin - context;
}

std::vector<FeedType> Windows::feeds() const {
  return {{"idx", DType::i64, {context_}}, {"targets", DType::i64, {context_}}};
}

void Windows::read(std::int64_t sample, std::int64_t row, Batch& into) const {
  check(sample >= 0 && sample < size_, "window ", sample, " of ", size_);
  const std::int64_t begin = range_.begin + sample;
  range_.tokens->copy(begin, into.row<std::int64_t>("idx", row));
  range_.tokens->copy(begin + 1, into.row<std::int64_t>("targets", row));
}

std::string Windows::describe() const {
  return str(range_.name, ": ", with_commas(range_.end - range_.begin), " tokens of ",
             with_commas(range_.tokens->vocab()), ", windows of ", context_);
}

std::uint64_t Windows::fingerprint() const {
  return fnv1a64(str(range_.tokens->hash(range_.begin, range_.end), " ", context_));
}

TokenSplit split_tokens(const TokenRange& whole, double share, std::int64_t context) {
  check(share > 0 && share < 1, "a validation share of ", share);
  const std::int64_t count = whole.end - whole.begin;
  const auto held_out = static_cast<std::int64_t>(share * static_cast<double>(count));
  if (std::min(held_out, count - held_out) < context + 1) {
    fail(whole.name, ": ", with_commas(count), " tokens cannot be split: a validation share of ",
         share, " leaves ", with_commas(count - held_out), " and ", with_commas(held_out),
         ", a context of ", context, " needs ", context + 1, " of each");
  }
  TokenSplit split{whole, whole};
  split.train.end = split.validation.begin = whole.end - held_out;
  return split;
}

}  // namespace plait::train
