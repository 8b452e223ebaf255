// Types of the kernels' text, and small parts of plans.
#include "backends/cuda/hand/parts.h"

#include <bit>

#include "backends/cuda/hand/sources.h"
#include "base/text.h"

namespace plait::cuda {
namespace {

struct Stored {
  std::string_view type;              // as stored
  std::string_view widen_f, widen;    // to float where it is a half, and to W
  std::string_view narrow_f, narrow;  // from float and from double
};

/// How a dtype is stored and converted.
Stored stored(DType t) {
  switch (t) {
    case DType::f64:
      return {"double", "", "", "", ""};
    case DType::f32:
      return {"float", "", "", "", "(float)"};
    case DType::f16:
      return {"uint16_t", "pl_f16_to_f", "", "pl_f_to_f16", "pl_d_to_f16"};
    case DType::bf16:
      return {"uint16_t", "pl_bf16_to_f", "", "pl_f_to_bf16", "pl_d_to_bf16"};
    case DType::i64:
      return {"int64_t", "", "(int64_t)", "", "(T)"};
    case DType::i32:
      return {"int32_t", "", "(int64_t)", "", "(T)"};
    case DType::i16:
      return {"int16_t", "", "(int64_t)", "", "(T)"};
    case DType::i8:
      return {"int8_t", "", "(int64_t)", "", "(T)"};
    default:
      return {"uint8_t", "", "(int64_t)", "", "(T)"};
  }
}

std::string_view computed_type(DType t, Computed computed) {
  if (is_float(t)) {
    return t == DType::f64 || computed == Computed::kWide ? "double" : "float";
  }
  if (computed == Computed::kCompared) return t == DType::i64 ? "int64_t" : "int32_t";
  return "pl_word";
}

}  // namespace

std::string types_text(DType dtype, Computed computed) {
  const Stored s = stored(dtype);
  const std::string_view wide = computed_type(dtype, computed);
  const std::string_view narrow = wide == "float" ? s.narrow_f : s.narrow;
  return str("typedef ", s.type, " T;\ntypedef ", wide, " W;\n",
             "__device__ __forceinline__ W widen(T x) { return (W)", s.widen, s.widen_f, "(x); }\n",
             "__device__ __forceinline__ T narrow(W x) { return ", narrow, "(x); }\n",
             codegen::hand_parts());
}

std::string source_text(const HandCall& call, const std::string& name, const std::string& given,
                        std::string_view source) {
  const std::string op = "PL_OP_" + call.op;
  std::string out =
      str("#define ", op, "\nnamespace ", name, "_ {\n", given, source, "}\n#undef ", op, "\n");
  const std::string_view mark = "NAME";
  for (std::size_t i = 0; (i = out.find(mark, i)) != std::string::npos; i += name.size()) {
    out.replace(i, mark.size(), name);
  }
  return out;
}

ops::Lines lines_of(const ir::Type& type, std::int64_t axis, const DimBindings& sizes) {
  const Sizes all = sizes_of(type.shape, sizes);
  return ops::lines_along(all, axis < 0 ? axis + static_cast<std::int64_t>(all.size()) : axis);
}

HandWord input(const HandCall& call, int i) {
  const auto which = static_cast<std::size_t>(i);
  if (which >= call.input_views.size() || !call.input_views[which].valid()) return {};
  return {HandWord::kInput, i};
}
HandWord output(const HandCall& call, int i) {
  const auto which = static_cast<std::size_t>(i);
  if (which >= call.output_views.size() || !call.output_views[which].valid()) return {};
  return {HandWord::kOutput, i};
}
HandWord scratch(std::int64_t offset) { return {HandWord::kScratch, offset}; }
HandWord number(std::int64_t value) { return {HandWord::kNumber, value}; }
HandWord number(double value) { return {HandWord::kNumber, std::bit_cast<std::int64_t>(value)}; }
HandWord bad() { return {HandWord::kBad, 0}; }

void add_items(HandPlan& plan, const std::string& function, std::int64_t items,
               std::vector<HandWord> words) {
  if (items <= 0) return;
  const int threads = items < kThreads ? static_cast<int>(ceil_div(items, 32) * 32) : kThreads;
  plan.launches.push_back({function, ceil_div(items, threads), threads, 0, std::move(words)});
}

std::int64_t add_scratch(HandPlan& plan, std::int64_t bytes) {
  const std::int64_t offset = plan.scratch_bytes;
  plan.scratch_bytes += ceil_div(bytes, 256) * 256;
  return offset;
}

}  // namespace plait::cuda
