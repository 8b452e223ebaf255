// The text of a contraction's kernel: its operands, sizes and what becomes of an element, for the
// templates of the prelude. NAME_k is a place in k, NAME_a and NAME_b are the operands, NAME_p is
// the whole problem: what prelude_tile.h and prelude_product.h call K, X and P.
#include "codegen/cuda/product.h"

#include <algorithm>

#include "base/error.h"
#include "codegen/cuda/product_element.h"
#include "codegen/cuda/product_guess.h"
#include "codegen/cuda/product_shape.h"
#include "codegen/scalar_c.h"

namespace plait::codegen::cuda {
namespace {

constexpr const char* kStatic = "  static __device__ __forceinline__ ";

/// "@" stands for the kernel's name until it is known.
class ProductText {
 public:
  ProductText(const Form& form, const Shape& shape, const loop::Kernel* epilogue, bool fixed,
              bool together)
      : f_(form), s_(shape), epilogue_(epilogue), fixed_(fixed), together_(together) {
    const int buffers = epilogue ? 2 + static_cast<int>(epilogue->buffers.size()) : 3;
    scratch_ = buffers;
    errors_ = buffers + (shape.splits > 1 ? 1 : 0);
    const bool tensor = shape.core != Core::kSimple && shape.core != Core::kFma;
    if (mod(extent_of(form.columns), 4).is(0) && size_of(loop::compute_type(form.dtype)) == 4)
      parts_ = 4;
    if (tensor || shape.splits > 1) {
      put_ = !epilogue ? form.put : form.swapped ? 1 : element_lanes(*epilogue);
    }
    if (shape.splits > 1) put_ = std::min(put_, parts_);
    packed_ = tensor && shape.splits == 1 && form.packed;
    if (tensor) choose_pieces();
    walks_ = walks();
  }

  Printed run() {
    Printed p;
    std::string text = k_text();
    text += operand_text('a', f_.a, f_.rows) + operand_text('b', f_.b, f_.columns);
    text += problem_text();
    std::string before;
    if (epilogue_) {
      const std::string piece = element_pieces_ > 0 ? "tile[c_]" : "tile";
      const std::string lane = put_ > 1 ? "[l_]" : element_pieces_ > 0 ? "[0]" : "";
      // Its own copy: two products of a unit may have the same epilogue.
      ElementTile tile{put_, element_pieces_, sum_type(), piece + lane, "@_element"};
      if (packed_) tile.value = loaded_text(f_.dtype, tile.value);
      const ElementText element = print_element(
          *epilogue_, 2, errors_ + 1 + static_cast<int>(parameters_.size()), fixed_, tile);
      before = element.text;
      parameters_.insert(parameters_.end(), element.parameters.begin(), element.parameters.end());
    }
    if (s_.core == Core::kPair) add_maps();
    text = before + text + kernels_text(static_cast<int>(parameters_.size()) + errors_ + 1);
    set_name(p, "product", text);
    replace(text, "@", p.name);
    p.text = text;
    p.parameters = parameters_;
    p.threads = s_.threads();
    p.maps = s_.core == Core::kPair ? 2 : 0;
    if (s_.core == Core::kSimple && !together_) p.element_threads = s_.lanes;
    p.table = together_;
    p.block_bytes = block_bytes(f_, s_);
    set_sizes(p);
    return p;
  }

 private:
  static void replace(std::string& text, const std::string& from, const std::string& to) {
    for (std::size_t i = text.find(from); i != std::string::npos; i = text.find(from, i)) {
      text.replace(i, from.size(), to);
      i += to.size();
    }
  }

