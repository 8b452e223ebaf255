// Fields of kernels and contractions compared one by one.
#include "tests/loop/same_kernel.h"

#include <bit>

namespace plait::loop {
namespace {

bool same(const Dim& a, const Dim& b) {
  std::map<std::string, Dim> x, y;
  a.collect_symbols(x);
  b.collect_symbols(y);
  const auto same_symbol = [](const auto& s, const auto& t) {
    return s.first == t.first && s.second.lo() == t.second.lo() && s.second.hi() == t.second.hi();
  };
  return a == b && a.lo() == b.lo() && a.hi() == b.hi() &&
         std::equal(x.begin(), x.end(), y.begin(), y.end(), same_symbol);
}

bool same(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b) || (a != a && b != b);
}

bool same(const Expr& a, const Expr& b) {
  if (!a || !b) return !a && !b;
  const Tape x = flatten(a), y = flatten(b);
  return std::equal(x.steps.begin(), x.steps.end(), y.steps.begin(), y.steps.end(),
                    [](const Tape::Step& s, const Tape::Step& t) {
                      return s.op == t.op && s.a == t.a && s.b == t.b && s.c == t.c &&
                             same(s.constant, t.constant) && s.load == t.load &&
                             same(s.index, t.index);
                    });
}

bool same(const std::vector<KernelIndex>& a, const std::vector<KernelIndex>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const KernelIndex& x, const KernelIndex& y) {
                      return x.symbol == y.symbol && same(x.extent, y.extent);
                    });
}

bool same(const std::vector<Guard>& a, const std::vector<Guard>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Guard& x, const Guard& y) {
    return same(x.index, y.index) && same(x.lo, y.lo) && same(x.hi, y.hi);
  });
}

bool same(const KernelOperand& a, const KernelOperand& b) {
  if (a.kind != b.kind || !same(a.guards, b.guards) || !same(a.otherwise, b.otherwise)) {
    return false;
  }
  switch (a.kind) {
    case KernelOperand::kLet:
      return a.let == b.let;
    case KernelOperand::kLoad:
      return a.load.buffer == b.load.buffer && same(a.load.offset, b.load.offset);
    case KernelOperand::kTile:
      return true;
    case KernelOperand::kNumber:
      return same(a.number, b.number);
  }
  return false;
}

std::string difference(const Let& a, const Let& b) {
  if (a.dtype != b.dtype) return "dtype";
  if (a.compute != b.compute) return "compute";
  if (!same(a.body, b.body)) return "body";
  if (!same(a.finish, b.finish)) return "finish";
  if (a.reduce != b.reduce || a.column != b.column) return "reduction";
  if (a.level != b.level) return "level";
  if (a.stage != b.stage) return "stage";
  if (a.kept != b.kept) return "kept";
  if (a.index != b.index || !same(a.index_extent, b.index_extent)) return "index";
  if (a.operands.size() != b.operands.size()) return "number of operands";
  for (std::size_t i = 0; i < a.operands.size(); ++i) {
    if (!same(a.operands[i], b.operands[i])) return str("operand ", i);
  }
  return "";
}

bool same(const std::vector<AxisOf<Dim>>& a, const std::vector<AxisOf<Dim>>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const AxisOf<Dim>& x, const AxisOf<Dim>& y) {
                      return same(x.extent, y.extent) && same(x.a, y.a) && same(x.b, y.b) &&
                             same(x.c, y.c) && same(x.h, y.h) && same(x.w, y.w);
                    });
}

}  // namespace

std::string difference(const Kernel& a, const Kernel& b) {
  if (!same(a.rows, b.rows)) return "rows";
  if (!same(a.inner, b.inner)) return "inner indices";
  if (a.stages != b.stages) return "stages";
  if (a.epilogue != b.epilogue || a.batch_rows != b.batch_rows) return "epilogue";
  if (a.open != b.open) return "open";
  if (a.buffers.size() != b.buffers.size()) return "number of buffers";
  for (std::size_t i = 0; i < a.buffers.size(); ++i) {
    const bool equal =
        a.buffers[i].dtype == b.buffers[i].dtype && a.buffers[i].written == b.buffers[i].written;
    if (!equal) return str("buffer ", i);
  }
  if (a.lets.size() != b.lets.size()) return "number of statements";
  for (std::size_t i = 0; i < a.lets.size(); ++i) {
    const std::string what = difference(a.lets[i], b.lets[i]);
    if (!what.empty()) return str(what, " of statement ", i);
  }
  if (a.stores.size() != b.stores.size()) return "number of stores";
  for (std::size_t i = 0; i < a.stores.size(); ++i) {
    const KernelStore &x = a.stores[i], &y = b.stores[i];
    if (x.let != y.let || x.buffer != y.buffer || !same(x.offset, y.offset)) {
      return str("store ", i);
    }
  }
  return "";
}

std::string difference(const Contraction& a, const Contraction& b) {
  if (a.dtype != b.dtype) return "dtype";
  if (!same(a.batch, b.batch)) return "batch";
  if (!same(a.m, b.m)) return "m";
  if (!same(a.n, b.n)) return "n";
  if (!same(a.k, b.k)) return "k";
  if (!same(a.a0, b.a0) || !same(a.b0, b.b0) || !same(a.c0, b.c0)) return "origin";
  if (a.guarded != b.guarded) return "guarded";
  if (!same(a.h0, b.h0) || !same(a.w0, b.w0)) return "origin of the image";
  if (!same(a.height, b.height) || !same(a.width, b.width)) return "image";
  return "";
}

}  // namespace plait::loop
