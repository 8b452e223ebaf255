// .npy: a magic string, a header that is a Python dictionary, then the elements.
#include "io/npy.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

#include "base/text.h"
#include "io/bytes.h"
#include "io/file.h"

namespace plait::io {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kAlignment = 64;

/// What Plait has no dtype for is read as the signed one of its width, and becomes a wider one.
struct Descr {
  std::string_view text;  // without the byte order
  DType stored;
  DType dtype = stored;
  bool is_unsigned = false;
};
constexpr Descr kDescrs[] = {
    {"f8", DType::f64},
    {"f4", DType::f32},
    {"f2", DType::f16},
    {"i8", DType::i64},
    {"i4", DType::i32},
    {"i2", DType::i16},
    {"i1", DType::i8},
    {"u1", DType::u8},
    {"b1", DType::boolean},
    {"u2", DType::i16, DType::i32, true},
    {"u4", DType::i32, DType::i64, true},
    {"u8", DType::i64, DType::i64, true},
};

struct Header {
  std::optional<std::string> descr;
  std::optional<bool> fortran;
  std::optional<Sizes> shape;
};

/// Reads `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`.
class HeaderReader {
 public:
  HeaderReader(std::string_view text, std::string_view name) : text_(text), name_(name) {}

  Header read() {
    expect('{');
    while (!accept('}')) {
      const std::string key = string();
      expect(':');
      entry(key);
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip();
    if (pos_ != text_.size()) bad("characters after its '}'");
    if (!header_.descr) bad("no 'descr'");
    if (!header_.fortran) bad("no 'fortran_order'");
    if (!header_.shape) bad("no 'shape'");
    return header_;
  }

 private:
  [[noreturn]] void bad(std::string_view what) const {
    fail(name_, ": malformed .npy header: ", what, " at byte ", pos_, " of ",
         quoted(text_.substr(0, 120)));
  }
  void skip() {
    while (pos_ < text_.size() && (text_[pos_] == ' ' || text_[pos_] == '\n')) ++pos_;
  }
  bool accept(char c) {
    skip();
    if (pos_ == text_.size() || text_[pos_] != c) return false;
    ++pos_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) bad(str("expected '", c, "'"));
  }
  bool accept(std::string_view word) {
    skip();
    if (!text_.substr(pos_).starts_with(word)) return false;
    pos_ += word.size();
    return true;
  }
  std::string string() {
    skip();
    const char quote = pos_ < text_.size() ? text_[pos_] : 0;
    if (quote != '\'' && quote != '"') bad("expected a string");
    const auto end = text_.find(quote, pos_ + 1);
    if (end == std::string_view::npos) bad("a string without its end");
    std::string out(text_.substr(pos_ + 1, end - pos_ - 1));
    pos_ = end + 1;
    return out;
  }
  std::int64_t size() {
    skip();
    std::int64_t value = 0;
    const char* first = text_.data() + pos_;
    const auto [end, error] = std::from_chars(first, text_.data() + text_.size(), value);
    if (error == std::errc::result_out_of_range) bad("a size beyond 64 bits");
    if (error != std::errc() || value < 0) bad("expected a size");
    pos_ += static_cast<std::size_t>(end - first);
    accept("L");  // Python 2 wrote its long integers so
    return value;
  }
  Sizes sizes() {
    Sizes out;
    expect('(');
    while (!accept(')')) {
      out.push_back(size());
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return out;
  }
  void entry(const std::string& key) {
    if (key == "descr") {
      skip();
      if (pos_ < text_.size() && text_[pos_] == '[') {
        fail(name_, ": an array of records; Plait reads arrays of numbers");
      }
      header_.descr = string();
    } else if (key == "fortran_order") {
      if (accept("True")) {
        header_.fortran = true;
      } else if (accept("False")) {
        header_.fortran = false;
      } else {
        bad("fortran_order is neither True nor False");
      }
    } else if (key == "shape") {
      header_.shape = sizes();
    } else {
      bad(str("unknown key ", quoted(key)));
    }
  }

  std::string_view text_, name_;
  std::size_t pos_ = 0;
  Header header_;
};

const Descr& descr_named(const std::string& descr, std::string_view name) {
  std::vector<std::string> known;
  for (const Descr& d : kDescrs) {
    const bool ordered = descr.size() == 3 && std::strchr("<>|=", descr[0]);
    if (ordered && descr.substr(1) == d.text) return d;
    known.emplace_back(d.text);
  }
  fail(name, ": elements are ", quoted(descr), "; Plait reads ", join(known, ", "));
}

/// Cuts the header off `bytes`.
Header read_header(std::string_view& bytes, std::string_view name) {
  if (!bytes.starts_with(kMagic)) {
    const bool cut = kMagic.starts_with(bytes);
    fail(name, cut ? ": cut off: " : ": not a .npy file: ", bytes.size(), " bytes",
         cut ? ", not even the magic string" : ", without the magic string at their start");
  }
  bytes.remove_prefix(kMagic.size());
  if (bytes.size() < 2) fail(name, ": cut off before its version");
  const int major = static_cast<unsigned char>(bytes[0]);
  if (major < 1 || major > 3) fail(name, ": .npy version ", major, "; Plait reads 1, 2 and 3");
  bytes.remove_prefix(2);
  const std::size_t width = major == 1 ? 2 : 4;
  if (bytes.size() < width) fail(name, ": cut off before its header's length");
  const std::uint64_t length = little_endian(bytes.substr(0, width));
  bytes.remove_prefix(width);
  if (length > bytes.size()) {
    fail(name, ": cut off: its header has ", length, " bytes, the file goes on for ", bytes.size());
  }
  const std::string_view text = bytes.substr(0, length);
  bytes.remove_prefix(length);
  return HeaderReader(text, name).read();
}

/// Elements in column-major order put into row-major order.
Array from_fortran(const Array& columns) {
  Array out(columns.dtype(), columns.sizes());
  const std::size_t width = size_of(columns.dtype()), rank = columns.sizes().size();
  Sizes index(rank, 0);
  for (std::int64_t i = 0; i < columns.count(); ++i) {
    std::int64_t at = 0;
    for (std::size_t d = 0; d < rank; ++d) at = at * columns.sizes()[d] + index[d];
    std::memcpy(out.data() + static_cast<std::size_t>(at) * width,
                columns.data() + static_cast<std::size_t>(i) * width, width);
    for (std::size_t d = 0; d < rank && ++index[d] == columns.sizes()[d]; ++d) index[d] = 0;
  }
  return out;
}

/// Unsigned numbers, read as signed ones.
Array widened(const Array& array, const Descr& descr, std::string_view name) {
  Array out(descr.dtype, array.sizes());
  const std::size_t bits = 8 * size_of(descr.stored);
  const std::int64_t mask = bits == 64 ? -1 : (std::int64_t{1} << bits) - 1;
  for (std::int64_t i = 0; i < array.count(); ++i) {
    const std::int64_t value = array.integer(i) & mask;
    if (value < 0) {
      fail(name, ": element ", with_commas(i), " is ", static_cast<std::uint64_t>(value),
           ", which is no i64");
    }
    out.set_integer(i, value);
  }
  return out;
}

std::string_view descr_of(DType dtype) {
  for (const Descr& d : kDescrs) {
    if (d.dtype == dtype) return d.text;
  }
  throw Bug(str(".npy has no ", dtype));
}

}  // namespace

Array parse_npy(std::string_view bytes, std::string_view name) {
  const Header header = read_header(bytes, name);
  const Descr& descr = descr_named(*header.descr, name);
  Array array = array_from_bytes(descr.stored, *header.shape, bytes, name);
  if ((*header.descr)[0] == '>') swap_bytes(array);
  if (descr.is_unsigned) array = widened(array, descr, name);
  return *header.fortran && array.sizes().size() > 1 ? from_fortran(array) : array;
}

Array read_npy(const std::string& path) { return parse_npy(read_file(path), path); }

void write_npy(const std::string& path, const Array& array) {
  if (array.dtype() == DType::bf16) return write_npy(path, array.cast(DType::f32));
  std::string shape;
  for (std::int64_t d : array.sizes()) shape += str(shape.empty() ? "" : " ", d, ",");
  if (array.sizes().size() > 1) shape.pop_back();  // only one size alone keeps its comma
  const char order = size_of(array.dtype()) == 1 ? '|' : '<';
  std::string header = str("{'descr': '", order, descr_of(array.dtype()),
                           "', 'fortran_order': False, 'shape': (", shape, "), }");
  const std::size_t before = kMagic.size() + 4;
  header.append((kAlignment - (before + header.size() + 1) % kAlignment) % kAlignment, ' ');
  header += '\n';
  check(header.size() < 65536, ".npy header of ", header.size(), " bytes");
  const std::string start =
      std::string(kMagic) + std::string("\x01\x00", 2) + little_endian(header.size(), 2);
  write_file(path, {start, header, bytes_of(array)});
}

}  // namespace plait::io
