// Kernels and contractions in C.
#include "codegen/print_c.h"

#include <algorithm>
#include <tuple>

#include "base/error.h"
#include "codegen/body_c.h"
#include "codegen/prelude_text.h"
#include "loop/unroll.h"

namespace plait::codegen {
namespace {

constexpr const char* kLoopArguments =
    "(char* const* p, const int64_t* n, int64_t begin, int64_t end, int64_t task, char* scratch, "
    "int* bad)";
constexpr const char* kFinishArguments =
    "(char* const* p, const int64_t* n, int64_t begin, int64_t end, int64_t tasks)";
constexpr const char* kTileArguments =
    "(char* const* p, const int64_t* n, int64_t batch, int64_t m0, int64_t m1, int64_t n0, "
    "int64_t n1, const float* tile, int64_t ld, int* bad)";

/// The indices from their common number.
void decode(Lines& out, const std::vector<loop::KernelIndex>& indices, const std::string& number,
            Parameters& n) {
  decode(out, indices, number, "int64_t", 0, n);
}

/// The tile of a row of an epilogue, and the row's own indices.
Printed print_epilogue(const loop::Kernel& k, bool fixed) {
  Printed printed;
  Parameters n(fixed);
  Lines out;
  Body body(k, n, 0);
  body.prologue(out);
  const std::vector<loop::KernelIndex> batch(k.rows.begin(), k.rows.begin() + k.batch_rows);
  const std::vector<loop::KernelIndex> m(k.rows.begin() + k.batch_rows, k.rows.end());
  decode(out, batch, "batch", n);
  out.open("for (int64_t row = m0; row < m1; ++row)");
  out.add("const float* const tile_ = tile + (row - m0) * ld;");
  decode(out, m, "row", n);
  body.row(out, "n0", "n1", str("tile_[", index_name(k.inner[0].symbol), " - n0]"));
  out.close();
  body.epilogue(out);
  check(body.kept_count() == 0, "an epilogue keeps no rows");
  const std::string text = n.declarations() + out.text();
  set_name(printed, "epilogue", text);
  printed.text = str("void ", printed.name, kTileArguments, " {\n", text, "}\n");
  printed.parameters = n.values();
  printed.rows = loop::row_count(k);
  return printed;
}

}  // namespace

std::string unit_header() {
  std::string text(prelude_text());
  text += "\n";
  for (const auto& [type, suffix, low, high] :
       {std::tuple{"float", 'f', "-__builtin_inff()", "__builtin_inff()"},
        std::tuple{"double", 'd', "-__builtin_inf()", "__builtin_inf()"},
        std::tuple{"int64_t", 'i', "INT64_MIN", "INT64_MAX"}}) {
    text +=
        str("#pragma omp declare reduction(pl_max_", suffix, " : ", type, " : omp_out = pl_max_",
            suffix, "(omp_out, omp_in)) initializer(omp_priv = ", low,
            ")\n#pragma omp declare reduction(pl_min_", suffix, " : ", type, " : omp_out = pl_min_",
            suffix, "(omp_out, omp_in)) initializer(omp_priv = ", high, ")\n");
  }
  return text;
}

Printed print_kernel(const loop::Kernel& given, bool fixed) {
  if (given.epilogue) return print_epilogue(given, fixed);
  loop::Kernel k = loop::with_pairs_of_windows(loop::with_divisors_written_out(given));
  loop::unfold(k);
  Printed printed;
  // How elements of a window lie to each other is worth a text for each size.
  Parameters n(fixed || (loop::reads_windows(k) && !k.open), !k.open);
  Lines out;
  Body body(k, n, 0);
  body.prologue(out);
  const bool flat = k.rows.empty() && k.inner.size() == 1 && is_pointwise(k);
  if (flat) {
    body.row(out, "begin", "end", "");
  } else {
    out.open("for (int64_t row = begin; row < end; ++row)");
    decode(out, k.rows, "row", n);
    body.row(out, "", "", "");
    body.row_done(out);
    out.close();
  }
  body.epilogue(out);
  printed.rows = flat ? k.inner[0].extent : loop::row_count(k);
  printed.scratch_rows = body.kept_count();
  printed.scratch_row_size = loop::inner_count(k);
  printed.column_sizes = body.column_sizes();

  std::string finish;
  Lines last;
  if (k.has_columns()) {
    body.finish_columns(last);
    printed.finish_rows = body.most_columns();
    finish = n.declarations() + last.text();
  }
  const std::string text = n.declarations() + out.text();
  set_name(printed, schedule_name(k), text + finish);
  printed.text = str("void ", printed.name, kLoopArguments, " {\n", text, "}\n");
  if (!finish.empty()) {
    printed.text += str("void ", printed.name, "_finish", kFinishArguments, " {\n", finish, "}\n");
  }
  printed.parameters = n.values();
  return printed;
}

namespace {

/// A generated contraction on its way to text.
class Contracting {
 public:
  Contracting(const loop::Contraction& c, const loop::Kernel* epilogue, bool fixed)
      : c_(c), epilogue_(epilogue), n_(fixed) {}