  /// How many rows' elements a thread has at once, and what is asked for while products go on: as
  /// much as the cache holds besides the operands, as early as the memory needs.
  void choose_pieces() {
    constexpr int kMostPieces = 8, kAheadBytes = 160 * 1024, kStepBytes = 16 * 1024;
    const int wm = s_.bm / s_.warps_m, wn = s_.bn / s_.warps_n;
    const int down = 32 / std::min(32, wn / (s_.splits > 1 ? parts_ : put_));
    pieces_ = std::min(kMostPieces, wm / down);
    if (!epilogue_ || f_.swapped || s_.splits > 1) return;
    element_pieces_ = element_pieces(*epilogue_, put_, pieces_);
    if (element_pieces_ == 0) return;
    pieces_ = element_pieces_;
    const int row = element_bytes(*epilogue_).loaded * s_.bn * s_.warps_m;  // of every warp
    if (row == 0) return;
    ahead_rows_ = std::min(wm, kAheadBytes / held_blocks(f_, s_) / row);
    ahead_steps_ = 3 + ahead_rows_ * row / kStepBytes;
  }

  /// Whether the next tile's first stages lie beside the sums of this one.
  bool walks() const {
    const int sums = s_.bm * (s_.bn + 8) * (packed_ ? 2 : 4);
    const int behind = 2 * (s_.bm + s_.bn) * s_.bk * static_cast<int>(size_of(f_.dtype));
    return s_.walks && sums <= behind;
  }

  void set_sizes(Printed& p) const {
    const Dim batch = extent_of(f_.batch), rows = extent_of(f_.rows);
    const Dim columns = extent_of(f_.columns), elements = batch * rows * columns;
    if (s_.core == Core::kSimple) {
      p.blocks = ceildiv(elements, 256 / s_.lanes);
      return;
    }
    if (s_.core == Core::kPair) {
      p.blocks = ceildiv(rows, 2 * s_.bm) * ceildiv(columns, s_.bn) * 2;
      if (!together_) p.blocks = min(p.blocks, Dim(f_.device->processors));
      return;
    }
    p.blocks = batch * ceildiv(rows, s_.bm) * ceildiv(columns, s_.bn) * s_.splits;
    if (walks_) p.blocks = min(p.blocks, Dim(f_.device->processors));
    if (s_.splits == 1) return;
    const auto bytes = static_cast<std::int64_t>(size_of(loop::compute_type(f_.dtype)));
    p.scratch_sizes = {ceildiv(elements * s_.splits * bytes, 8)};
    p.finish_blocks = ceildiv(elements, 1024);
  }

  std::string size(const Dim& d, const char* type = "I") {
    if (d.is_const() && (fixed_ || d.is(0) || d.is(1))) return str(d.value());
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      if (parameters_[i] == d) return word(i, type);
    }
    parameters_.push_back(d);
    return word(parameters_.size() - 1, type);
  }
  std::string word(std::size_t i, const char* type) const {
    return str("(", type, ")w[", errors_ + 1 + static_cast<int>(i), "]");
  }

  /// Of a sum on its way to where it is stored.
  std::string sum_type() const {
    return packed_ ? memory_type(f_.dtype) : register_type(loop::compute_type(f_.dtype));
  }

  std::string type() const { return f_.wide ? "int64_t" : "int"; }
  std::string unsigned_type() const { return f_.wide ? "uint64_t" : "uint32_t"; }

  /// The digits of a number over the axes, as statements `TYPE x0 = ...`, outermost first.
  std::string digits(const std::vector<Axis>& axes, std::string number, const std::string& type) {
    std::string text;
    for (std::size_t i = axes.size(); i-- > 0;) {
      const std::string extent = size(axes[i].extent, type.c_str());
      if (i == 0) {
        text += str("    const ", type, " x0 = ", number, ";\n");
        break;
      }
      const std::string u = type == "I" ? "@_u" : "uint64_t";
      text += str("    const ", type, " q", i, " = (", type, ")((", u, ")", number, " / (", u, ")(",
                  extent, ")), x", i, " = ", number, " - q", i, " * (", extent, ");\n");
      number = str("q", i);
    }
    return text;
  }

  /// Sum of `stem`i times the axes' steps.
  std::string sum(const std::vector<Axis>& axes, Dim Axis::*step, const std::string& stem,
                  const char* type = "I") {
    std::string text = "0";
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const Dim& d = axes[i].*step;
      if (d.is(0)) continue;
      text += d.is(1) ? str(" + ", stem, i) : str(" + ", stem, i, " * (", size(d, type), ")");
    }
    return text;
  }

