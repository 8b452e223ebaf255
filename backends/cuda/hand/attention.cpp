// attention and attention_backward: texts by dtype, sizes of a head and what bounds the keys; and
// how they are launched.
#include "ops/attention.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

#include "backends/cuda/hand/families.h"
#include "backends/cuda/hand/parts.h"
#include "backends/cuda/hand/sources.h"
#include "base/philox.h"
#include "base/text.h"

namespace plait::cuda {
namespace {

constexpr std::int64_t kMostHead = 256;  // elements of a head

/// Which inputs an operand is, in the two ops.
struct Inputs {
  int mask, slopes, offsets, key, y, lse, dy, dlse;
};
bool is_backward(const HandCall& call) { return call.op == "attention_backward"; }
Inputs inputs_of(const HandCall& call) {
  return is_backward(call) ? Inputs{6, 7, 8, 9, 3, 4, 5, 10} : Inputs{3, 4, 5, 6, -1, -1, -1, -1};
}

bool has(const HandCall& call, int i) {
  const auto which = static_cast<std::size_t>(i);
  return i >= 0 && which < call.input_views.size() && call.input_views[which].valid();
}
DType dtype_of(const HandCall& call, int i) {
  return call.inputs[static_cast<std::size_t>(i)].dtype;
}

/// Groups of four warps of a block, each with 64 rows; rows of the other side at a time; and blocks
/// that shall fit on a multiprocessor.
struct Tiles {
  int groups, others, blocks;
  int rows() const { return groups * 64; }
  int threads() const { return groups * 128; }
};

/// As in attention_backward.cuh.
constexpr int kStages = 2;
/// What is lost where shared memory does not begin on 1024 bytes.
constexpr int kAlignment = 1024;
constexpr std::int64_t kMostPlainBytes = 220 << 10;

/// What the text is made for.
struct Form {
  ops::Attention a;
  Inputs in;
  DType dtype = DType::f32;
  std::int64_t d = 0, dv = 0;
  bool backward = false;
  double scale = 0;
  int mask = 0;

  explicit Form(const HandCall& call)
      : a(ir::decode<ops::Attention>(call.attrs, call.op)),
        in(inputs_of(call)),
        dtype(call.inputs[0].dtype),
        d(call.inputs[0].shape.back().value()),
        dv(call.inputs[2].shape.back().value()),
        backward(is_backward(call)) {
    check(std::min(d, dv) >= 1 && std::max(d, dv) <= kMostHead, "attention of heads of ", d,
          " and ", dv);
    scale = a.scale != 0 ? a.scale : 1 / std::sqrt(static_cast<double>(d));
    if (has(call, in.mask)) {
      const DType t = dtype_of(call, in.mask);
      mask = t == DType::boolean ? 1 : t == compute_dtype(dtype) ? 2 : 3;
    }
  }

  bool half() const { return is_half(dtype); }
  std::int64_t largest() const { return std::max((d + 15) / 16 * 16, (dv + 15) / 16 * 16); }
  /// Where there are no tensor cores: rows of a tile, and bytes of shared memory with so many tiles
  /// of the width of q, of v and of probabilities.
  int plain_tile() const {
    const int most = dtype == DType::f64 ? 32 : 64;
    int tile = most;
    while (tile > 16 && plain_bytes(tile, 2, 2, 2) > kMostPlainBytes) tile /= 2;
    return tile;
  }
  std::int64_t plain_bytes(int tile, int of_d, int of_dv, int of_p) const {
    const std::int64_t piece = dtype == DType::f64 ? 2 : 4;  // elements of 16 bytes
    const auto line = [&](std::int64_t n) { return (ceil_div(n, piece) | 1) * 16; };
    return tile * (of_d * line(d) + of_dv * line(dv) + of_p * line(tile));
  }