  Printed run() {
    const DType t = c_.dtype;
    const std::string memory = memory_type(t), type = register_type(t);
    const int own = epilogue_ ? 2 : 3;
    if (!is_empty()) {  // nothing is read, and b's origin may lie behind the buffer
      // That of a may lie before it where it is guarded: the offset has it, not the pointer.
      out_.add(str("const ", memory, "* const A = (const ", memory, "*)p[0];"));
      const std::string origin = n_.text(c_.b0);
      out_.add(str("const ", memory, "* const B = (const ", memory, "*)p[1] + ", origin, ";"));
    }
    if (!epilogue_)
      out_.add(str(memory, "* const C = (", memory, "*)p[2] + ", n_.text(c_.c0), ";"));
    const bool small = c_.n[0].extent.is_const() && c_.n[0].extent.value() <= kMostColumns;
    const std::string columns = small ? str(c_.n[0].extent.value()) : n_.text(c_.n[0].extent);
    Body body(epilogue_ ? *epilogue_ : empty_, n_, own);
    if (epilogue_) body.prologue(out_);
    if (is_turned()) turn(type);
    out_.open("for (int64_t row = begin; row < end; ++row)");
    const std::string m = n_.text(extent_of(c_.m));
    out_.add(str("const int64_t batch = row / ", m, ", mm = row % ", m, ";"));
    walk("B", c_.batch, "batch");
    walk("M", c_.m, "mm");
    out_.open(str("for (int64_t n0 = 0; n0 < ", columns, "; n0 += ", kMostColumns, ")"));
    const std::string most = str(kMostColumns);
    out_.add(small ? str("enum { w = ", columns, " };")
                   : str("const int64_t w = ", columns, " - n0 < ", most, " ? ", columns,
                         " - n0 : ", most, ";"));
    if (!is_empty()) {
      out_.add(str(type, " acc[", small ? columns : most, "]", kAligned, ";"));
      out_.add(str("for (int64_t j = 0; j < w; ++j) acc[j] = 0;"));
      sums(type);
    }
    results(body);
    out_.close();
    out_.close();
    if (epilogue_) body.epilogue(out_);
    Printed printed;
    const std::string text = n_.declarations() + out_.text();
    set_name(printed, "product", text);
    printed.text = str("void ", printed.name, kLoopArguments, " {\n", text, "}\n");
    printed.parameters = n_.values();
    printed.rows = extent_of(c_.batch) * extent_of(c_.m);
    return printed;
  }

 private:
  static constexpr std::int64_t kMostColumns = 256, kMostTurned = 4096;
  // gcc 12 stores whole vectors to such arrays and may leave the frame of a function that calls
  // nothing 8 bytes off.
  static constexpr const char* kAligned = " __attribute__((aligned(64)))";

  /// Nothing is summed, whatever the sizes.
  bool is_empty() const { return extent_of(c_.k).is(0); }

  void results(Body& body) {
    const DType t = c_.dtype;
    const auto sum = [&](const std::string& column) {
      return is_empty() ? number_text(loop::compute_type(t), 0) : str("acc[", column, "]");
    };
    if (!epilogue_) {
      out_.add(str("for (int64_t j = 0; j < w; ++j) C[cB + cM + (n0 + j) * ", n_.text(c_.n[0].c),
                   "] = ", stored_text(t, rounded_text(loop::compute_type(t), t, sum("j"))), ";"));
      return;
    }
    const auto middle = epilogue_->rows.begin() + epilogue_->batch_rows;
    decode(out_, {epilogue_->rows.begin(), middle}, "batch", n_);
    decode(out_, {middle, epilogue_->rows.end()}, "mm", n_);
    body.row(out_, "n0", "n0 + w", sum(index_name(epilogue_->inner[0].symbol) + " - n0"));
  }

  static Dim extent_of(const std::vector<loop::AxisOf<Dim>>& axes) {
    Dim size = 1;
    for (const auto& x : axes) size = size * x.extent;
    return size;
  }

  /// B is small and its columns lie apart: a copy in which they are neighbours serves all rows.
  bool is_turned() const {
    const Dim size = extent_of(c_.k) * c_.n[0].extent;
    const bool alone = std::all_of(c_.batch.begin(), c_.batch.end(),
                                   [](const loop::AxisOf<Dim>& x) { return x.b.is(0); });
    return alone && !c_.n[0].b.is(1) && size.is_const() && size.value() <= kMostTurned &&
           size.value() > 0;
  }

