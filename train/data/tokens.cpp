// Token rows. A file is read whole when training starts: what happens to it later changes nothing.
#include "train/data/tokens.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>

#include "base/array.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/text.h"
#include "io/file.h"
#include "io/npy.h"

namespace plait::train {
namespace {

static_assert(std::endian::native == std::endian::little, "raw token files are read as they are");

constexpr std::int64_t kMaxVocab = std::int64_t{1} << 32;
constexpr std::string_view kNpyMagic = "\x93NUMPY";

/// id_at(i) gives token i, checked; it is asked twice.
template <class IdAt>
Tokens tokens_of(std::int64_t count, IdAt id_at) {
  std::int64_t largest = 0;
  for (std::int64_t i = 0; i < count; ++i) largest = std::max(largest, id_at(i));
  Tokens tokens(largest + 1);
  tokens.reserve(count);
  for (std::int64_t i = 0; i < count; ++i) tokens.push_back(id_at(i));
  return tokens;
}

Tokens npy_tokens(std::string_view bytes, const std::string& path) {
  const Array array = io::parse_npy(bytes, path);
  if (!is_int(array.dtype())) {
    fail(path, ": elements are ", array.dtype(), "; tokens are integers");
  }
  return tokens_of(array.count(), [&](std::int64_t i) {
    const std::int64_t id = array.integer(i);
    if (id < 0 || id >= kMaxVocab) {
      fail(path, ": token ", id, " at position ", with_commas(i),
           "; tokens are from 0 to 4,294,967,295");
    }
    return id;
  });
}

Tokens raw_u16(std::string_view bytes, const std::string& path) {
  if (bytes.size() % 2 != 0) {
    fail(path, ": ", bytes.size(), " bytes: an odd number, but raw tokens are u16. ",
         "Other types come as .npy");
  }
  return tokens_of(static_cast<std::int64_t>(bytes.size() / 2), [&](std::int64_t i) {
    std::uint16_t id = 0;
    std::memcpy(&id, bytes.data() + 2 * i, 2);
    return std::int64_t{id};
  });
}

Tokens read_one(const std::string& path) {
  std::string bytes = io::read_file(path);
  if (bytes.empty()) fail(path, ": empty");
  if (path.ends_with(".npy") || bytes.starts_with(kNpyMagic)) {
    return npy_tokens(bytes, path);
  }
  return raw_u16(bytes, path);
}

}  // namespace

Tokens::Tokens(std::int64_t vocab) : vocab_(vocab) {
  check(vocab >= 1 && vocab <= kMaxVocab, "a vocabulary of ", vocab);
  if (vocab > 65536) {
    ids_.emplace<2>();
  } else if (vocab > 256) {
    ids_.emplace<1>();
  }
}

std::int64_t Tokens::size() const {
  return std::visit([](const auto& ids) { return static_cast<std::int64_t>(ids.size()); }, ids_);
}

void Tokens::reserve(std::int64_t count) {
  std::visit([&](auto& ids) { ids.reserve(static_cast<std::size_t>(count)); }, ids_);
}

void Tokens::push_back(std::int64_t id) {
  check(id >= 0 && id < vocab_, "token ", id, " of a vocabulary of ", vocab_);
  std::visit(
      [&](auto& ids) {
        using Id = typename std::decay_t<decltype(ids)>::value_type;
        ids.push_back(static_cast<Id>(id));
      },
      ids_);
}

void Tokens::append_bytes(std::string_view bytes) {
  auto* ids = std::get_if<0>(&ids_);
  check(ids != nullptr && vocab_ == 256, "bytes for a vocabulary of ", vocab_);
  ids->insert(ids->end(), bytes.begin(), bytes.end());
}

void Tokens::append(const Tokens& other) {
  if (ids_.index() < other.ids_.index()) {
    Tokens wider(other.vocab_);
    wider.append(*this);
    ids_ = std::move(wider.ids_);
  }
  vocab_ = std::max(vocab_, other.vocab_);
  std::visit([](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); },
             ids_, other.ids_);
}

void Tokens::copy(std::int64_t begin, std::span<std::int64_t> out) const {
  const auto count = static_cast<std::int64_t>(out.size());
  check(begin >= 0 && begin <= size() - count, "tokens ", begin, " to ", begin + count, " of ",
        size());
  std::visit([&](const auto& ids) { std::copy_n(ids.begin() + begin, count, out.begin()); }, ids_);
}

std::int64_t Tokens::at(std::int64_t index) const {
  std::int64_t id = 0;
  copy(index, {&id, 1});
  return id;
}

std::int64_t Tokens::first_at_least(std::int64_t limit) const {
  if (limit >= vocab_) return size();
  return std::visit(
      [&](const auto& ids) {
        const auto at = std::find_if(ids.begin(), ids.end(), [&](auto id) { return id >= limit; });
        return static_cast<std::int64_t>(at - ids.begin());
      },
      ids_);
}

std::uint64_t Tokens::hash(std::int64_t begin, std::int64_t end) const {
  return std::visit(
      [&](const auto& ids) {
        const auto part = std::span(ids).subspan(static_cast<std::size_t>(begin),
                                                 static_cast<std::size_t>(end - begin));
        return fnv1a64(std::as_bytes(part));
      },
      ids_);
}

Tokens read_tokens(std::span<const std::string> paths) {
  Tokens all(1);
  for (const std::string& path : paths) all.append(read_one(path));
  if (all.size() == 0) fail(join({paths.begin(), paths.end()}, ", "), ": no tokens");
  return all;
}

}  // namespace plait::train
