// A device's text form: a first line `plait-device FORMAT`, a line `name value` per number, `end`.
#include "base/device_model.h"

#include <charconv>
#include <cmath>
#include <set>

#include "base/error.h"
#include "base/text.h"

namespace plait {
namespace {

constexpr std::string_view kFirst = "plait-device ", kFormat = "1", kLast = "end";

/// One list of names for writing and reading; M is const when it is written.
template <class A, class M>
void tile_fields(A& a, M& t) {
  a("tiles.begin_us", t.begin_us);
  a("tiles.next_us", t.next_us);
  a("tiles.latency_us", t.latency_us);
  a("tiles.bytes_per_us", t.bytes_per_us);
  a("tiles.image_per_us", t.image_per_us);
  a("tiles.chain_us", t.chain_us);
  a("tiles.ahead_us", t.ahead_us);
  a("tiles.wave_us", t.wave_us);
  a("tiles.guards_us", t.guards_us);
  a("tiles.turned_part", t.turned_part);
  a("tiles.store_us", t.store_us);
  a("tiles.pair_store_us", t.pair_store_us);
  a("tiles.shown_part", t.shown_part);
  a("tiles.gather_us", t.gather_us);
  a("tiles.split_us", t.split_us);
  a("tiles.many_us", t.many_us);
  a("tiles.pick_us", t.pick_us);
  a("tiles.epilogue_byte_us", t.epilogue_byte_us);
  a("tiles.epilogue_statement_us", t.epilogue_statement_us);
  a("tiles.simple_per_us", t.simple_per_us);
  a("tiles.simple_step_us", t.simple_step_us);
  a("tiles.products_per_us", t.products_per_us);
}

template <class A, class M>
void fields(A& a, M& m) {
  a("name", m.name);
  a("backend", m.backend);
  a("source", m.source);
  a("processors", m.processors);
  a("clusters", m.clusters);
  a("cycles_per_second", m.cycles_per_second);
  a("bytes_per_second", m.bytes_per_second);
  a("processor_bytes_per_second", m.processor_bytes_per_second);
  a("cache_bytes", m.cache_bytes);
  a("cache_bytes_per_second", m.cache_bytes_per_second);
  a("step_seconds", m.step_seconds);
  a("meeting_seconds", m.meeting_seconds);
  a("finish_seconds", m.finish_seconds);
  a("link_bytes_per_second", m.link_bytes_per_second);
  a("operations_per_second", m.operations_per_second);
  a("share", m.share);
  tile_fields(a, m.tiles);
}

/// Numbers that costs stay finite by; a rate of 0 is one that nobody has measured.
struct Checking {
  const std::string& where;
  void operator()(std::string_view, const std::string&) const {}
  void operator()(std::string_view, int) const {}
  void operator()(std::string_view, std::int64_t) const {}
  void operator()(std::string_view name, double x) const {
    if (name.ends_with("_seconds")) return between(name, x, 0, 1);
    if (name.ends_with("_per_second") || name.ends_with("_per_us")) {
      return x == 0 ? void() : between(name, x, 1, 1e30);
    }
    between(name, x, 0, 1e6);  // microseconds, and parts
  }
  void operator()(std::string_view name, const std::map<std::string, double>& all) const {
    const bool is_share = name == "share";
    for (const auto& [key, x] : all) {
      between(str(name, ":", key), x, is_share ? 1e-6 : 1, is_share ? 1e6 : 1e30);
    }
  }
  void between(std::string_view name, double x, double least, double most) const {
    if (x >= least && x <= most) return;
    fail(where, ": '", name, "' of the device is ", x, ", which is not in ", least, "..", most);
  }
};

struct Writing {
  std::string out;
  void operator()(const char* name, const std::string& x) { out += str(name, " ", x, "\n"); }
  template <class T>
  void operator()(const char* name, T x) {
    char text[32];
    out += str(name, " ", std::string(text, std::to_chars(text, text + sizeof text, x).ptr), "\n");
  }
  void operator()(const char* name, const std::map<std::string, double>& x) {
    for (const auto& [key, value] : x) (*this)(str(name, ":", key).c_str(), value);
  }
};

class Reading {
 public:
  Reading(std::string_view text, const std::string& where) : where_(where) {
    std::vector<std::string> lines = split(std::string(text), '\n');
    if (lines.empty() || !lines[0].starts_with(kFirst)) fail(where, ": this is no device");
    if (lines[0].substr(kFirst.size()) != kFormat) {
      fail(where, ": the device is of format '", lines[0].substr(kFirst.size()), "', this is ",
           kFormat);
    }
    while (!lines.empty() && lines.back().empty()) lines.pop_back();
    if (lines.back() != kLast) fail(where, ": the device is cut: its last line is not 'end'");
    for (std::size_t i = 1; i + 1 < lines.size(); ++i) {
      const std::size_t cut = lines[i].find(' ');
      const std::string name = lines[i].substr(0, cut);
      const std::string value = cut == std::string::npos ? "" : lines[i].substr(cut + 1);
      if (!values_.emplace(name, value).second) fail(where, ": '", name, "' is said twice");
    }
  }

