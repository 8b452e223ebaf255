// What a MegEngine profile says, typed, in its own words and order: the graph that ran, when each
// operator ran, what it moved and computed, where every var lay. Ids are one space for operators
// and vars. Keys that are not known here are kept as they stand, in `others`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/shape.h"
#include "io/megengine/json.h"

namespace plait::io::megengine {

using Id = std::int64_t;
using Others = Json::Object;

/// In seconds from a zero that the host's and the device's clocks do not share. `kern` is just
/// before the kernels: start <= kern <= end.
struct Span {
  double end = 0, kern = 0, start = 0;
  bool operator==(const Span&) const = default;
};

/// When an operator ran, by stream of the device or thread of the host.
struct Timing {
  Id op = 0;
  std::vector<std::pair<std::string, Span>> by_place;
  bool operator==(const Timing&) const = default;
};

struct Footprint {
  Id op = 0;
  Json param;                                // an object; a list for Subtensor
  std::vector<Sizes> out_shapes, in_shapes;  // scratch outputs left out
  std::int64_t memory = 0;                   // bytes read and written, scratch left out
  std::optional<std::int64_t> computation;   // counted operations
  Others others;
  bool operator==(const Footprint&) const = default;
};

struct Profiler {
  std::optional<Json::Object> internal;  // `opr_internal_pf`: by operator, as operators say it
  std::optional<std::vector<Timing>> host;
  std::optional<std::vector<Footprint>> footprints;
  std::optional<std::vector<Timing>> device;
  Others others;
  bool operator==(const Profiler&) const = default;
};

struct Operator {
  Id id = 0;
  std::string type, name;
  std::vector<Id> inputs, outputs;  // vars
  /// By comp node, the vars whose readiness is awaited; nothing for what runs on the host alone.
  std::optional<std::vector<std::pair<std::string, std::vector<Id>>>> waiting;
  Json::Object extra;  // of the topological sort
  Others others;
  bool operator==(const Operator&) const = default;
};

struct Layout {
  std::string dtype;  // `Float32`
  Sizes stride, shape;
  bool operator==(const Layout&) const = default;
};

struct MemPlan {
  std::int64_t offset = 0;  // in bytes, into the chunk
  Layout layout;
  std::string chunk;
  bool operator==(const MemPlan&) const = default;
};

/// What could be known of a var before the run.
struct InferTag {
  struct Dep {
    std::string kind;  // SHAPE or VALUE
    Id var = 0;
    bool operator==(const Dep&) const = default;
  };
  std::vector<Dep> deps;
  Json result;             // a list of numbers, a text such as "Large Array", or null
  std::string infer_type;  // CONST, RT_STATIC, MISSING_INP, NO_DESC
  bool operator==(const InferTag&) const = default;
};

struct Var {
  Id id = 0;
  std::string name, comp_node;
  std::vector<std::string> flags;
  std::optional<std::int64_t> dev_ptr;  // now
  std::int64_t prev_dev_ptr = 0;        // at the last run; 0 is none
  std::optional<std::int64_t> prev_dev_ptr_end;
  std::optional<Id> force_update_src;  // the var that this one overwrites
  std::optional<Id> readonly_src;      // `mem_readonly_fwd_src`: the var that this one views
  std::optional<MemPlan> mem_plan;
  std::optional<InferTag> value, shape;
  Others others;
  bool has_flag(std::string_view flag) const {
    for (const std::string& f : flags) {
      if (f == flag) return true;
    }
    return false;
  }
  bool operator==(const Var&) const = default;
};

struct MemChunk {
  std::string id;  // `chk` and the owner
  std::optional<std::int64_t> dev_ptr;
  Id owner = 0;
  std::int64_t bytes = 0;
  Others others;
  bool operator==(const MemChunk&) const = default;
};

struct Record {
  std::string file;
  std::optional<Profiler> profiler;
  bool footprints_on_top = false;  // a document without a run: `opr_footprint` beside `graph_exec`
  std::vector<Id> comp_seq;        // operators in launch order; those left out run on the host
  std::vector<MemChunk> chunks;
  std::vector<Var> vars;
  std::vector<Operator> ops;
  Others graph_others, others;
  bool operator==(const Record&) const = default;
};

inline constexpr std::string_view kScratchFlag = "VOLATILE_CONTENT";
inline constexpr std::string_view kDynamicFlag = "RT_FORCE_DYNAMIC_MEM_ALLOC";
inline constexpr std::string_view kPersistentFlag = "PERSISTENT_DEVICE_VALUE";

}  // namespace plait::io::megengine
