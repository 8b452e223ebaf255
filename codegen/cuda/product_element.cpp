// An epilogue's statements as functions of elements.
#include "codegen/cuda/product_element.h"

#include <algorithm>
#include <set>

#include "base/at.h"
#include "base/error.h"
#include "codegen/cuda/body.h"
#include "codegen/cuda/prepare.h"

namespace plait::codegen::cuda {
namespace {

using loop::Kernel;
using loop::KernelOperand;
using loop::Let;

/// Bytes of loads that a thread holds at once.
constexpr int kHeldBytes = 192;

bool moves_with_rows(const Kernel& k, const Dim& offset) {
  return std::any_of(k.rows.begin(), k.rows.end(),
                     [&](const auto& row) { return loop::mentions(offset, row.symbol); });
}

/// Every distinct load that changes with the column, by its first operand.
template <class F>
void each_load(const Kernel& k, F see) {
  std::set<std::string> seen;
  for (const Let& let : k.lets) {
    for (const KernelOperand& o : let.operands) {
      if (o.kind != KernelOperand::kLoad) continue;
      const Dim& offset = o.load.offset;
      if (!loop::mentions(offset, k.inner.back().symbol)) continue;
      if (!seen.insert(str(o.load.buffer, '@', offset.text())).second) continue;
      see(o);
    }
  }
}

/// Whether nothing but places changes from row to row: what is no column's is the call's.
bool is_row_free(const Kernel& k) {
  const auto of_rows = [&](const Dim& d) { return loop::level_of(k, d) == loop::Level::kRow; };
  for (const Let& let : k.lets) {
    if (let.level == loop::Level::kRow) return false;
    for (const KernelOperand& o : let.operands) {
      if (o.kind != KernelOperand::kLoad) continue;
      if (of_rows(o.load.offset)) return false;
      for (const loop::Guard& g : o.guards) {
        if (of_rows(g.index) || of_rows(g.lo) || of_rows(g.hi)) return false;
      }
    }
  }
  return std::none_of(k.stores.begin(), k.stores.end(), [&](const loop::KernelStore& s) {
    return store_level(k, s) == loop::Level::kRow;
  });
}

class ElementPrinter {
 public:
  ElementPrinter(const Kernel& epilogue, int first_buffer, int first_size, bool fixed,
                 const ElementTile& tile)
      : k_(epilogue), first_buffer_(first_buffer), first_size_(first_size), tile_(tile), n_(fixed) {
    s_.wide = is_wide(k_);
    type_ = s_.wide ? "int64_t" : "int";
  }

  ElementText run() {
    Lines body, ahead;
    statements(body);
    if (tile_.pieces > 0) asks(ahead);
    const std::string begin = sizes() + buffers();
    ElementText element;
    const std::string arrays = tile_.pieces > 0  ? str("int64_t rows, int down, const ", tile_.type,
                                                       " (*tile)[", tile_.lanes, "]")
                               : tile_.lanes > 1 ? str("const ", tile_.type, "* tile")
                                                 : tile_.type + " tile";
    element.text = function(tile_.name, arrays + ", int& bad_", begin + body.text());
    if (tile_.pieces > 0) {
      element.text += function(tile_.name + "_ahead", "int count", begin + ahead.text());
    }
    element.parameters = n_.values();
    return element;
  }

 private:
  static std::string function(const std::string& name, const std::string& parameters,
                              const std::string& body) {
    return str("__device__ __forceinline__ void ", name,
               "(const pl_word* w, int64_t batch, int64_t m, int64_t n, ", parameters, ") {\n",
               body, "}\n");
  }

  std::string sizes() const {
    std::string text;
    for (std::size_t i = 0; i < n_.values().size(); ++i) {
      text += str("  const ", type_, " N", i, " = (", type_, ")w[", i + at(first_size_), "];\n");
    }
    return text;
  }

  std::string buffers() const {
    std::string text;
    for (std::size_t b = 0; b < k_.buffers.size(); ++b) {
      const std::string constant = k_.buffers[b].written ? "" : "const ";
      const std::string held = constant + memory_type(k_.buffers[b].dtype);
      text += str("  ", held, "* const b", b, " = (", held, "*)w[", b + at(first_buffer_), "];\n");
    }
    return text;
  }

