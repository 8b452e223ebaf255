// Reading and writing safetensors. The header is checked whole before any tensor is allocated, and
// elements go between file and array without a copy in between.
#include "io/safetensors.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>
#include <vector>

#include "base/text.h"
#include "io/bytes.h"
#include "io/file.h"
#include "io/json.h"

namespace plait::io {
namespace {

constexpr std::string_view kMetadata = "__metadata__";
constexpr std::size_t kLengthBytes = 8;
constexpr std::size_t kMostHeaderBytes = 100'000'000;  // the format's own limit

// In the order of DType.
constexpr std::string_view kNames[kDTypeCount] = {"F64", "F32", "F16", "BF16", "I64",
                                                  "I32", "I16", "I8",  "U8",   "BOOL"};

/// A tensor as the header describes it.
struct Entry {
  std::string name;
  DType dtype;
  Sizes sizes;
  std::uint64_t begin, end;  // in the data behind the header
};

[[noreturn]] void bad(std::string_view file, std::string_view tensor, const std::string& what) {
  fail(file, ": tensor ", quoted(tensor), ": ", what);
}

/// Bytes of a file or of memory, read from front to end.
struct Source {
  std::function<std::size_t(char* buffer, std::size_t room)> read;  // fewer only at the end
  std::uint64_t left;                                               // what it should still hold
  std::string_view name;

  void take(char* buffer, std::size_t bytes) {
    if (read(buffer, bytes) != bytes) fail(name, ": cut off while it was read");
    left -= bytes;
  }
};

/// The JSON text between the length and the data.
std::string header_text(Source& in) {
  if (in.left < kLengthBytes) {
    fail(in.name, ": cut off: ", in.left, " bytes, less than a safetensors header's length");
  }
  char bytes[kLengthBytes];
  in.take(bytes, kLengthBytes);
  const std::uint64_t length = little_endian({bytes, kLengthBytes});
  if (length > kMostHeaderBytes) {
    fail(in.name, ": not a safetensors file: its header would have ", length, " bytes, at most ",
         kMostHeaderBytes, " are allowed");
  }
  if (length > in.left) {
    fail(in.name, ": cut off: its header has ", length, " bytes, the file goes on for ", in.left);
  }
  std::string text(length, ' ');
  in.take(text.data(), length);
  return text;
}

Json parse_header(std::string_view text, std::string_view file) {
  if (!text.starts_with("{")) {
    fail(file, ": not a safetensors file: its header does not start with '{'");
  }
  return parse_json(text, str(file, ": its header"));  // beginning with '{', it is an object
}

std::uint64_t whole(const Json& value, std::string_view file, const std::string& tensor,
                    std::string_view what) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > kMost) {
    bad(file, tensor, str(what, " is ", glimpse(value), ", not a whole number"));
  }
  return value.get<std::uint64_t>();
}

Entry read_entry(const std::string& name, const Json& json, std::string_view file) {
  const auto part = [&](const char* key) -> const Json& {
    if (!json.is_object() || !json.contains(key)) bad(file, name, str("has no ", key));
    return json[key];
  };
  Entry entry{name, DType::f32, {}, 0, 0};
  const std::string dtype = part("dtype").is_string() ? part("dtype").get<std::string>() : "";
  const auto known = std::find(std::begin(kNames), std::end(kNames), dtype);
  if (known == std::end(kNames)) {
    bad(file, name,
        str("dtype is ", glimpse(part("dtype")), "; Plait reads ",
            join({std::begin(kNames), std::end(kNames)}, ", ")));
  }
  entry.dtype = static_cast<DType>(known - std::begin(kNames));
  if (!part("shape").is_array()) bad(file, name, "shape is not a list");
  for (const Json& size : part("shape")) {
    entry.sizes.push_back(static_cast<std::int64_t>(whole(size, file, name, "a size")));
  }
  const Json& offsets = part("data_offsets");
  if (!offsets.is_array() || offsets.size() != 2) bad(file, name, "data_offsets are not two");
  entry.begin = whole(offsets[0], file, name, "an offset");
  entry.end = whole(offsets[1], file, name, "an offset");
  if (entry.end < entry.begin) {
    bad(file, name, str("ends at ", entry.end, " before it begins at ", entry.begin));
  }
  const std::size_t needed =
      tensor_bytes(entry.dtype, entry.sizes, str(file, ": tensor ", quoted(name)));
  if (entry.end - entry.begin != needed) {
    bad(file, name,
        str(entry.dtype, shape_text(entry.sizes), " takes ", needed, " bytes, its offsets give it ",
            entry.end - entry.begin));
  }
  return entry;
}

/// The tensors must tile the data.
void check_cover(std::vector<Entry>& entries, std::size_t data_bytes, std::string_view file) {
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
  });
  std::uint64_t covered = 0;
  for (const Entry& e : entries) {
    if (e.end > data_bytes) {
      bad(file, e.name,
          str("ends at byte ", e.end, " of the data, which has ", data_bytes,
              ": the file is cut off"));
    }
    if (e.begin != covered) {
      bad(file, e.name,
          str("begins at byte ", e.begin, " of the data, the one before it ends at ", covered));
    }
    covered = e.end;
  }
  if (covered != data_bytes) {
    fail(file, ": too long: its tensors take ", covered, " bytes, there are ", data_bytes);
  }
}