  void operator()(const char* name, std::string& x) { x = take(name); }
  template <class T>
  void operator()(const char* name, T& x) {
    x = number<T>(name, take(name));
  }
  void operator()(const char* name, std::map<std::string, double>& x) {
    const std::string prefix = str(name, ":");
    for (auto v = values_.lower_bound(prefix); v != values_.end() && v->first.starts_with(prefix);
         v = values_.erase(v)) {
      x.emplace(v->first.substr(prefix.size()), number<double>(v->first, v->second));
    }
  }
  void expect_end() const {
    if (!values_.empty()) fail(where_, ": a device has no '", values_.begin()->first, "'");
  }

 private:
  std::string take(const char* name) {
    const auto found = values_.find(name);
    if (found == values_.end()) fail(where_, ": the device does not say '", name, "'");
    std::string value = std::move(found->second);
    values_.erase(found);
    return value;
  }
  template <class T>
  T number(const std::string& name, const std::string& text) const {
    T x{};
    const char* const end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, x);
    if (read.ec != std::errc() || read.ptr != end || !std::isfinite(static_cast<double>(x)) ||
        x < 0) {
      fail(where_, ": '", name, "' of the device is ", quoted(text),
           ", which is no number from 0 on");
    }
    return x;
  }

  const std::string& where_;
  std::map<std::string, std::string> values_;
};

}  // namespace

double DeviceModel::operations(const std::string& arithmetic) const {
  auto found = operations_per_second.find(arithmetic);
  if (found == operations_per_second.end()) found = operations_per_second.find("f32");
  return found == operations_per_second.end() ? 0 : found->second;
}

double DeviceModel::share_of(const std::string& kind) const {
  const auto found = share.find(kind);
  return found == share.end() ? 1 : found->second;
}

std::string to_text(const DeviceModel& model) {
  Writing writing{str(kFirst, kFormat, "\n")};
  fields(writing, model);
  return writing.out + str(kLast, "\n");
}

DeviceModel device_model_from_text(std::string_view text, const std::string& where) {
  DeviceModel out;
  Reading reading(text, where);
  fields(reading, out);
  reading.expect_end();
  if (out.processors < 1) fail(where, ": a device has a processor, at least");
  return out;
}

void check_usable(const DeviceModel& m, const std::string& where) {
  const auto above_zero = [&](const char* name, double x) {
    if (!(x > 0)) fail(where, ": '", name, "' of the device is 0: nothing can be predicted by it");
  };
  const Checking checking{where};
  fields(checking, m);
  above_zero("bytes_per_second", m.bytes_per_second);
  above_zero("processor_bytes_per_second", m.processor_bytes_per_second);
  above_zero("cache_bytes_per_second", m.cache_bytes_per_second);
  above_zero("operations_per_second:f32", m.operations("f32"));
  if (m.backend == "cpu") above_zero("cycles_per_second", m.cycles_per_second);
  if (m.backend != "cuda") return;
  for (const auto& [core, rate] : h200().tiles.products_per_us) {
    const auto found = m.tiles.products_per_us.find(core);
    above_zero(str("tiles.products_per_us:", core).c_str(),
               found == m.tiles.products_per_us.end() ? 0 : found->second);
  }
  above_zero("tiles.bytes_per_us", m.tiles.bytes_per_us);
  above_zero("tiles.image_per_us", m.tiles.image_per_us);
  above_zero("tiles.simple_per_us", m.tiles.simple_per_us);
}

}  // namespace plait