  // Measured on an H200 for heads of 32 to 256 and 1024 to 16384 keys.
  Tiles forward_tiles() const {
    if (largest() <= 64) return {1, 128, 3};
    if (largest() <= 128) return {2, 128, 1};
    return largest() <= 192 ? Tiles{2, 80, 1} : Tiles{2, 64, 1};
  }
  Tiles key_tiles() const {
    if (largest() <= 64) return {2, 128, 1};
    if (largest() <= 96) return {2, 96, 1};
    return largest() <= 192 ? Tiles{2, 64, 1} : Tiles{2, 32, 1};
  }
  Tiles query_tiles() const {
    if (largest() <= 64) return {1, 64, 3};
    if (largest() <= 96) return {2, 64, 1};
    if (largest() <= 128) return {1, 64, 2};
    return largest() <= 192 ? Tiles{2, 48, 1} : Tiles{2, 32, 1};
  }
  /// Threads that sum a row of y dy: 16 bytes each at a time.
  int row_lanes() const {
    const auto pieces = static_cast<std::uint64_t>(dv) * size_of(dtype) / 16;
    return static_cast<int>(std::bit_ceil(std::clamp<std::uint64_t>(pieces, 1, 32)));
  }
  bool apart() const { return largest() > 128; }

  /// Bytes of a row in shared memory, of q and of v.
  int line_d() const { return static_cast<int>((d + 63) / 64 * 128); }
  int line_v() const { return static_cast<int>((dv + 63) / 64 * 128); }
};

std::string name_of(const HandCall& call, const Form& f) {
  std::string name = str("hand_", call.op, "_", f.dtype, "_", f.d, "_", f.dv);
  if (f.a.causal) name += "_causal";
  if (f.a.window) name += "_window";
  if (has(call, f.in.offsets)) name += str("_documents_", dtype_of(call, f.in.offsets));
  if (f.mask) name += str("_mask_", dtype_of(call, f.in.mask));
  if (has(call, f.in.slopes)) name += str("_slopes_", dtype_of(call, f.in.slopes));
  if (f.a.dropout > 0) name += str("_dropout_", pair_threshold(f.a.dropout));
  if (f.scale <= 0) name += "_scaled";
  if (has(call, f.in.lse)) name += str("_lse_", dtype_of(call, f.in.lse));
  if (has(call, f.in.dlse)) name += str("_", dtype_of(call, f.in.dlse));
  return str(name, "_", call.inputs[0].shape.size());
}

std::string tiles_text(const Tiles& t, const char* of, const char* others) {
  return str("constexpr int k", of, "Groups = ", t.groups, ", k", of, others, " = ", t.others,
             ", k", of, "Blocks = ", t.blocks, ";\n");
}

/// Wide<n>: the instructions for n columns. rows, held: c = a b^T, or c += where `more`, a from
/// shared memory or in registers, lines of both along k; columns: c += a b, a line of b is a k.
std::string wide_text(DType dtype, std::int64_t n) {
  const std::int64_t count = n / 2;
  const auto function = [&](const char* name, bool in_registers, bool turned) {
    const std::int64_t more = count + (in_registers ? 5 : 2);
    std::string text = str("  static __device__ __forceinline__ void ", name, "(float* c, ",
                           in_registers ? "const uint32_t*" : "uint64_t", " a, uint64_t b, ",
                           "bool more) {\n    asm volatile(\"{\\n.reg .pred p;\\nsetp.ne.b32 p, %",
                           more, ", 0;\\n\"\n        \"wgmma.mma_async.sync.aligned.m64n", n,
                           "k16.f32.", dtype, ".", dtype, " {");
    for (std::int64_t i = 0; i < count; ++i) text += str(i ? ", %" : "%", i);
    text += in_registers ? str("}, {%", count, ", %", count + 1, ", %", count + 2, ", %", count + 3,
                               "}, %", count + 4)
                         : str("}, %", count, ", %", count + 1);
    text += str(", p, 1, 1, ", in_registers ? "" : "0, ", turned ? 1 : 0, ";\\n}\\n\"\n        : ");
    for (std::int64_t i = 0; i < count; ++i) text += str(i ? ", \"+f\"(c[" : "\"+f\"(c[", i, "])");
    return str(text, "\n        : ",
               in_registers ? "\"r\"(a[0]), \"r\"(a[1]), \"r\"(a[2]), \"r\"(a[3])" : "\"l\"(a)",
               ", \"l\"(b), \"r\"((int)more));\n  }\n");
  };
  return str("template <>\nstruct Wide<", n, "> {\n", function("rows", false, false),
             function("held", true, false), function("columns", true, true), "};\n");
}

std::string all_wide_text(const Form& f) {
  const auto whole = [](std::int64_t n) { return (n + 15) / 16 * 16; };
  std::set<std::int64_t> widths{whole(f.d), whole(f.dv)};
  if (f.backward) {
    widths.insert({f.key_tiles().others, f.query_tiles().others});
  } else {
    widths.insert(f.forward_tiles().others);
  }
  std::string text = "#ifndef PL_EMULATED\ntemplate <int N>\nstruct Wide {};\n";
  for (std::int64_t n : widths) text += wide_text(f.dtype, n);
  return text + "#endif\n";
}

std::string constants_of(const HandCall& call, const Form& f) {
  const auto is_stored = [&](int i) { return has(call, i) && dtype_of(call, i) == f.dtype; };
  const auto flag = [](const char* name, bool value) {
    return str("constexpr bool ", name, " = ", value ? "true" : "false", ";\n");
  };
  std::string out =
      str("constexpr int kD = ", f.d, ", kDv = ", f.dv, ", kMask = ", f.mask,
          ", kThreshold = ", pair_threshold(f.a.dropout),
          ", kAxes = ", call.inputs[0].shape.size() - 2, ";\n", flag("kCausal", f.a.causal),
          flag("kWindow", f.a.window > 0), flag("kDocuments", has(call, f.in.offsets)),
          flag("kAlibi", has(call, f.in.slopes)), flag("kDropout", f.a.dropout > 0),
          flag("kDirect", f.mask == 0 && !has(call, f.in.slopes) && f.scale > 0),
          flag("kSlopesStored", is_stored(f.in.slopes)), flag("kLseStored", is_stored(f.in.lse)),
          flag("kDlseStored", is_stored(f.in.dlse)), "constexpr int kRowLanes = ", f.row_lanes(),
          ";\n");
  if (!f.half()) return str(out, "constexpr int kTile = ", f.plain_tile(), ";\n");
  out +=
      str("__device__ __forceinline__ void mma(float* c, const uint32_t* a, const uint32_t* b) {",
          " pl_mma_", f.dtype, "(c, a, b); }\n",
          "__device__ __forceinline__ uint32_t pack(float low, float high) { return pl_pack_",
          f.dtype, "(low, high); }\n");
  out += all_wide_text(f);
  if (!f.backward) return out + tiles_text(f.forward_tiles(), "", "Keys");
  return out + tiles_text(f.key_tiles(), "Kv", "Queries") +
         tiles_text(f.query_tiles(), "Q", "Keys") + (f.apart() ? "#define PL_APART\n" : "");
}

/// The sizes of a call and the words that all its kernels take.
struct Cut {
  Form form;
  std::string name;
  std::int64_t batches = 1, heads = 1, groups = 1, queries = 0, keys = 0;
  std::vector<HandWord> words;
  HandPlan plan;