  void place(Lines& out, const std::string& row) {
    const auto middle = k_.rows.begin() + k_.batch_rows;
    decode(out, {k_.rows.begin(), middle}, str("(", type_, ")batch"), type_, 0, n_);
    decode(out, {middle, k_.rows.end()}, str("(", type_, ")", row), type_, 0, n_);
    decode(out, k_.inner, str("(", type_, ")n"), type_, 1, n_);
  }

  void statements(Lines& out) {
    Body body(k_, s_, tile_.lanes, n_, tile_.value);
    const std::string first = "batch == 0 && m == 0 && n == 0";
    if (tile_.pieces == 0) {
      place(out, "m");
      body.point(out, first, "n == 0");
      return;
    }
    body.call(out, first);
    Walk walk;
    walk.steps = tile_.pieces;
    walk.batched = true;
    walk.open = [&](Lines& to) {
      to.open("if (m + c_ * down < rows)");
      place(to, "(m + c_ * down)");
      return 1;
    };
    if (is_row_free(k_)) {
      body.row(out, 0, "");
    } else {
      walk.also = [&](Lines& to) { body.row(to, 0, "n == 0"); };
    }
    body.inner(out, 0, walk, "");
  }

  /// Asks for what a row's elements load.
  void asks(Lines& out) {
    place(out, "m");
    each_load(k_, [&](const KernelOperand& o) {
      if (!o.guards.empty() || !is_vector(k_, o.load.offset, 1)) return;
      if (!moves_with_rows(k_, o.load.offset)) return;
      out.add(str("pl_ahead(b", o.load.buffer, " + ", index_text(o.load.offset, n_), ", count * ",
                  size_of(k_.buffers[at(o.load.buffer)].dtype), ");"));
    });
  }

  const Kernel& k_;
  int first_buffer_, first_size_;
  const ElementTile& tile_;
  Parameters n_;
  Schedule s_;
  std::string type_;
};

}  // namespace

ElementText print_element(const Kernel& kernel, int first_buffer, int first_size, bool fixed,
                          const ElementTile& tile) {
  const Kernel epilogue = without_idle_guards(kernel);
  check(epilogue.epilogue && epilogue.inner.size() == 1, "an element is one of a tile");
  return ElementPrinter(epilogue, first_buffer, first_size, fixed, tile).run();
}

int element_lanes(const Kernel& kernel) {
  if (kernel.inner.size() != 1) return 1;
  for (const int lanes : {8, 4, 2}) {
    if (!is_multiple(kernel.inner.back().extent, lanes)) continue;
    std::size_t widest = 0;
    const auto see = [&](int buffer, const Dim& offset) {
      if (!is_vector(kernel, offset, lanes)) return;
      widest = std::max(widest, size_of(kernel.buffers[at(buffer)].dtype));
    };
    for (const Let& let : kernel.lets) {
      for (const KernelOperand& o : let.operands) {
        if (o.kind == KernelOperand::kLoad) see(o.load.buffer, o.load.offset);
      }
    }
    for (const loop::KernelStore& store : kernel.stores) see(store.buffer, store.offset);
    if (widest > 0 && widest * at(lanes) <= 16) return lanes;
  }
  return 1;
}

int element_pieces(const Kernel& kernel, int lanes, int most) {
  const Kernel k = without_idle_guards(kernel);
  const bool loaded_places = std::any_of(k.lets.begin(), k.lets.end(), [](const Let& let) {
    return !let.index.empty() && let.level != loop::Level::kCall;
  });
  if (loaded_places) return 0;
  const int bytes = element_bytes(k).held * lanes;
  int pieces = 1;
  while (2 * pieces <= most && 2 * pieces * bytes <= kHeldBytes) pieces *= 2;
  return pieces;
}

ElementBytes element_bytes(const Kernel& k) {
  ElementBytes bytes;
  each_load(k, [&](const KernelOperand& o) {
    const auto size = static_cast<int>(size_of(k.buffers[at(o.load.buffer)].dtype));
    bytes.held += size;
    if (moves_with_rows(k, o.load.offset)) bytes.loaded += size;
  });
  for (const loop::KernelStore& s : k.stores) {
    if (!loop::mentions(s.offset, k.inner.back().symbol)) continue;
    bytes.stored += static_cast<int>(size_of(k.buffers[at(s.buffer)].dtype));
  }
  return bytes;
}

}  // namespace plait::codegen::cuda
