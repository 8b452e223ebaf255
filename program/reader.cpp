// Reading the values that are not lists of members.
#include "program/reader.h"

#include <algorithm>
#include <cstring>

#include "base/names.h"
#include "ir/text.h"

namespace plait::program {

std::string_view Reader::word() {
  skip();
  std::size_t end = std::min(text_.find_first_of(" \n[]{}", at_), text_.size());
  if (end == at_ && end < text_.size()) ++end;
  const std::string_view found = text_.substr(at_, end - at_);
  at_ = end;
  return found;
}

std::string Reader::place() const {
  const std::string_view before = text_.substr(0, at_);
  const std::size_t line = before.rfind('\n') + 1;  // npos + 1 is 0
  return str("line ", 2 + std::count(before.begin(), before.end(), '\n'), ", column ",
             at_ - line + 1);
}

void Reader::expect(std::string_view name) {
  skip();
  const std::size_t start = at_;
  const std::string_view found = word();
  if (found == name) return;
  at_ = start;
  bad("'", name, "' is expected, found '", found.substr(0, 32), "'");
}

bool Reader::ends() {
  skip();
  if (at_ == text_.size()) bad("a list does not end");
  if (text_[at_] != ']') return false;
  ++at_;
  return true;
}

std::string Reader::text() {
  skip();
  if (text_.substr(at_, kFence.size()) == kFence && text_.substr(at_ + kFence.size(), 1) == "\n") {
    const std::size_t begin = at_ + kFence.size() + 1, end = text_.find(kFence, begin);
    if (end == text_.npos) bad("a text of several lines does not end");
    at_ = end + kFence.size();
    return std::string(text_.substr(begin, end - begin));
  }
  if (at_ == text_.size() || text_[at_] != '"') bad("a text in quotation marks is expected");
  std::string out;
  for (++at_;; ++at_) {
    if (at_ == text_.size() || text_[at_] == '\n') bad("a text does not end");
    if (text_[at_] == '"') break;
    if (text_[at_] != '\\') {
      out += text_[at_];
    } else {
      out += escaped();
    }
  }
  ++at_;
  return out;
}

char Reader::escaped() {
  const char c = at_ + 1 < text_.size() ? text_[++at_] : '\0';
  if (c == '"' || c == '\\') return c;
  if (c == 'n') return '\n';
  unsigned code = 0;
  const char* const begin = text_.data() + at_ + 1;
  if (c == 'u' && text_.size() - at_ > 4) {
    const auto read = std::from_chars(begin, begin + 4, code, 16);
    if (read.ec == std::errc() && read.ptr == begin + 4 && code < 0x80) {
      at_ += 4;
      return static_cast<char>(code);
    }
  }
  bad("a text has an escape that is none of \\\", \\\\, \\n, \\u00XX");
}

std::string Reader::hex() {
  const std::string_view found = word();
  std::string out;
  bool good = found.size() % 2 == 1 && found[0] == 'x';
  for (std::size_t i = 1; good && i + 1 < found.size(); i += 2) {
    const std::size_t high = kHexDigits.find(found[i]), low = kHexDigits.find(found[i + 1]);
    good = high != kHexDigits.npos && low != kHexDigits.npos;
    out += static_cast<char>(high << 4 | low);
  }
  if (!good) bad("x and an even number of hexadecimal digits are expected");
  return out;
}

std::size_t Reader::index_of(std::string_view word, const std::string_view* words,
                             std::size_t n) const {
  const auto found = static_cast<std::size_t>(std::find(words, words + n, word) - words);
  if (found == n) bad("unknown word '", word.substr(0, 32), "'");
  return found;
}

void Reader::symbols(std::map<std::string, Dim>& all) {
  expect("symbols");
  expect("[");
  while (!ends()) {
    const std::string name = text();
    const auto lo = number<std::int64_t>(), hi = number<std::int64_t>();
    if (!is_symbol_name(name)) bad("a symbol cannot have this name");
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
  skip();
  if (at_ == text_.size() || text_[at_] != '"') {
    x = Dim(number<std::int64_t>());
    return;
  }
  const std::string text = this->text();
  if (const auto known = dims_.find(text); known != dims_.end()) {
    x = known->second;
    return;
  }
  std::size_t end = 0;
  x = parse_dim(text, end, [&](std::string_view name) { return symbol(name); });
  if (end != text.size()) bad("the size '", text.substr(0, 80), "' does not end where it should");
  dims_.emplace(text, x);
}

Dim Reader::symbol(std::string_view name) const {
  const auto found = symbols_->find(std::string(name));
  if (found == symbols_->end()) bad("unknown symbol '", name.substr(0, 32), "'");
  return found->second;
}

void Reader::value(ir::Type& x) {
  const std::string text = this->text();
  const auto [known, added] = types_.try_emplace(text);
  if (added) {
    known->second = ir::parse_type(text, [&](std::string_view name) { return symbol(name); });
  }
  x = known->second;
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
  const std::string content = hex();
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
  expect("[");
  while (!ends()) {
    std::string name = text();
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

}  // namespace plait::program