  /// A place in k: a digit per axis. Only the outermost can pass its end.
  std::string k_text() {
    const std::size_t n = f_.k.size();
    std::string text =
        str("typedef ", unsigned_type(), " @_u;\nstruct @_k {\n  typedef ", type(), " I;\n  I ");
    for (std::size_t i = 0; i < n; ++i) text += str(i ? ", x" : "x", i);
    text += ";\n  __device__ __forceinline__ void start(const pl_word* w, I at) {\n";
    for (std::size_t i = n; i-- > 1;) {
      const std::string e = size(f_.k[i].extent);
      text += str("    x", i, " = (I)((@_u)at % (@_u)(", e, "));\n    at = (I)((@_u)at / (@_u)(", e,
                  "));\n");
    }
    text += "    x0 = at;\n  }\n";
    const bool once = f_.k.back().extent.lo() >= s_.bk * s_.slices && s_.core != Core::kSimple;
    text += "  template <int STEP>\n  __device__ __forceinline__ void move(const pl_word* w) {\n";
    text += str("    x", n - 1, " += STEP;\n");
    if (n > 1) {
      text += str("    if constexpr (STEP == 1 || ", once ? "true" : "false", ") {\n");
      text += carry(true) + "    } else {\n" + carry(false) + "    }\n";
    }
    text +=
        str("  }\n  __device__ __forceinline__ bool inside(const pl_word* w, I more = 0) const {\n",
            "    return x0 + more < ", size(f_.k[0].extent), ";\n  }\n};\n");
    return text;
  }

  std::string carry(bool once) {
    std::string text, tail;
    for (std::size_t i = f_.k.size(); i-- > 1;) {
      const std::string e = size(f_.k[i].extent);
      if (once) {
        text += str("      if (x", i, " >= ", e, ") {\n      x", i, " -= ", e, ";\n      ++x",
                    i - 1, ";\n");
        tail += "      }\n";
      } else {
        text += str("      const I q", i, " = (I)((@_u)x", i, " / (@_u)(", e, "));\n      x", i,
                    " -= q", i, " * (", e, ");\n      x", i - 1, " += q", i, ";\n");
      }
    }
    return text + tail;
  }

  std::string operand_text(char name, const FormOperand& x, const std::vector<Axis>& rows) {
    const std::string memory = memory_type(f_.dtype);
    const bool linear_k = f_.k.size() == 1 && !x.guarded;
    std::string text = str("struct @_", name, " {\n  typedef ", type(), " I;\n  typedef ", memory,
                           " T;\n  static constexpr int V = ", x.vector,
                           ";\n  static constexpr bool ALONG_K = ", x.along_k ? "true" : "false",
                           ", GUARDED = ", x.guarded ? "true" : "false",
                           ", LINEAR = ", x.linear ? "true" : "false",
                           ", LINEAR_K = ", linear_k ? "true" : "false", ";\n");
    text += str(kStatic, "const T* base(const pl_word* w) { return (const T*)w[", x.word, "]; }\n");
    text += str(kStatic, "int64_t origin(const pl_word* w, int64_t batch, int& h, int& v) {\n");
    text += digits(f_.batch, "batch", "int64_t");
    text += coordinates(x, f_.batch, f_.h0, f_.w0, "int64_t");
    text += str("    return ", size(x.origin, "int64_t"), " + ",
                sum(f_.batch, x.step, "x", "int64_t"), ";\n  }\n");
    text += str(kStatic, "void row(const pl_word* w, I row, I& at, int& h, int& v) {\n");
    text += digits(rows, "row", "I") + coordinates(x, rows, 0, 0, "I");
    text += str("    at = ", sum(rows, x.step, "x"), ";\n  }\n");
    if (x.linear) {
      text += str(kStatic, "I step(const pl_word* w) { return ",
                  rows.empty() ? "0" : size(rows[0].*x.step), "; }\n");
    }
    if (linear_k) {
      text += str(kStatic, "I step_k(const pl_word* w) { return ", size(f_.k[0].*x.step), "; }\n");
    }
    text += str(kStatic, "I offset(const pl_word* w, const @_k& k) { return ",
                sum(f_.k, x.step, "k.x"), "; }\n");
    if (x.guarded) {
      text += str(kStatic, "int h(const pl_word* w, const @_k& k) { return (int)(",
                  sum(f_.k, &Axis::h, "k.x"), "); }\n");
      text += str(kStatic, "int w(const pl_word* w, const @_k& k) { return (int)(",
                  sum(f_.k, &Axis::w, "k.x"), "); }\n");
      text += str(kStatic, "int height(const pl_word* w) { return (int)", size(f_.height), "; }\n");
      text += str(kStatic, "int width(const pl_word* w) { return (int)", size(f_.width), "; }\n");
    }
    return text + "};\n";
  }

