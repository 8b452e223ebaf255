// Text to record: the document as a whole, and its profiler half.
#include "io/megengine/read.h"

#include <cmath>

#include "base/text.h"
#include "io/import.h"
#include "io/megengine/format.h"

namespace plait::io::megengine {
namespace {

constexpr double kMostSeconds = 1e9;  // about 30 years

/// The id that a key of an object is.
Id id_of_key(const At& object, std::size_t i) {
  const std::string& key = object.object()[i].key;
  const std::optional<Id> id = id_of(key);
  if (!id) object.fail("the key ", clipped(key), " is no id; expected digits");
  return *id;
}

Span read_span(const At& at) {
  const At end = at.at("end"), kern = at.at("kern"), start = at.at("start");
  const Span span{end.real(), kern.real(), start.real()};
  for (const At* time : {&start, &kern, &end}) {
    if (std::fabs(time->real()) > kMostSeconds) {
      time->fail("is ", real_text(time->real()), " seconds; expected no more than 1e9");
    }
  }
  if (!(span.start <= span.kern && span.kern <= span.end)) {
    at.fail("expected start <= kern <= end, is ", real_text(span.start), ", ", real_text(span.kern),
            ", ", real_text(span.end));
  }
  return span;
}

std::vector<Timing> read_timings(const At& all) {
  std::vector<Timing> out;
  for (std::size_t i = 0; i < all.object().size(); ++i) {
    const At at = all.member(i);
    Timing timing{id_of_key(all, i), {}};
    for (std::size_t j = 0; j < at.object().size(); ++j) {
      timing.by_place.emplace_back(at.object()[j].key, read_span(at.member(j)));
    }
    out.push_back(std::move(timing));
  }
  return out;
}

std::vector<Sizes> read_shapes(const At& list) {
  std::vector<Sizes> out;
  for (std::size_t i = 0; i < list.list().size(); ++i) out.push_back(list.item(i).sizes());
  return out;
}

Footprint read_footprint(const At& at, Id op) {
  constexpr std::int64_t kMostOperations = std::int64_t{1} << 60;
  Footprint out;
  out.op = op;
  const At param = at.at("param"), outs = at.at("out_shapes"), ins = at.at("in_shapes"),
           memory = at.at("memory"), computation = at.at("computation");
  if (!param.json().as<Json::Object>() && !param.json().as<Json::Array>()) {
    param.fail("expected an object or a list, is ", glimpse(param.json()));
  }
  out.param = param.json();
  out.out_shapes = read_shapes(outs);
  out.in_shapes = read_shapes(ins);
  out.memory = memory.count(kMostBytes);
  if (!computation.is_null()) out.computation = computation.count(kMostOperations);
  out.others = others_of(at, {"param", "out_shapes", "in_shapes", "memory", "computation"});
  return out;
}

std::vector<Footprint> read_footprints(const At& all) {
  std::vector<Footprint> out;
  std::int64_t operations = 0;
  for (std::size_t i = 0; i < all.object().size(); ++i) {
    const At at = all.member(i);
    out.push_back(read_footprint(at, id_of_key(all, i)));
    const std::int64_t more = out.back().computation.value_or(0);
    if (__builtin_add_overflow(operations, more, &operations)) {
      at.fail("the operations of the document are more than 64 bits hold");
    }
  }
  return out;
}

Profiler read_profiler(const At& at) {
  Profiler out;
  if (const auto internal = at.find("opr_internal_pf")) {
    out.internal = internal->object();
    for (std::size_t i = 0; i < internal->object().size(); ++i) id_of_key(*internal, i);
  }
  if (const auto host = at.find("host")) out.host = read_timings(*host);
  if (const auto footprints = at.find("opr_footprint")) {
    out.footprints = read_footprints(*footprints);
  }
  if (const auto device = at.find("device")) out.device = read_timings(*device);
  out.others = others_of(at, {"opr_internal_pf", "host", "opr_footprint", "device"});
  return out;
}

}  // namespace

bool detects(std::string_view head) {
  const std::size_t brace = head.find_first_not_of(" \t\r\n");
  if (brace == head.npos || head[brace] != '{') return false;
  const std::size_t quote = head.find_first_not_of(" \t\r\n", brace + 1);
  if (quote == head.npos) return false;
  const std::string_view rest = head.substr(quote);
  return rest.starts_with("\"profiler\"") || rest.starts_with("\"graph_exec\"") ||
         (rest.starts_with("\"") && rest.find("\"graph_exec\"") != rest.npos);
}

Record read(std::string_view text, const std::string& file) {
  const Json json = parse_json(text, file);
  const At root(json, file);
  Record record;
  record.file = file;
  if (const auto profiler = root.find("profiler")) record.profiler = read_profiler(*profiler);
  if (const auto footprints = root.find("opr_footprint")) {
    if (record.profiler && record.profiler->footprints) {
      footprints->fail("stands here and in the profiler; expected it once");
    }
    if (!record.profiler) record.profiler.emplace();
    record.profiler->footprints = read_footprints(*footprints);
    record.footprints_on_top = true;
  }
  const At graph = root.at("graph_exec");
  read_graph_exec(graph, record);
  record.others = others_of(root, {"profiler", "opr_footprint", "graph_exec"});
  check_graph(record);
  check_profiler(record);
  return record;
}

}  // namespace plait::io::megengine
