// A record looked up: by id, who makes and who reads a var, what is known of its size. Valid for
// records that were read or made here; built once, in time proportional to the record.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "base/dtype.h"
#include "io/megengine/record.h"

namespace plait::io::megengine {

/// Operators and vars are named by their position in the record.
struct Index {
  explicit Index(const Record& record);

  const Record& record;
  std::unordered_map<Id, int> op_at, var_at;
  std::vector<int> producer;              // by var: the operator
  std::vector<int> owner;                 // by var: see owner_of
  std::vector<std::vector<int>> readers;  // by var: operators of the sequence, in its order
  std::vector<int> step;                  // by operator: its place in the sequence; -1 for the host
  std::vector<const Footprint*> footprint;  // by operator; may be null
  std::vector<const Timing*> device, host;  // by operator; may be null

  const Operator& op(int i) const { return record.ops[static_cast<std::size_t>(i)]; }
  const Var& var(int i) const { return record.vars[static_cast<std::size_t>(i)]; }
  int var_of(Id id) const { return var_at.at(id); }
  int op_of(Id id) const { return op_at.at(id); }
  int producer_of(int var) const { return producer[static_cast<std::size_t>(var)]; }
  /// The var that owns the memory which this one views; itself for most.
  int owner_of(int var) const { return owner[static_cast<std::size_t>(var)]; }
};

/// As recorded: by the memory plan, by inference, or by what makes or reads it.
std::optional<Sizes> shape_of(const Index& index, int var);
/// Of its addresses at the last run, or of its plan, or of its shape in `item` bytes an element.
std::optional<std::int64_t> bytes_of(const Index& index, int var, std::int64_t item);

/// `Float32` -> f32; nothing for what Plait lacks.
std::optional<DType> dtype_of(std::string_view name);
/// The integer that a dtype which Plait lacks is stored in: `QuantizedS8(0.1)` -> i8; u8 where the
/// name does not say.
DType stand_in(std::string_view name);
/// Whether the plan says a dtype that Plait lacks.
bool is_foreign(const Var& var);
std::string_view dtype_name(DType dtype);
/// Of the memory plan, a stand-in where it is foreign; else, where addresses and shape are known,
/// the float of that size.
std::optional<DType> dtype_of(const Index& index, int var);

/// Seconds of kernels: end - kern, over all streams.
double busy_seconds(const Timing& timing);

// Families of operators, by type.
bool is_constant(const Operator& op);  // holds a value between runs
bool is_feed(const Operator& op);
bool is_contraction(const Operator& op);

}  // namespace plait::io::megengine