  std::string coordinates(const FormOperand& x, const std::vector<Axis>& axes, const Dim& h0,
                          const Dim& w0, const char* type) {
    if (!x.guarded) return "    h = v = 0;\n";
    return str("    h = (int)(", size(h0, type), " + ", sum(axes, &Axis::h, "x", type),
               ");\n    v = (int)(", size(w0, type), " + ", sum(axes, &Axis::w, "x", type), ");\n");
  }

  std::string problem_text() {
    const std::string acc = register_type(loop::compute_type(f_.dtype));
    std::string text = str("struct @_p {\n  typedef ", type(), " I;\n  typedef ", acc,
                           " ACC;\n  typedef @_k K;\n  typedef @_a A;\n  typedef @_b B;\n");
    text += str("  typedef ", sum_type(), " S;\n  static constexpr bool PUTS_PIECES = ",
                element_pieces_ > 0 ? "true" : "false", ";\n  static constexpr int BM = ", s_.bm,
                ", BN = ", s_.bn, ", RB = ", s_.bk * static_cast<int>(size_of(f_.dtype)),
                ", STAGES = ", s_.stages, ", WARPS_M = ", s_.warps_m, ", WARPS_N = ", s_.warps_n,
                ", SLICES = ", s_.slices, ", SPLITS = ", s_.splits, ", PUT = ", put_,
                ", PARTS = ", parts_, ", PIECES = ", pieces_, ", AHEAD_ROWS = ", ahead_rows_,
                ", AHEAD_STEPS = ", ahead_steps_, ", BLOCK_BYTES = ", block_bytes(f_, s_),
                ", SCRATCH = ", scratch_, ", ERRORS = ", errors_, ";\n");
    text += core_text();
    text += str(kStatic, "ACC value(", memory_type(f_.dtype), " x) { return (ACC)",
                loaded_text(f_.dtype, "x"), "; }\n");
    const auto number = [&](const char* name, const char* type, const std::vector<Axis>& axes) {
      text += str(kStatic, type, " ", name, "(const pl_word* w) { return ",
                  size(extent_of(axes), type), "; }\n");
    };
    number("rows", "I", f_.rows);
    number("columns", "I", f_.columns);
    number("depth", "I", f_.k);
    number("batches", "int64_t", f_.batch);
    return text + put_text() + "};\n";
  }

  /// How the operands lie: see kMapWords.
  void add_maps() {
    for (const auto& [x, rows] : {std::pair{&f_.a, &f_.rows}, {&f_.b, &f_.columns}}) {
      const Dim size = static_cast<std::int64_t>(size_of(f_.dtype));
      const Axis &inner = x->along_k ? f_.k[0] : (*rows)[0],
                 &outer = x->along_k ? (*rows)[0] : f_.k[0];
      for (const Dim& d :
           {Dim(x->word), x->origin * size, inner.extent, outer.extent, outer.*x->step * size}) {
        parameters_.push_back(d);
      }
    }
  }