  Cut(const HandCall& call, const DimBindings& bindings);
  /// A kernel whose blocks have so many of `rows` rows, for each of `columns`.
  void add(const std::string& kernel, std::int64_t rows, std::int64_t columns,
           std::int64_t block_rows, int threads, std::int64_t bytes) {
    const std::int64_t blocks = ceil_div(rows, block_rows) * columns;
    if (blocks == 0) return;
    check(blocks < std::int64_t{1} << 31, "attention of ", blocks, " blocks");
    plan.launches.push_back({kernel, blocks, threads, static_cast<int>(bytes), words});
  }

 private:
  void add_addresses(const HandCall& call, const DimBindings& bindings);
  void add_numbers(const HandCall& call, const DimBindings& bindings);
  void add_strides();
  void add_mask(const HandCall& call, const DimBindings& bindings, const Sizes& q);
  std::int64_t offsets_count = 0, offsets_step = 0;
  bool own_documents = false;  // of every batch
};

Cut::Cut(const HandCall& call, const DimBindings& bindings)
    : form(call), name(name_of(call, form)) {
  const Sizes q = sizes_of(call.inputs[0].shape, bindings);
  const Sizes k = sizes_of(call.inputs[1].shape, bindings);
  const std::size_t rank = q.size();
  queries = q[rank - 2];
  keys = k[rank - 2];
  if (rank > 2) {
    heads = q[rank - 3];
    groups = k[rank - 3];
    for (std::size_t i = 0; i + 3 < rank; ++i) batches *= q[i];
  }
  constexpr std::int64_t kMost = std::int64_t{1} << 29;
  check(queries < kMost && keys < kMost && batches * heads < kMost, "attention of ", batches, " x ",
        heads, " heads, ", queries, " queries, ", keys, " keys");
  if (has(call, form.in.offsets)) {
    const Sizes o =
        sizes_of(call.inputs[static_cast<std::size_t>(form.in.offsets)].shape, bindings);
    own_documents = o.size() > 1;
    offsets_count = o.back();
    offsets_step = own_documents ? offsets_count : 0;
  }
  add_addresses(call, bindings);
  add_numbers(call, bindings);
  add_strides();
  add_mask(call, bindings, q);
}

// In the order of Operand in attention.cuh.
void Cut::add_addresses(const HandCall& call, const DimBindings&) {
  const Inputs& in = form.in;
  const auto maybe = [&](int i) { return i < 0 ? HandWord{} : input(call, i); };
  words = {input(call, 0),   input(call, 1),    input(call, 2), maybe(in.mask),
           maybe(in.slopes), maybe(in.offsets), maybe(in.key)};
  if (form.backward) {
    for (int i : {in.y, in.lse, in.dy, in.dlse}) words.push_back(maybe(i));
    for (int i : {0, 1, 2}) words.push_back(output(call, i));
  } else {
    words.push_back(output(call, 0));
    words.push_back(output(call, 1));
    words.resize(words.size() + 5);
  }
  const std::int64_t bounds = has(call, in.offsets) ? queries * (own_documents ? batches : 1) : 0;
  const auto wide = static_cast<std::int64_t>(size_of(compute_dtype(form.dtype)));
  const std::int64_t rows = form.backward ? batches * heads * queries * wide : 0;
  for (std::int64_t bytes : {bounds * 4, bounds * 4, rows, rows}) {
    words.push_back(bytes > 0 ? scratch(add_scratch(plan, bytes)) : HandWord{});
  }
}

void Cut::add_numbers(const HandCall&, const DimBindings&) {
  const auto near = [](std::int64_t x) {  // as good as any that is farther
    constexpr std::int64_t kFar = std::int64_t{1} << 29;
    return std::clamp(x, -kFar, kFar);
  };
  for (std::int64_t n : {batches, heads, groups, queries, keys}) words.push_back(number(n));
  words.push_back(number(form.scale));
  words.push_back(number(near(form.a.offset)));
  words.push_back(number(near(form.a.window)));
  words.push_back(number(1 / (1 - form.a.dropout)));
  for (std::int64_t n : {form.a.stream, own_documents ? queries : 0, offsets_step, offsets_count}) {
    words.push_back(number(n));
  }
}

// q, k, v, y, dy, dq, dk, dv: (batch, head, row).
void Cut::add_strides() {
  const auto add = [&](std::int64_t of, std::int64_t rows, std::int64_t columns) {
    for (std::int64_t n : {of * rows * columns, rows * columns, columns})
      words.push_back(number(n));
  };
  add(heads, queries, form.d);
  add(groups, keys, form.d);
  add(groups, keys, form.dv);
  add(heads, queries, form.dv);
  add(heads, queries, form.dv);
  add(heads, queries, form.d);
  add(groups, keys, form.d);
  add(groups, keys, form.dv);
}

/// Strides of 0 where it broadcasts.
void Cut::add_mask(const HandCall& call, const DimBindings& bindings, const Sizes& q) {
  const Sizes mask =
      form.mask ? sizes_of(call.inputs[static_cast<std::size_t>(form.in.mask)].shape, bindings)
                : Sizes{};
  Sizes scores(q.begin(), q.end() - 1);
  scores.push_back(keys);
  std::vector<std::int64_t> strides(scores.size());
  std::int64_t step = 1;
  for (std::size_t i = 0; i < mask.size(); ++i) {
    const std::int64_t size = mask[mask.size() - 1 - i];
    strides[scores.size() - 1 - i] = size == 1 ? 0 : step;
    step *= size;
  }
  const std::size_t lead = scores.size() - 2;
  words.push_back(number(strides[lead]));
  words.push_back(number(strides[lead + 1]));
  for (std::size_t i = 0; i < lead; ++i) {
    words.push_back(number(scores[i]));
    words.push_back(number(strides[i]));
  }
}

void add_bounds(const HandCall& call, Cut& cut) {
  if (!has(call, cut.form.in.offsets)) return;
  const bool own = call.inputs[static_cast<std::size_t>(cut.form.in.offsets)].shape.size() > 1;
  add_items(cut.plan, cut.name + "_bounds", cut.queries * (own ? cut.batches : 1), cut.words);
}

}  // namespace

Decision takes_attention(const NodeView& node) {
  for (int i : {0, 2}) {
    const Dim& d = node.in(i).shape.back();
    if (!d.is_const() || d.value() < 1 || d.value() > kMostHead) {
      return Decision::forbid(str("its kernel takes heads of 1 to ", kMostHead, ", not of ", d));
    }
  }
  return Decision::allow();
}

std::string attention_text(const HandCall& call) {
  const Form form(call);
  std::string given = types_text(form.dtype, Computed::kCompute) + constants_of(call, form);
  std::string source(!form.half()    ? codegen::hand_attention_plain()
                     : form.backward ? codegen::hand_attention_backward()
                                     : codegen::hand_attention_forward());
  if (has(call, form.in.offsets)) {
    const bool wide = dtype_of(call, form.in.offsets) == DType::i64;
    given += str("typedef int", wide ? 64 : 32, "_t Offset;\n");
    source += codegen::hand_attention_bounds();
  }
  return source_text(call, name_of(call, form), given, source);
}

HandPlan plan_attention(const HandCall& call, const DimBindings& sizes) {
  Cut cut(call, sizes);
  const Form& f = cut.form;
  add_bounds(call, cut);
  const std::int64_t columns = cut.batches * cut.heads;
  if (f.half()) {
    const Tiles t = f.forward_tiles();
    cut.add(cut.name, cut.queries, columns, t.rows(), t.threads(),
            t.rows() * f.line_d() + 2 * t.others * (f.line_d() + f.line_v()) + kAlignment);
  } else {
    const int tile = f.plain_tile();
    cut.add(cut.name, cut.queries, columns, tile, kThreads, f.plain_bytes(tile, 2, 1, 1));
  }
  return cut.plan;
}

HandPlan plan_attention_backward(const HandCall& call, const DimBindings& sizes) {
  Cut cut(call, sizes);
  const Form& f = cut.form;
  add_bounds(call, cut);
  const std::int64_t columns = cut.batches * cut.heads, kv_columns = cut.batches * cut.groups;
  add_items(cut.plan, cut.name + "_rows", columns * cut.queries * f.row_lanes(), cut.words);
  const bool dk = output(call, 1).kind == HandWord::kOutput;
  const bool dv = output(call, 2).kind == HandWord::kOutput;
  const bool apart = f.half() && f.apart();
  const auto add_keys = [&](std::int64_t rows, int threads, std::int64_t bytes) {
    if (apart ? dk : dk || dv) {
      cut.add(cut.name + "_keys", cut.keys, kv_columns, rows, threads, bytes);
    }
    if (apart && dv) cut.add(cut.name + "_values", cut.keys, kv_columns, rows, threads, bytes);
  };
  const auto add_queries = [&](std::int64_t rows, int threads, std::int64_t bytes) {
    if (output(call, 0).kind != HandWord::kOutput) return;
    cut.add(cut.name + "_queries", cut.queries, columns, rows, threads, bytes);
  };
  if (f.half()) {
    const Tiles k = f.key_tiles(), q = f.query_tiles();
    const int line = f.line_d() + f.line_v();
    add_keys(k.rows(), k.threads(),
             k.rows() * line + kStages * k.others * (line + 16) + kAlignment);
    add_queries(q.rows(), q.threads(), (q.rows() + kStages * q.others) * line + kAlignment);
  } else {
    const int tile = f.plain_tile();
    add_keys(tile, kThreads, f.plain_bytes(tile, 2, 2, 2));
    add_queries(tile, kThreads, f.plain_bytes(tile, 2, 2, 1));
  }
  return cut.plan;
}

}  // namespace plait::cuda
