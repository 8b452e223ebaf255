// Reading by events, so that limits hold before memory is taken; writing.
#include "io/megengine/json.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/lexer.h"
#include "base/text.h"

namespace plait::io::megengine {
namespace {

using Lohmann = nlohmann::json;

/// Builds the tree. `open_` holds the lists and objects that are not closed, outermost first; each
/// is the last child of the one before it, so that none moves while it is open.
class TreeBuilder : public nlohmann::json_sax<Lohmann> {
 public:
  TreeBuilder(std::string_view text, const std::string& file) : text_(text), file_(file) {}
  Json take() { return std::move(root_); }

  bool null() override { return add({}); }
  bool boolean(bool x) override { return add(x); }
  bool number_integer(std::int64_t x) override { return add(x); }
  bool number_unsigned(std::uint64_t x) override {
    if (x > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      refuse(str("the number ", x, " does not fit in 64 bits"));
    }
    return add(static_cast<std::int64_t>(x));
  }
  bool number_float(double x, const std::string&) override { return add(x); }
  bool string(std::string& x) override { return add(std::move(x)); }
  bool binary(Lohmann::binary_t&) override { refuse("binary data"); }
  bool start_object(std::size_t) override { return open(Json::Object{}); }
  bool start_array(std::size_t) override { return open(Json::Array{}); }
  bool key(std::string& x) override {
    std::get<Json::Object>(open_.back()->value).push_back({std::move(x), {}});
    return true;
  }
  bool end_array() override { return close(); }
  bool end_object() override {
    refuse_repeated_keys(std::get<Json::Object>(open_.back()->value));
    return close();
  }
  bool parse_error(std::size_t position, const std::string&, const Lohmann::exception& e) override {
    const std::size_t at = std::min(position > 0 ? position - 1 : 0, text_.size());
    fail(file_, ":", line_and_column(text_, at), ": not JSON: ", reason(e.what()),
         at + 1 >= text_.size() ? ". Was the document cut off?" : "");
  }

 private:
  /// `[json.exception...] parse error at ...: syntax error while parsing value - what; last read..`
  static std::string reason(std::string_view what) {
    if (const auto dash = what.find(" - "); dash != what.npos) {
      what.remove_prefix(dash + 3);
    } else if (what.starts_with("[")) {
      what.remove_prefix(std::min(what.find("] "), what.size() - 2) + 2);
    }
    return std::string(what.substr(0, std::min(what.find("; last read"), std::size_t{80})));
  }

  Json& place() {
    if (++values_ > kMaxValues) {
      refuse(str("more than ", with_commas(kMaxValues), " values in one document"));
    }
    if (open_.empty()) return root_;
    if (auto* list = std::get_if<Json::Array>(&open_.back()->value)) return list->emplace_back();
    return std::get<Json::Object>(open_.back()->value).back().value;
  }
  bool add(Json json) {
    place() = std::move(json);
    return true;
  }
  bool open(Json json) {
    if (open_.size() == kMaxDepth) refuse(str("nested more than ", kMaxDepth, " deep"));
    Json& there = place();
    there = std::move(json);
    open_.push_back(&there);
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  void refuse_repeated_keys(const Json::Object& object) {
    std::vector<std::string_view> keys;
    for (const Member& m : object) keys.push_back(m.key);
    std::sort(keys.begin(), keys.end());
    const auto twice = std::adjacent_find(keys.begin(), keys.end());
    if (twice == keys.end()) return;
    const std::string where = path(false);
    fail(file_, ": ", where, where.empty() ? "" : ": ", "the key ", clipped(*twice),
         " comes twice; a key may stand once in an object");
  }

  /// Of what was read last, or of the innermost that is open.
  std::string path(bool inside = true) const {
    std::string out;
    for (std::size_t i = 0; i + (inside ? 0 : 1) < open_.size(); ++i) {
      if (const auto* list = std::get_if<Json::Array>(&open_[i]->value)) {
        out += str("[", list->empty() ? 0 : list->size() - 1, "]");
      } else if (const auto& object = std::get<Json::Object>(open_[i]->value); !object.empty()) {
        out += (out.empty() ? "" : ".") + object.back().key.substr(0, 40);
      }
      if (out.size() > 400) return out + "...";
    }
    return out;
  }
  [[noreturn]] void refuse(const std::string& what) const {
    fail(file_, ": ", path(), open_.empty() ? "" : ": ", what);
  }

  std::string_view text_;
  const std::string& file_;
  Json root_;
  std::vector<Json*> open_;
  std::int64_t values_ = 0;
};

void append_string(std::string& out, const std::string& text) {
  out += Lohmann(text).dump(-1, ' ', false, Lohmann::error_handler_t::replace);
}

struct Appending {
  std::string& out;
  void operator()(std::monostate) const { out += "null"; }
  void operator()(bool x) const { out += x ? "true" : "false"; }
  void operator()(std::int64_t x) const { out += std::to_string(x); }
  void operator()(double x) const { out += real_text(x); }
  void operator()(const std::string& x) const { append_string(out, x); }
  void operator()(const Json::Array& list) const {
    out += '[';
    for (std::size_t i = 0; i < list.size(); ++i) {
      out += i ? ", " : " ";
      append_json(out, list[i]);
    }
    out += ']';
  }
  void operator()(const Json::Object& object) const {
    out += '{';
    for (std::size_t i = 0; i < object.size(); ++i) {
      out += i ? ", " : " ";
      append_string(out, object[i].key);
      out += ": ";
      append_json(out, object[i].value);
    }
    out += object.empty() ? " }" : "}";
  }
};

struct Glimpse {
  std::string operator()(std::monostate) const { return "null"; }
  std::string operator()(bool x) const { return x ? "true" : "false"; }
  std::string operator()(std::int64_t x) const { return str("the number ", x); }
  std::string operator()(double x) const { return "the number " + real_text(x); }
  std::string operator()(const std::string& x) const { return "the text " + clipped(x); }
  std::string operator()(const Json::Array& x) const { return str("a list of ", x.size()); }
  std::string operator()(const Json::Object& x) const {
    return str("an object of ", x.size(), x.size() == 1 ? " key" : " keys");
  }
};

}  // namespace

bool Json::operator==(const Json& other) const { return value == other.value; }
bool Member::operator==(const Member& other) const {
  return key == other.key && value == other.value;
}

const Json* Json::find(std::string_view key) const {
  const Object* object = as<Object>();
  if (!object) return nullptr;
  for (const Member& m : *object) {
    if (m.key == key) return &m.value;
  }
  return nullptr;
}

Json parse_json(std::string_view text, const std::string& file) {
  // The parser takes a NUL byte for the end of the text.
  if (const std::size_t nul = text.find('\0'); nul != text.npos) {
    fail(file, ":", line_and_column(text, nul), ": not JSON: a NUL byte");
  }
  TreeBuilder builder(text, file);
  Lohmann::sax_parse(text.begin(), text.end(), &builder);
  return builder.take();
}

void append_json(std::string& out, const Json& json) { std::visit(Appending{out}, json.value); }

std::string json_text(const Json& json) {
  std::string out;
  append_json(out, json);
  return out;
}

std::string glimpse(const Json& json) { return std::visit(Glimpse{}, json.value); }

std::string clipped(std::string_view text) {
  constexpr std::size_t kLongest = 60;
  return quoted(text.substr(0, kLongest)) + (text.size() > kLongest ? "..." : "");
}

}  // namespace plait::io::megengine