void read_metadata(const Json& json, std::map<std::string, std::string>& out,
                   std::string_view file) {
  if (!json.is_object()) fail(file, ": ", kMetadata, " is not a JSON object");
  for (const auto& [key, value] : json.items()) {
    if (!value.is_string()) fail(file, ": metadata ", quoted(key), " is not a string");
    out[key] = value.get<std::string>();
  }
}

/// The next bytes as a tensor; booleans become 0 or 1.
Array read_tensor(Source& in, const Entry& entry) {
  Array array(entry.dtype, entry.sizes);
  in.take(reinterpret_cast<char*>(array.data()), array.byte_count());
  if (entry.dtype == DType::boolean) {
    for (std::byte& b : array.as<std::byte>()) b = std::byte{b != std::byte{0}};
  }
  return array;
}

/// The tensors in the order of their elements.
std::vector<Entry> read_header(Source& in, std::map<std::string, std::string>& metadata) {
  const Json header = parse_header(header_text(in), in.name);
  std::vector<Entry> entries;
  for (const auto& [key, value] : header.items()) {
    if (key == kMetadata) {
      read_metadata(value, metadata, in.name);
    } else {
      entries.push_back(read_entry(key, value, in.name));
    }
  }
  check_cover(entries, in.left, in.name);
  return entries;
}

TensorFile read_all(Source& in) {
  TensorFile out;
  for (const Entry& e : read_header(in, out.metadata)) {
    out.tensors.emplace(e.name, read_tensor(in, e));
  }
  return out;
}

}  // namespace

const Array& TensorFile::tensor(const std::string& name) const {
  const auto it = tensors.find(name);
  if (it != tensors.end()) return it->second;
  std::vector<std::string> names;
  for (const auto& [known, array] : tensors) names.push_back(known);
  fail("there is no tensor '", name, "' in the file.", suggestion(name, names));
}

TensorFile parse_safetensors(std::string_view bytes, std::string_view name) {
  const auto read = [rest = bytes](char* buffer, std::size_t room) mutable {
    const std::size_t got = std::min(room, rest.size());
    if (got > 0) std::memcpy(buffer, rest.data(), got);
    rest.remove_prefix(got);
    return got;
  };
  Source in{read, bytes.size(), name};
  return read_all(in);
}

TensorFile read_safetensors(const std::string& path) {
  InputFile file(path);
  if (file.expected_bytes() == 0) {  // a pipe: its length is known at its end
    std::string bytes, piece(1 << 16, ' ');
    while (const std::size_t got = file.read(piece.data(), piece.size())) {
      bytes.append(piece, 0, got);
    }
    return parse_safetensors(bytes, path);
  }
  const auto read = [&](char* buffer, std::size_t room) { return file.read_fully(buffer, room); };
  Source in{read, file.expected_bytes(), path};
  return read_all(in);
}

TensorList list_safetensors(const std::string& path) {
  InputFile file(path);
  const auto read = [&](char* buffer, std::size_t room) { return file.read_fully(buffer, room); };
  Source in{read, file.expected_bytes(), path};
  TensorList out;
  for (const Entry& e : read_header(in, out.metadata)) {
    out.tensors.push_back({e.name, e.dtype, e.sizes, e.end - e.begin});
  }
  return out;
}

bool is_safetensors(const std::string& path) {
  std::error_code ignored;  // a pipe must not lose its first bytes
  if (!std::filesystem::is_regular_file(path, ignored)) return false;
  char head[kLengthBytes + 1];
  InputFile file(path);
  const bool whole = file.read_fully(head, sizeof head) == sizeof head;
  return whole && head[kLengthBytes] == '{' &&
         little_endian({head, kLengthBytes}) <= kMostHeaderBytes;
}

SafetensorsBytes safetensors_bytes(const std::map<std::string, Array>& tensors,
                                   const std::map<std::string, std::string>& metadata,
                                   std::string_view path) {
  // Wide elements first, so that every tensor is aligned to its element.
  std::vector<const std::pair<const std::string, Array>*> order;
  for (const auto& tensor : tensors) order.push_back(&tensor);
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return size_of(a->second.dtype()) > size_of(b->second.dtype());
  });
  Json header = Json::object();
  if (!metadata.empty()) header[std::string(kMetadata)] = metadata;
  SafetensorsBytes out;
  std::uint64_t offset = 0;
  for (const auto* tensor : order) {
    const auto& [name, array] = *tensor;
    if (name == kMetadata) fail("a tensor cannot be named ", kMetadata);
    const std::uint64_t end = offset + array.byte_count();
    header[name] = {{"dtype", kNames[static_cast<std::size_t>(array.dtype())]},
                    {"shape", array.sizes()},
                    {"data_offsets", {offset, end}}};
    out.elements.push_back(bytes_of(array));
    offset = end;
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const Json::exception&) {
    fail("cannot write ", path, ": a name or the metadata is not UTF-8 text");
  }
  text.append((8 - text.size() % 8) % 8, ' ');
  out.header = little_endian(text.size(), kLengthBytes) + text;
  return out;
}

std::vector<std::string_view> SafetensorsBytes::parts() const {
  std::vector<std::string_view> parts{header};
  parts.insert(parts.end(), elements.begin(), elements.end());
  return parts;
}

void write_safetensors(const std::string& path, const TensorFile& file) {
  const SafetensorsBytes bytes = safetensors_bytes(file.tensors, file.metadata, path);
  write_file(path, bytes.parts());
}

}  // namespace plait::io
