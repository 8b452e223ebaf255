// A source of windows into a row of tokens: `context` ids as `idx`, and as `targets` the same row
// one token later.
#pragma once

#include <memory>

#include "train/data/source.h"
#include "train/data/tokens.h"

namespace plait::train {

struct TokenRange {
  std::shared_ptr<const Tokens> tokens;
  std::int64_t begin = 0, end = 0;
  std::string name;  // for messages: the files it comes from
};

class Windows : public Source {
 public:
  /// The range's windows, or its first alone (`one_chunk`: every row of every batch is the same).
  /// UserError when the range is shorter than context + 1.
  Windows(TokenRange range, std::int64_t context, bool one_chunk = false);

  std::vector<FeedType> feeds() const override;
  std::int64_t size() const override { return size_; }
  std::int64_t stride() const override { return size_ == 1 ? 1 : context_; }
  std::int64_t tokens() const override { return context_; }
  void read(std::int64_t sample, std::int64_t row, Batch& into) const override;
  std::string describe() const override;
  std::uint64_t fingerprint() const override;

 private:
  TokenRange range_;
  std::int64_t context_;
  std::int64_t size_;  // places at which a window can begin
};

/// Cuts the last `share` (0 to 1) off for validation; UserError when a part is shorter than
/// context + 1.
struct TokenSplit {
  TokenRange train, validation;
};
TokenSplit split_tokens(const TokenRange& whole, double share, std::int64_t context);

}  // namespace plait::train
