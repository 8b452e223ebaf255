// Looking a record up.
#include "io/megengine/index.h"

#include <algorithm>
#include <array>

namespace plait::io::megengine {
namespace {

// In the order of DType; MegEngine has no 64-bit types, their names follow its pattern.
constexpr std::array<std::string_view, kDTypeCount> kNames{
    "Float64", "Float32", "Float16", "BFloat16", "Int64",
    "Int32",   "Int16",   "Int8",    "Uint8",    "Bool"};

template <std::size_t N>
bool among(std::string_view word, const std::array<std::string_view, N>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

constexpr std::array<std::string_view, 5> kConstants{
    "ImmutableTensor", "SharedDeviceTensor", "SharedDeviceTensorWithFormat",
    "MultipleDeviceTensorHolder", "VolatileSharedDeviceTensor"};
constexpr std::array<std::string_view, 2> kFeeds{"Host2DeviceCopy", "InputCallback"};
constexpr std::array<std::string_view, 9> kContractions{"ConvolutionForward",
                                                        "ConvBiasForward",
                                                        "ConvolutionBackwardData",
                                                        "ConvolutionBackwardFilter",
                                                        "MatrixMul",
                                                        "BatchedMatrixMul",
                                                        "conv2d",
                                                        "linear",
                                                        "matmul"};

/// Where among the shapes of a footprint an output of its operator stands: scratch has none.
std::optional<std::size_t> place_of_output(const Index& index, const Operator& op, Id var) {
  std::size_t place = 0;
  for (Id out : op.outputs) {
    if (out == var) return place;
    if (!index.var(index.var_of(out)).has_flag(kScratchFlag)) ++place;
  }
  return std::nullopt;
}

std::optional<Sizes> shape_by_producer(const Index& index, int var) {
  const int maker = index.producer_of(var);
  const Footprint* footprint = index.footprint[static_cast<std::size_t>(maker)];
  const Var& v = index.var(var);
  // A callback's shapes are recorded empty: not known, rather than of rank 0.
  if (!footprint || v.has_flag(kScratchFlag) || v.has_flag("NO_SYS_MEM_ALLOC")) return std::nullopt;
  const auto place = place_of_output(index, index.op(maker), v.id);
  if (!place || *place >= footprint->out_shapes.size()) return std::nullopt;
  return footprint->out_shapes[*place];
}

std::optional<Sizes> shape_by_readers(const Index& index, int var) {
  for (int reader : index.readers[static_cast<std::size_t>(var)]) {
    const Footprint* footprint = index.footprint[static_cast<std::size_t>(reader)];
    const Operator& op = index.op(reader);
    if (!footprint || footprint->in_shapes.size() != op.inputs.size()) continue;
    const auto found = std::find(op.inputs.begin(), op.inputs.end(), index.var(var).id);
    if (found == op.inputs.end()) continue;
    return footprint->in_shapes[static_cast<std::size_t>(found - op.inputs.begin())];
  }
  return std::nullopt;
}

/// The numbers of an inferred shape; nothing where it holds anything else.
std::optional<Sizes> sizes_of_result(const Json& result) {
  const auto* list = result.as<Json::Array>();
  if (!list) return std::nullopt;
  Sizes sizes;
  for (const Json& item : *list) {
    const auto* n = item.as<std::int64_t>();
    if (!n) return std::nullopt;
    sizes.push_back(*n);
  }
  return sizes;
}

template <class List>
void note_by_op(const Index& index, const std::optional<List>& from,
                std::vector<const typename List::value_type*>& to) {
  to.assign(index.record.ops.size(), nullptr);
  if (!from) return;
  for (const auto& item : *from) to[static_cast<std::size_t>(index.op_of(item.op))] = &item;
}

/// Follows views to what owns the memory, each link once; a circle of views ends where it began.
std::vector<int> owners(const Index& index) {
  const std::size_t count = index.record.vars.size();
  std::vector<int> owner(count, -1);
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<int> way;
    int at = static_cast<int>(i);
    while (owner[static_cast<std::size_t>(at)] < 0 && index.var(at).readonly_src) {
      owner[static_cast<std::size_t>(at)] = at;
      way.push_back(at);
      at = index.var_of(*index.var(at).readonly_src);
    }
    int& end = owner[static_cast<std::size_t>(at)];
    if (end < 0) end = at;
    for (int v : way) owner[static_cast<std::size_t>(v)] = end;
  }
  return owner;
}

}  // namespace

Index::Index(const Record& r) : record(r) {
  for (const Operator& o : r.ops) op_at.emplace(o.id, static_cast<int>(op_at.size()));
  for (const Var& v : r.vars) var_at.emplace(v.id, static_cast<int>(var_at.size()));
  producer.assign(r.vars.size(), -1);
  readers.resize(r.vars.size());
  step.assign(r.ops.size(), -1);
  for (std::size_t i = 0; i < r.ops.size(); ++i) {
    for (Id out : r.ops[i].outputs) {
      producer[static_cast<std::size_t>(var_of(out))] = static_cast<int>(i);
    }
  }
  for (std::size_t i = 0; i < r.comp_seq.size(); ++i) {
    const int o = op_of(r.comp_seq[i]);
    step[static_cast<std::size_t>(o)] = static_cast<int>(i);
    for (Id in : op(o).inputs) readers[static_cast<std::size_t>(var_of(in))].push_back(o);
  }
  owner = owners(*this);
  footprint.assign(r.ops.size(), nullptr);
  device = host = std::vector<const Timing*>(r.ops.size(), nullptr);
  if (!r.profiler) return;
  note_by_op(*this, r.profiler->footprints, footprint);
  note_by_op(*this, r.profiler->device, device);
  note_by_op(*this, r.profiler->host, host);
}

std::optional<Sizes> shape_of(const Index& index, int var) {
  const Var& v = index.var(var);
  if (v.mem_plan) return v.mem_plan->layout.shape;
  if (v.shape) {
    if (auto sizes = sizes_of_result(v.shape->result)) return sizes;
  }
  if (auto sizes = shape_by_producer(index, var)) return sizes;
  return shape_by_readers(index, var);
}

std::optional<std::int64_t> bytes_of(const Index& index, int var, std::int64_t item) {
  const Var& v = index.var(var);
  if (v.prev_dev_ptr_end) return *v.prev_dev_ptr_end - v.prev_dev_ptr;
  const std::optional<Sizes> shape = shape_of(index, var);
  if (!shape) return std::nullopt;
  if (v.has_flag(kScratchFlag)) return element_count(*shape);  // counted in bytes
  if (v.mem_plan) {
    const std::string& name = v.mem_plan->layout.dtype;
    item = static_cast<std::int64_t>(size_of(dtype_of(name).value_or(stand_in(name))));
  }
  return element_count(*shape) * item;
}

std::optional<DType> dtype_of(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

DType stand_in(std::string_view name) {
  if (name.starts_with("QuantizedS32")) return DType::i32;
  if (name.starts_with("QuantizedS16") || name == "Uint16") return DType::i16;
  if (name.starts_with("QuantizedS")) return DType::i8;
  return DType::u8;
}

bool is_foreign(const Var& var) { return var.mem_plan && !dtype_of(var.mem_plan->layout.dtype); }

std::string_view dtype_name(DType dtype) { return kNames[static_cast<std::size_t>(dtype)]; }

std::optional<DType> dtype_of(const Index& index, int var) {
  const Var& v = index.var(var);
  if (v.mem_plan) {
    const std::string& name = v.mem_plan->layout.dtype;
    return dtype_of(name).value_or(stand_in(name));
  }
  const std::optional<Sizes> shape = shape_of(index, var);
  if (!v.prev_dev_ptr_end || !shape || element_count(*shape) == 0) return std::nullopt;
  const std::int64_t bytes = *v.prev_dev_ptr_end - v.prev_dev_ptr;
  if (bytes == 4 * element_count(*shape)) return DType::f32;
  if (bytes == 2 * element_count(*shape)) return DType::f16;
  return std::nullopt;
}

double busy_seconds(const Timing& timing) {
  double seconds = 0;
  for (const auto& [place, span] : timing.by_place) seconds += span.end - span.kern;
  return seconds;
}

bool is_constant(const Operator& op) { return among(op.type, kConstants); }
bool is_feed(const Operator& op) { return among(op.type, kFeeds); }
bool is_contraction(const Operator& op) { return among(op.type, kContractions); }

}  // namespace plait::io::megengine
