// Settings to sources.
#include "train/data/data.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "train/data/array_files.h"
#include "train/data/synthetic.h"

namespace plait::train {
namespace {

TokenRange range_of(Tokens tokens, const std::vector<std::string>& paths) {
  auto shared = std::make_shared<const Tokens>(std::move(tokens));
  const std::int64_t size = shared->size();
  return {std::move(shared), 0, size, join(paths, ", ")};
}

void check_vocab(const TokenRange& range, std::int64_t vocab) {
  const std::int64_t at = range.tokens->first_at_least(vocab);
  if (at == range.tokens->size()) return;
  fail(range.name, ": token ", range.tokens->at(at), " at position ", with_commas(at),
       "; the model's vocabulary has ", with_commas(vocab));
}

std::int64_t context_of(std::span<const FeedType> feeds, const std::string& name) {
  const FeedType *idx = find_feed(feeds, "idx"), *targets = find_feed(feeds, "targets");
  const bool fits = feeds.size() == 2 && idx && targets && idx->dtype == DType::i64 &&
                    targets->dtype == DType::i64 && idx->sizes.size() == 1 &&
                    idx->sizes == targets->sizes;
  if (!fits) {
    fail(name, ": tokens feed idx and targets, i64[context] each; the model wants ",
         feeds_text(feeds));
  }
  return idx->sizes[0];
}

}  // namespace

Data::Data(DataSettings settings, std::optional<Vocabulary> stored)
    : settings_(std::move(settings)) {
  const std::string& kind = settings_.kind;
  if (std::find(std::begin(kDataKinds), std::end(kDataKinds), kind) == std::end(kDataKinds)) {
    const std::vector<std::string> known(std::begin(kDataKinds), std::end(kDataKinds));
    fail("data kind ", quoted(kind), "; known are ", join(known, ", "), ".",
         suggestion(kind, known));
  }
  if (!(settings_.validation >= 0 && settings_.validation < 1)) {
    fail("a validation share of ", settings_.validation, "; it is from 0 to below 1");
  }
  if (kind != "synthetic" && settings_.paths.empty()) fail("data of kind ", kind, " needs a path");
  if (kind == "text") {
    open_text(std::move(stored));
  } else if (kind == "tokens") {
    tokens_ = range_of(read_tokens(settings_.paths), settings_.paths);
    if (!settings_.validation_paths.empty()) {
      validation_tokens_ =
          range_of(read_tokens(settings_.validation_paths), settings_.validation_paths);
    }
  } else if (kind != "synthetic" && kind != "arrays") {
    open_pictures();
  }
}

void Data::open_text(std::optional<Vocabulary> stored) {
  const Unit unit = unit_named(settings_.unit);
  // Characters that only the validation text has get their ids too.
  std::vector<Text> all = read_texts(settings_.paths);
  const std::size_t train_count = all.size();
  if (!settings_.validation_paths.empty()) {
    for (Text& text : read_texts(settings_.validation_paths)) all.push_back(std::move(text));
  }
  if (stored && stored->unit() != unit) {
    fail("the run's vocabulary is not of unit ", settings_.unit);
  }
  if (stored) {
    vocabulary_ = std::move(stored);
  } else {
    vocabulary_ = unit == Unit::kByte ? Vocabulary::bytes() : Vocabulary::characters(all);
  }
  const std::span<const Text> texts(all);
  tokens_ = range_of(vocabulary_->encode(texts.first(train_count)), settings_.paths);
  if (train_count < texts.size()) {
    validation_tokens_ =
        range_of(vocabulary_->encode(texts.subspan(train_count)), settings_.validation_paths);
  }
}

ImageSet Data::open_set(const std::vector<std::string>& paths) const {
  if (settings_.kind == "cifar10") return cifar10(paths);
  if (paths.size() != 1) {
    fail("data of kind ", settings_.kind, " is one folder; ", paths.size(), " are given");
  }
  return settings_.kind == "mnist" ? mnist(paths[0]) : image_folder(paths[0]);
}

void Data::open_pictures() {
  const std::vector<std::string>& paths = settings_.paths;
  set_ = std::make_shared<const ImageSet>(open_set(paths));
  const bool wanted = settings_.validation > 0;
  if (!settings_.validation_paths.empty()) {
    validation_set_ = std::make_shared<const ImageSet>(open_set(settings_.validation_paths));
  } else if (wanted && settings_.kind == "cifar10" && has_cifar10_test(paths[0])) {
    const std::string test[] = {str(paths[0], "/", kCifar10Test)};
    validation_set_ = std::make_shared<const ImageSet>(cifar10(test));
  } else if (wanted && settings_.kind == "mnist" && has_mnist_test(paths[0])) {
    validation_set_ = std::make_shared<const ImageSet>(mnist(paths[0], "t10k"));
  }
  if (validation_set_ && validation_set_->classes != set_->classes) {
    fail(validation_set_->name, ": its classes (", join(validation_set_->classes, ", "),
         ") are not those of ", set_->name, " (", join(set_->classes, ", "), ")");
  }
}

std::vector<std::string> Data::classes() const {
  return set_ ? set_->classes : std::vector<std::string>{};
}

std::vector<std::string> Data::notes() const {
  std::vector<std::string> notes;
  for (const auto& set : {set_, validation_set_}) {
    if (set && !set->note.empty()) notes.push_back(set->note);
  }
  return notes;
}

std::int64_t Data::limit() const {
  if (vocabulary_) return vocabulary_->size();
  if (set_) return static_cast<std::int64_t>(set_->classes.size());
  std::int64_t limit = tokens_ ? tokens_->tokens->vocab() : 0;
  if (validation_tokens_) limit = std::max(limit, validation_tokens_->tokens->vocab());
  return limit;
}

std::string Data::largest() const {
  for (const auto& range : {tokens_, validation_tokens_}) {
    if (!range || vocabulary_) continue;
    const std::int64_t id = limit() - 1, at = range->tokens->first_at_least(id);
    if (at < range->tokens->size()) {
      return str(range->name, ": token ", with_commas(id), " at position ", with_commas(at));
    }
  }
  return "";
}

Sources Data::sources(std::span<const FeedType> feeds, std::int64_t limit) const {
  if (tokens_) return token_sources(feeds, limit);
  if (set_) return picture_sources(feeds, limit);
  if (settings_.kind == "arrays") return array_sources(feeds);
  return split(std::make_shared<Synthetic>(feeds, limit, settings_.samples, settings_.seed));
}

Sources Data::token_sources(std::span<const FeedType> feeds, std::int64_t limit) const {
  const std::int64_t context = context_of(feeds, tokens_->name);
  check_vocab(*tokens_, limit);
  TokenRange train = *tokens_;
  std::optional<TokenRange> validation = validation_tokens_;
  if (validation) {
    check_vocab(*validation, limit);
  } else if (settings_.validation > 0 && !settings_.one_chunk) {
    TokenSplit split = split_tokens(*tokens_, settings_.validation, context);
    train = std::move(split.train);
    validation = std::move(split.validation);
  }
  Sources sources;
  sources.train = std::make_shared<Windows>(std::move(train), context, settings_.one_chunk);
  if (validation) sources.validation = std::make_shared<Windows>(std::move(*validation), context);
  return sources;
}

Sources Data::picture_sources(std::span<const FeedType> feeds, std::int64_t limit) const {
  auto whole = std::make_shared<Pictures>(set_, feeds, limit, settings_.normal);
  if (!validation_set_) return split(std::move(whole));
  return {std::move(whole),
          std::make_shared<Pictures>(validation_set_, feeds, limit, settings_.normal)};
}

Sources Data::array_sources(std::span<const FeedType> feeds) const {
  const auto read = [&](const std::vector<std::string>& paths) {
    if (paths.size() != 1) fail("data of kind arrays is one folder; ", paths.size(), " are given");
    return std::make_shared<ArrayFiles>(paths[0], feeds);
  };
  auto whole = read(settings_.paths);
  if (settings_.validation_paths.empty()) return split(std::move(whole));
  return {std::move(whole), read(settings_.validation_paths)};
}

Sources Data::split(std::shared_ptr<const Source> whole) const {
  if (settings_.validation == 0) return {std::move(whole), nullptr};
  if (settings_.validation > 0.5) {
    fail("a validation share of ", settings_.validation, "; for data of kind ", settings_.kind,
         " it is every k-th sample, at most 0.5");
  }
  const auto every = static_cast<std::int64_t>(std::lround(1 / settings_.validation));
  return {std::make_shared<Part>(whole, every, false), std::make_shared<Part>(whole, every, true)};
}

}  // namespace plait::train
