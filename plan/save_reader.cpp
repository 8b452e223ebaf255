// Reading the values that are not lists of members.
#include "plan/save_reader.h"

#include <algorithm>
#include <cstring>

#include "ir/names.h"

namespace plait::plan {

std::string_view Reader::word() {
  skip();
  const std::size_t end = std::min(text_.find_first_of(" \n", at_), text_.size());
  const std::string_view found = text_.substr(at_, end - at_);
  at_ = end;
  return found;
}

void Reader::expect(std::string_view name) {
  skip();
  const std::size_t start = at_;
  const std::string_view found = word();
  if (found == name) return;
  at_ = start;
  bad("'", name, "' is expected, found '", found.substr(0, 32), "'");
}

std::string_view Reader::bytes(std::size_t length) {
  if (at_ >= text_.size() || text_[at_] != ':') bad("':' is expected behind a length");
  if (length > text_.size() - at_ - 1) bad("a text of ", length, " bytes does not end");
  const std::string_view found = text_.substr(at_ + 1, length);
  at_ += length + 1;
  return found;
}

std::size_t Reader::count() {
  const auto n = number<std::size_t>();
  if (n > text_.size() - at_) bad("a list of ", n, " items does not end");
  return n;
}

std::size_t Reader::index_of(std::string_view word, const std::string_view* words,
                             std::size_t n) const {
  const auto found = static_cast<std::size_t>(std::find(words, words + n, word) - words);
  if (found == n) bad("unknown word '", word.substr(0, 32), "'");
  return found;
}

void Reader::symbols(std::map<std::string, Dim>& all) {
  expect("symbols");
  for (std::size_t left = count(); left > 0; --left) {
    const std::string name(bytes());
    const auto lo = number<std::int64_t>(), hi = number<std::int64_t>();
    if (!ir::is_symbol_name(name)) bad("a symbol cannot have this name");
    if (!all.emplace(name, Dim::symbol(name, lo, hi)).second)
      bad("symbol ", name, " is there twice");
  }
  symbols_ = &all;
}

void Reader::value(bool& x) {
  const std::string_view found = word();
  if (found != "0" && found != "1") bad("0 or 1 is expected");
  x = found == "1";
}

void Reader::value(Dim& x) {
  const auto n = number<std::int64_t>();
  if (at_ == text_.size() || text_[at_] != ':') {
    x = Dim(n);
    return;
  }
  if (n < 0) bad("a length cannot be ", n);
  const std::string_view text = bytes(static_cast<std::size_t>(n));
  if (const auto known = dims_.find(text); known != dims_.end()) {
    x = known->second;
    return;
  }
  std::size_t end = 0;
  x = parse_dim(text, end, [&](std::string_view name) {
    const auto symbol = symbols_->find(std::string(name));
    if (symbol == symbols_->end()) bad("unknown symbol '", name.substr(0, 32), "'");
    return symbol->second;
  });
  if (end != text.size()) bad("the size '", text.substr(0, 80), "' does not end where it should");
  dims_.emplace(text, x);
}

void Reader::value(ir::Literal& x) {
  bool there = false;
  value(there);
  if (!there) return;
  Array array;
  value(array);
  x.array = std::make_shared<const Array>(std::move(array));
}

void Reader::value(Array& x) {
  DType dtype = DType::f32;
  Sizes sizes;
  value(dtype);
  value(sizes);
  const std::string_view content = bytes();
  std::size_t wanted = size_of(dtype);
  for (std::int64_t size : sizes) {
    if (size < 0 || __builtin_mul_overflow(wanted, static_cast<std::size_t>(size), &wanted)) {
      bad("an array cannot have the shape ", shape_text(sizes));
    }
  }
  if (wanted != content.size()) {
    bad("an array ", dtype, shape_text(sizes), " has ", content.size(), " bytes");
  }
  x = Array(dtype, std::move(sizes));
  if (!content.empty()) std::memcpy(x.data(), content.data(), content.size());
}

void Reader::value(ir::Attrs& x) {
  for (std::size_t left = count(); left > 0; --left) {
    std::string name(bytes());
    ir::AttrValue attr;
    value(attr);
    if (x.find(name)) bad("attribute ", name, " is there twice");
    x.set(std::move(name), std::move(attr));
  }
}

void Reader::expect_end() {
  skip();
  if (at_ != text_.size()) bad("nothing is expected behind the program");
}

}  // namespace plait::plan