  std::string core_text() const {
    if (s_.core == Core::kSimple)
      return f_.long_sums ? "  static constexpr bool LONG = true;\n" : "";
    const bool wgmma = s_.core == Core::kWgmma || s_.core == Core::kPair;
    const char* core = wgmma ? "wgmma" : s_.core == Core::kMma ? "mma" : "fma";
    const std::string plain = str("pl_", core, "_core<P, TA, TB>");
    std::string text = str("  template <class P, class TA, class TB>\n  using CORE = ",
                           f_.long_sums ? str("pl_long_core<", plain, ">") : plain, ";\n");
    if (wgmma) text += wgmma_text();
    const std::string t(name_of(f_.dtype));
    if (s_.core == Core::kMma) {
      text +=
          str(kStatic, "void mma(float* c, const uint32_t* a, const uint32_t* b) {\n    pl_mma_",
              f_.dtype == DType::f32 ? "tf32" : t, "(c, a, b);\n  }\n");
    }
    if (packed_) {
      text +=
          str(kStatic, "uint32_t pack(float low, float high) { return pl_pack_", t,
              "(low, high); }\n", kStatic, "S packed(float x) { return pl_f_to_", t, "(x); }\n");
    }
    return text;
  }

  /// The instruction for the tile's width.
  std::string wgmma_text() const {
    const bool words = f_.dtype == DType::f32;
    const std::string t = words ? "tf32" : std::string(name_of(f_.dtype));
    const int count = s_.bn / 2;
    std::string text =
        str("#ifndef PL_EMULATED\n", kStatic, "void wgmma(float* c, uint64_t a, uint64_t b) {\n",
            "    asm volatile(\"{\\n.reg .pred p;\\nsetp.ne.b32 p, 1, 0;\\n\"\n",
            "        \"wgmma.mma_async.sync.aligned.m64n", s_.bn, words ? "k8" : "k16", ".f32.", t,
            ".", t, " {");
    for (int i = 0; i < count; ++i) text += str(i ? ", %" : "%", i);
    text += str("}, %", count, ", %", count + 1, ", p, 1, 1");
    if (!words) text += str(", ", f_.a.along_k ? 0 : 1, ", ", f_.b.along_k ? 0 : 1);
    text += ";\\n}\\n\"\n        : ";
    for (int i = 0; i < count; ++i) text += str(i ? ", \"+f\"(c[" : "\"+f\"(c[", i, "])");
    return text + "\n        : \"l\"(a), \"l\"(b));\n  }\n#endif\n";
  }

  std::string put_text() {
    if (element_pieces_ > 0) {
      return str(kStatic, "void put_pieces(const pl_word* w, int64_t batch, I m, I n, I rows, ",
                 "int down, const S (*sums)[", put_, "], int& bad) {\n",
                 "    @_element(w, batch, m, n, rows, down, sums, bad);\n  }\n", kStatic,
                 "void ahead(const pl_word* w, int64_t batch, I m, I n, int count) {\n",
                 "    @_element_ahead(w, batch, m, n, count);\n  }\n");
    }
    if (epilogue_) {
      const char* many = put_ > 1 ? "put_many" : "put";
      return str(kStatic, "void ", many, "(const pl_word* w, int64_t batch, I m, I n, ",
                 put_ > 1 ? "const S* sum" : "ACC sum", ", int& bad) {\n    @_element(w, batch, ",
                 f_.swapped ? "n, m" : "m, n", ", sum, bad);\n  }\n");
    }
    const std::string memory = memory_type(f_.dtype);
    std::string text =
        str(kStatic, memory, "* place(const pl_word* w, int64_t batch, I m, I n) {\n");
    const auto place = [&](const char* name, const std::vector<Axis>& axes, const char* number,
                           const char* type) {
      text += str("    int64_t ", name, ";\n    {\n", digits(axes, number, type), "    ", name,
                  " = ", sum(axes, &Axis::c, "(int64_t)x", "int64_t"), ";\n    }\n");
    };
    place("c0", f_.batch, "batch", "int64_t");
    place("c1", f_.rows, "m", "I");
    place("c2", f_.columns, "n", "I");
    text += str("    return (", memory, "*)w[2] + (", size(f_.c0, "int64_t"),
                " + c0 + c1 + c2);\n  }\n");
    const DType t = f_.dtype;
    const auto stored = [&](const char* value) {
      return stored_text(t, rounded_text(loop::compute_type(t), t, value));
    };
    text += str(kStatic, "void put(const pl_word* w, int64_t batch, I m, I n, ACC sum, int&) {\n",
                "    *place(w, batch, m, n) = ", stored("sum"), ";\n  }\n");
    if (put_ == 1) return text;
    text += str(kStatic, "void put_many(const pl_word* w, int64_t batch, I m, I n, const S* sums, ",
                "int&) {\n");
    if (packed_) {
      return text + "    pl_move<PUT>(place(w, batch, m, n), sums);\n  }\n";
    }
    return text + str("    alignas(16) ", memory,
                      " out[PUT];\n#pragma unroll\n    for (int i = 0; i < PUT; ++i) out[i] = ",
                      stored("sums[i]"), ";\n    pl_move<PUT>(place(w, batch, m, n), out);\n  }\n");
  }

