// Words of the format, and typed access to attributes.
#include "io/aicf/record.h"

#include <charconv>
#include <cmath>
#include <utility>

#include "base/text.h"

namespace plait::io::aicf {
namespace {

constexpr std::pair<DType, std::string_view> kTorchNames[] = {
    {DType::f64, "torch.float64"},   {DType::f32, "torch.float32"}, {DType::f16, "torch.float16"},
    {DType::bf16, "torch.bfloat16"}, {DType::i64, "torch.int64"},   {DType::i32, "torch.int32"},
    {DType::i16, "torch.int16"},     {DType::i8, "torch.int8"},     {DType::u8, "torch.uint8"},
    {DType::boolean, "torch.bool"},
};

std::string padded_number(char mark, std::int64_t n) {
  std::string digits = std::to_string(n);
  if (digits.size() < 3) digits.insert(0, 3 - digits.size(), '0');
  return mark + digits;
}

}  // namespace

const std::string* Node::attr(std::string_view key) const {
  for (const Attr& a : attrs) {
    if (a.key == key) return &a.text;
  }
  return nullptr;
}

std::optional<double> Node::number(std::string_view key) const {
  const std::string* text = attr(key);
  if (!text) return std::nullopt;
  double number = 0;
  const char* end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, number);
  if (error != std::errc() || stop != end || !std::isfinite(number)) return std::nullopt;
  return number;
}

std::optional<bool> Node::flag(std::string_view key) const {
  const std::string* text = attr(key);
  if (text && *text == "True") return true;
  if (text && *text == "False") return false;
  return std::nullopt;
}

int Record::line_of_value(std::size_t index) const {
  constexpr std::size_t kFirst = 5;  // title, counts, blank, [values]
  return static_cast<int>(kFirst + index);
}

int Record::line_of_node(std::size_t index) const {
  return line_of_value(values.size()) + 2 + static_cast<int>(index);  // blank, [nodes]
}

std::string id_text(std::int64_t id) { return padded_number('v', id); }
std::string index_text(std::size_t index) {
  return padded_number('#', static_cast<std::int64_t>(index));
}

std::string tuple_text(const Sizes& sizes) {
  std::vector<std::string> parts;
  for (std::int64_t size : sizes) parts.push_back(std::to_string(size));
  return "(" + join(parts, ", ") + (sizes.size() == 1 ? ",)" : ")");
}

std::string torch_name(DType dtype) {
  for (const auto& [known, name] : kTorchNames) {
    if (known == dtype) return std::string(name);
  }
  throw Bug("a dtype without a name in torch");
}

std::optional<DType> torch_dtype(std::string_view name) {
  for (const auto& [dtype, known] : kTorchNames) {
    if (known == name) return dtype;
  }
  return std::nullopt;
}

}  // namespace plait::io::aicf
