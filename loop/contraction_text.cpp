// Contractions in text.
#include <array>

#include "base/symbols.h"
#include "base/text.h"
#include "loop/kernel_text.h"

namespace plait::loop {
namespace {

template <class T>
struct Field {
  std::string_view name;
  T* value;
};

/// The same for printing and parsing: `T` is `const Dim` and `Dim`.
template <class T, class Axis>
std::array<Field<T>, 5> fields_of(Axis& x) {
  return {{{"a", &x.a}, {"b", &x.b}, {"c", &x.c}, {"h", &x.h}, {"w", &x.w}}};
}
template <class T, class C>
std::array<Field<T>, 5> origin_of(C& c) {
  return {{{"a", &c.a0}, {"b", &c.b0}, {"c", &c.c0}, {"h", &c.h0}, {"w", &c.w0}}};
}
template <class T, class C>
std::array<Field<T>, 2> image_of(C& c) {
  return {{{"h", &c.height}, {"w", &c.width}}};
}

class Printer {
 public:
  explicit Printer(const Contraction& c) : c_(c) {}

  std::string run() {
    axes("batch", c_.batch);
    axes("m", c_.m);
    axes("n", c_.n);
    axes("k", c_.k);
    const std::string origin = fields(origin_of<const Dim>(c_));
    if (!origin.empty()) out_ += str("  origin", origin, "\n");
    const std::string image = fields(image_of<const Dim>(c_));
    if (c_.guarded || !c_.height.is(1) || !c_.width.is(1)) {
      out_ += str(c_.guarded ? "  image" : "  unguarded", image, "\n");
    }
    const std::string symbols = symbols_text(symbols_);
    return str(symbols, symbols.empty() ? "" : "\n", "contraction ", c_.dtype, " {\n", out_, "}\n");
  }

 private:
  /// Those that are not 0.
  template <std::size_t N>
  std::string fields(const std::array<Field<const Dim>, N>& list) {
    std::vector<std::string> parts;
    for (const auto& [name, value] : list) {
      value->collect_symbols(symbols_);
      if (!value->is(0)) parts.push_back(str(name, " = ", value->text()));
    }
    return parts.empty() ? "" : ": " + join(parts, ", ");
  }

  void axes(std::string_view name, const std::vector<AxisOf<Dim>>& list) {
    for (const AxisOf<Dim>& x : list) {
      x.extent.collect_symbols(symbols_);
      out_ += str("  ", name, " ", x.extent.text(), fields(fields_of<const Dim>(x)), "\n");
    }
  }

  const Contraction& c_;
  std::map<std::string, Dim> symbols_;
  std::string out_;
};

class Parser {
 public:
  explicit Parser(std::string_view text) : in_{text} {}

  Contraction run() {
    symbols_ = read_symbols(in_);
    if (!in_.take_word("contraction")) in_.expected("'symbol' or 'contraction'");
    c_.dtype = in_.dtype("the dtype of a contraction's operands");
    in_.expect('{', "before the axes");
    c_.height = c_.width = 1;
    while (!in_.take('}')) line();
    if (!in_.at_end()) in_.expected("the end of the text");
    return std::move(c_);
  }

 private:
  void line() {
    if (in_.take_word("batch")) return axis(c_.batch);
    if (in_.take_word("m")) return axis(c_.m);
    if (in_.take_word("n")) return axis(c_.n);
    if (in_.take_word("k")) return axis(c_.k);
    if (in_.take_word("origin")) return fields(origin_of<Dim>(c_));
    const bool guarded = in_.take_word("image");
    if (!guarded && !in_.take_word("unguarded")) {
      in_.expected("'batch', 'm', 'n', 'k', 'origin', 'image', 'unguarded' or '}'");
    }
    c_.guarded = guarded;
    c_.height = c_.width = 0;
    fields(image_of<Dim>(c_));
  }

  void axis(std::vector<AxisOf<Dim>>& axes) {
    AxisOf<Dim> x;
    x.extent = dim();
    fields(fields_of<Dim>(x));
    axes.push_back(std::move(x));
  }

  template <std::size_t N>
  void fields(const std::array<Field<Dim>, N>& known) {
    if (!in_.take(':')) return;
    do {
      const std::size_t start = in_.skip();
      const std::string name = in_.name("the name of a number");
      Dim* to = nullptr;
      std::vector<std::string> names;
      for (const Field<Dim>& f : known) {
        if (f.name == name) to = f.value;
        names.emplace_back(f.name);
      }
      if (!to) {
        throw SyntaxError{
            start, str("no number here is named ", quoted(name), ". Known: ", join(names, ", "))};
      }
      in_.expect('=', "after the name of a number");
      *to = dim();
    } while (in_.take(','));
  }

  Dim dim() {
    return in_.dim([&](std::string_view name) { return symbol_named(name, symbols_, in_.text); });
  }

  Lexer in_;
  DimBindings symbols_;
  Contraction c_;
};

}  // namespace

std::string print(const Contraction& contraction) { return Printer(contraction).run(); }

Contraction parse_contraction(std::string_view text, std::string_view file) {
  return located_in(text, file, [&] { return Parser(text).run(); });
}

}  // namespace plait::loop