  std::string kernels_text(int words) const {
    const auto both = [&](const std::string& name, const std::string& call,
                          const std::string& threads, const std::string& launched) {
      return str("__device__ __forceinline__ void ", name,
                 "_body(const pl_word* w, int64_t block) { ", call, "(w, block); }\n",
                 "extern \"C\" __global__ void __launch_bounds__(", threads, ") ", name,
                 "(const pl_words<", words, "> w) {\n  pl_begin();\n  ", launched,
                 "(w.v, blockIdx.x);\n}\n");
    };
    if (s_.core == Core::kPair) return pair_text(words);
    const std::string body = s_.core == Core::kSimple
                                 ? str("pl_product_simple<@_p, ", s_.lanes, ">")
                                 : "pl_product<@_p>::run";
    const std::string threads = str(s_.threads());
    if (together_) {
      return str(
          "extern \"C\" __global__ void __launch_bounds__(", threads,
          ") @(const pl_words<3> w) {\n  pl_begin();\n",
          "  const int64_t each = gridDim.x / (int64_t)w.v[1], call = blockIdx.x / each;\n  ", body,
          "((const pl_word*)w.v[0] + call * (int64_t)w.v[2], ", "blockIdx.x - call * each);\n}\n");
    }
    std::string text = both("@", body, threads, walks_ ? "pl_product<@_p>::run_all" : "@_body");
    if (s_.splits > 1) text += both("@_finish", "pl_product_finish<@_p>", "256", "@_finish_body");
    return text;
  }

  std::string pair_text(int words) const {
    return str("#ifndef PL_EMULATED\nextern \"C\" __global__ void __cluster_dims__(2, 1, 1) ",
               "__launch_bounds__(384, 1) @(const ",
               together_ ? "pl_words<3>" : str("__grid_constant__ pl_mapped<2, ", words, ">"),
               " w) {\n  pl_begin();\n  pl_pair<@_p, ", together_ ? "true" : "false", ">::run(",
               together_ ? "(const pl_word*)w.v[0], w.v[1], w.v[2]" : "w.maps[0].v, 1, 0",
               ");\n}\n#endif\n");
  }

  const Form& f_;
  const Shape& s_;
  const loop::Kernel* epilogue_;
  bool fixed_;
  bool together_;
  int scratch_ = 0, errors_ = 0;  // words
  int put_ = 1, parts_ = 1;       // neighbours stored at once, as results and as parts of sums
  int pieces_ = 1;                // rows of a thread at once
  int element_pieces_ = 0;        // the same, where the epilogue has them in one call
  int ahead_rows_ = 0;            // of a warp's: what they load is asked for before
  int ahead_steps_ = 0;           // tiles of k before the last
  bool packed_ = false;           // halves when they are stored
  bool walks_ = false;            // a block has several tiles
  std::vector<Dim> parameters_;
};

}  // namespace

Printed print_product(const loop::Contraction& contraction, const loop::Kernel* epilogue,
                      bool fixed, const ProductOptions& options) {
  const Form form = form_with(contraction, epilogue, options);
  const Shape shape = shape_for(form, options.variant, options.tf32, options.pairs);
  Printed printed = ProductText(form, shape, epilogue, fixed, options.calls > 1).run();
  printed.schedule = to_text(shape);
  return printed;
}

}  // namespace plait::codegen::cuda
