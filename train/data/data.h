// A run's data, in two steps: opened before the model is built (a text says how large the
// vocabulary is), made into sources afterwards (the model says which feeds it has).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "train/data/image_set.h"
#include "train/data/source.h"
#include "train/data/vocabulary.h"
#include "train/data/windows.h"

namespace plait::train {

inline constexpr std::string_view kDataKinds[] = {"text",  "tokens", "images",   "cifar10",
                                                  "mnist", "arrays", "synthetic"};

struct DataSettings {
  std::string kind = "text";                    // one of kDataKinds
  std::vector<std::string> paths{};             // text, tokens, cifar10: some; the others: one
  std::vector<std::string> validation_paths{};  // own data for validation, of the same kind
  double validation = 0;         // share held out where no path is given; 0: no validation
  std::string unit = "byte";     // text: byte or char
  bool one_chunk = false;        // text, tokens: the first window in every row of every batch
  std::int64_t samples = 65536;  // synthetic: in an epoch
  std::uint64_t seed = 0;        // synthetic: of the samples, not of their order
  Normal normal{};               // pictures: empty for what is usual
};

struct Sources {
  std::shared_ptr<const Source> train;
  std::shared_ptr<const Source> validation;  // null when none is asked for
};

class Data {
 public:
  /// Reads texts and tokens whole, lists pictures. `stored` is the vocabulary of a run that goes
  /// on: characters keep their ids. UserError says which file or setting is wrong.
  explicit Data(DataSettings settings, std::optional<Vocabulary> stored = std::nullopt);

  /// Ids or classes in the data; 0 where any number will do (synthetic).
  std::int64_t limit() const;
  /// What makes limit() as large as it is, where one token does: `t.npy: token 9 at position 2`.
  /// Empty for other kinds.
  std::string largest() const;
  /// Of a text; none for the other kinds.
  const std::optional<Vocabulary>& vocabulary() const { return vocabulary_; }

  /// Of pictures: the names of classes, by label.
  std::vector<std::string> classes() const;
  /// What people should know of it: files that were left out.
  std::vector<std::string> notes() const;

  /// For a model with these feeds (feeds_of its training graph) and this vocabulary or number of
  /// classes. UserError when they do not fit the data.
  Sources sources(std::span<const FeedType> feeds, std::int64_t limit) const;

 private:
  void open_text(std::optional<Vocabulary> stored);
  void open_pictures();
  ImageSet open_set(const std::vector<std::string>& paths) const;
  Sources token_sources(std::span<const FeedType> feeds, std::int64_t limit) const;
  Sources picture_sources(std::span<const FeedType> feeds, std::int64_t limit) const;
  Sources array_sources(std::span<const FeedType> feeds) const;
  Sources split(std::shared_ptr<const Source> whole) const;

  DataSettings settings_;
  std::optional<Vocabulary> vocabulary_;
  std::optional<TokenRange> tokens_, validation_tokens_;
  std::shared_ptr<const ImageSet> set_, validation_set_;
};

}  // namespace plait::train