  void turn(const std::string& type) {
    const std::int64_t columns = c_.n[0].extent.value();
    out_.add(str(type, " turned[", extent_of(c_.k).value() * columns, "]", kAligned, ";"));
    std::string offset = "0";
    std::string number = "0";
    for (std::size_t i = 0; i < c_.k.size(); ++i) {
      const std::string index = str("k", i), extent = n_.text(c_.k[i].extent);
      out_.open(str("for (int64_t ", index, " = 0; ", index, " < ", extent, "; ++", index, ")"));
      offset += str(" + ", index, " * ", n_.text(c_.k[i].b));
      number = str("(", number, ") * ", extent, " + ", index);
    }
    out_.add(str(
        "for (int64_t j = 0; j < ", columns, "; ++j) turned[(", number, ") * ", columns,
        " + j] = ", loaded_text(c_.dtype, str("B[", offset, " + j * ", n_.text(c_.n[0].b), "]")),
        ";"));
    for (std::size_t i = 0; i < c_.k.size(); ++i) out_.close();
  }

  /// Offsets a<name>, b<name>, c<name> and coordinates h<name>, w<name> of a flattened index.
  void walk(const std::string& name, const std::vector<loop::AxisOf<Dim>>& axes,
            std::string number) {
    std::string sums[5];
    for (std::size_t i = axes.size(); i-- > 0;) {
      const std::string index = str("i", name, i);
      const std::string extent = n_.text(axes[i].extent);
      out_.add(i == 0 ? str("const int64_t ", index, " = ", number, ";")
                      : str("const int64_t ", index, " = ", number, " % ", extent, ";"));
      number = str("(", number, " / ", extent, ")");
      add_terms(sums, axes[i], index);
    }
    emit(sums, name);
  }

  void add_terms(std::string* sums, const loop::AxisOf<Dim>& x, const std::string& index) {
    const Dim* steps[] = {&x.a, &x.b, &x.c, &x.h, &x.w};
    for (int s = 0; s < 5; ++s) {
      if (!steps[s]->is(0)) sums[s] += str(" + ", index, " * ", n_.text(*steps[s]));
    }
  }

  void emit(const std::string* sums, const std::string& name) {
    constexpr const char* names[] = {"a", "b", "c", "h", "w"};
    for (int s = 0; s < 5; ++s) {
      if (s >= 3 && !c_.guarded) break;
      out_.add(str("const int64_t ", names[s], name, " = 0", sums[s], ";"));
    }
  }

  void sums(const std::string& type) {
    std::string steps[5];
    for (std::size_t i = 0; i < c_.k.size(); ++i) {
      const std::string index = str("k", i);
      out_.open(str("for (int64_t ", index, " = 0; ", index, " < ", n_.text(c_.k[i].extent), "; ++",
                    index, ")"));
      add_terms(steps, c_.k[i], index);
    }
    if (c_.k.empty()) out_.open("");
    emit(steps, "K");
    if (is_turned()) {
      std::string number = "0";
      for (std::size_t i = 0; i < c_.k.size(); ++i) {
        number = str("(", number, ") * ", n_.text(c_.k[i].extent), " + k", i);
      }
      out_.add(str("const int64_t kB = (", number, ") * ", c_.n[0].extent.value(), ";"));
    }
    const std::string origin = c_.a0.is(0) ? "" : " + " + n_.text(c_.a0);
    const std::string a = loaded_text(c_.dtype, str("A[aB + aM + aK", origin, "]"));
    if (c_.guarded) {
      const std::string h0 = n_.guarded(n_.text(c_.h0)), w0 = n_.guarded(n_.text(c_.w0));
      out_.add(str("const int64_t h = hB + hM + hK + ", h0, ", w_ = wB + wM + wK + ", w0, ";"));
      // A block, not a `continue`: where the sum has one term there is no loop of its own to go on.
      out_.open(str("if (h >= 0 && h < ", n_.text(c_.height), " && w_ >= 0 && w_ < ",
                    n_.text(c_.width), ")"));
    }
    out_.add(str("const ", type, " a = ", a, ";"));
    std::string b = "turned[kB + n0 + j]";
    if (!is_turned()) {
      b = loaded_text(c_.dtype, str("B[bB + bM + bK + (n0 + j) * ", n_.text(c_.n[0].b), "]"));
    }
    out_.add("#pragma omp simd");
    out_.add(str("for (int64_t j = 0; j < w; ++j) acc[j] += a * ", b, ";"));
    if (c_.guarded) out_.close();
    for (std::size_t i = 0; i < std::max<std::size_t>(1, c_.k.size()); ++i) out_.close();
  }

  const loop::Contraction& c_;
  const loop::Kernel* epilogue_;
  loop::Kernel empty_;
  Parameters n_;
  Lines out_;
};

}  // namespace

Printed print_contraction(const loop::Contraction& contraction, const loop::Kernel* epilogue,
                          bool fixed) {
  return Contracting(contraction, epilogue, fixed).run();
}

}  // namespace plait::codegen
