// Parsing kernels: every name is looked up where it stands, so that a mistake is reported there.
#include <charconv>
#include <optional>

#include "base/at.h"
#include "base/symbols.h"
#include "base/text.h"
#include "loop/kernel_text.h"

namespace plait::loop {
namespace {

constexpr int kMostDepth = 1000;  // of a formula

/// `v12` -> 12 where `mark` is v.
std::optional<int> number_in(std::string_view word, char mark) {
  if (word.size() < 2 || word[0] != mark) return std::nullopt;
  int number = 0;
  const char* const last = word.data() + word.size();
  const auto [end, error] = std::from_chars(word.data() + 1, last, number);
  const bool plain = word[1] != '-' && (word[1] != '0' || word.size() == 2);
  if (error != std::errc() || end != last || !plain) return std::nullopt;
  return number;
}

/// One formula with the operands and shared parts that stand behind it. While these are not read, a
/// part is a load of a negative number.
class FormulaReader {
 public:
  FormulaReader(Lexer& in, const DimResolver& resolve) : in_(in), resolve_(resolve) {}

  Expr read() {
    if (++depth_ > kMostDepth) {
      throw SyntaxError{in_.skip(), str("a formula is nested more than ", kMostDepth, " deep")};
    }
    Expr e = part();
    --depth_;
    return e;
  }

  /// `t0 = ..`, whose name was read.
  void share(int number, std::size_t start) {
    if (number != static_cast<int>(shared_.size())) {
      throw SyntaxError{start, str("the next shared part is t", shared_.size(), ", not t", number)};
    }
    const std::size_t first = mentioned_.size();
    const Expr part = read();
    check_shared(first);  // it names those before it alone
    shared_.push_back(settled(part));
  }

  /// What the formulas name is there.
  void check_names(std::size_t operands) const {
    check_shared(0);
    for (const Mention& m : loads_) {
      if (m.number < static_cast<int>(operands)) continue;
      throw SyntaxError{m.start, str("the statement has no operand x", m.number, ", it has ",
                                     counted(operands, "operand", "operands"))};
    }
  }

  /// With its shared parts in place.
  Expr settled(const Expr& e) const {
    const ExprNode& n = e.node();
    if (n.op == ScalarOp::kLoad && n.load < 0) return shared_[at(-1 - n.load)];
    if (n.args.empty()) return e;
    std::vector<Expr> args;
    for (const auto& a : n.args) args.push_back(settled(Expr::of(a)));
    return Expr(n.op, std::move(args));
  }

  /// Where the first `acc` stands.
  std::optional<std::size_t> acc() const { return acc_; }

 private:
  struct Mention {
    int number;
    std::size_t start;
  };

  Expr part() {
    const std::size_t start = in_.skip();
    if (in_.take('[')) {
      Dim index = in_.dim(resolve_);
      in_.expect(']', "after an index");
      return Expr::index(std::move(index));
    }
    if (const auto number = in_.real()) return Expr(*number);
    const std::string_view word = in_.bare();
    if (word.empty()) in_.expected("a formula");
    in_.pos += word.size();
    if (word == "acc") {
      if (!acc_) acc_ = start;
      return Expr::acc();
    }
    if (const auto load = number_in(word, 'x')) {
      loads_.push_back({*load, start});
      return Expr::load(*load);
    }
    if (const auto shared = number_in(word, 't')) {
      mentioned_.push_back({*shared, start});
      return Expr::load(-1 - *shared);
    }
    if (in_.peek() == '(') return operation(word, start);
    in_.pos = start;
    in_.expected("a formula");
  }

  Expr operation(std::string_view word, std::size_t start) {
    std::vector<std::string> names;
    for (std::size_t op = 0; op < kScalarInfo.size(); ++op) {
      if (kScalarInfo[op].arity == 0) continue;
      names.emplace_back(kScalarInfo[op].name);
      if (names.back() != word) continue;
      in_.take('(');
      std::vector<Expr> args;
      in_.list(')', [&] { args.push_back(read()); });
      if (static_cast<int>(args.size()) != kScalarInfo[op].arity) {
        throw SyntaxError{
            start, str(word, " takes ", kScalarInfo[op].arity, " operands, not ", args.size())};
      }
      return Expr(static_cast<ScalarOp>(op), std::move(args));
    }
    throw SyntaxError{start, str("unknown scalar operation ", quoted(word.substr(0, 32)), ".",
                                 suggestion(word, names))};
  }

  void check_shared(std::size_t first) const {
    for (std::size_t i = first; i < mentioned_.size(); ++i) {
      const Mention& m = mentioned_[i];
      if (m.number < static_cast<int>(shared_.size())) continue;
      throw SyntaxError{m.start, str("no shared part t", m.number, " is known here")};
    }
  }

  Lexer& in_;
  const DimResolver& resolve_;
  int depth_ = 0;
  std::vector<Expr> shared_;
  std::vector<Mention> loads_, mentioned_;
  std::optional<std::size_t> acc_;
};

class KernelReader {
 public:
  explicit KernelReader(std::string_view text)
      : in_{text}, resolve_([this](std::string_view name) { return named(name); }) {}

  Kernel run() {
    symbols_ = read_symbols(in_);
    header();
    while (number_in(in_.bare(), 'b') && !is_store()) buffer();
    int stage = 0, stages = 1;
    while (!in_.take('}')) {
      if (number_in(in_.bare(), 'b')) {
        store();
      } else if (k_.stores.empty() && in_.take_word("stage")) {
        stage = small("a stage");
      } else {
        let(stage);
        stages = std::max(stages, stage + 1);
      }
    }
    if (k_.stages == 0) k_.stages = stages;
    if (k_.stages < stages) {
      throw SyntaxError{stages_start_,
                        str("a kernel of ", counted(at(k_.stages), "stage", "stages"),
                            " has a statement in stage ", stages - 1)};
    }
    if (!in_.at_end()) in_.expected("the end of the text");
    return std::move(k_);
  }

 private:
  void header() {
    k_.open = in_.take_word("open");
    k_.epilogue = in_.take_word("epilogue");
    if (!k_.epilogue && !in_.take_word("kernel")) {
      in_.expected("'symbol', 'open', 'kernel' or 'epilogue'");
    }
    if (in_.take_word("batch")) indices(k_.rows);
    k_.batch_rows = static_cast<int>(k_.rows.size());
    if (in_.take_word("rows")) indices(k_.rows);
    if (in_.take_word("inner")) indices(k_.inner);
    stages_start_ = in_.skip();
    k_.stages = in_.take_word("stages") ? small("the number of stages") : 0;
    in_.expect('{', "before the buffers");
  }

  Dim named(std::string_view name) {
    if (!name.starts_with('$')) return symbol_named(name, symbols_, in_.text);
    const auto known = indices_.find(name);
    if (known != indices_.end()) return known->second;
    std::vector<std::string> names;
    for (const auto& [other, dim] : indices_) names.push_back(other);
    throw SyntaxError{static_cast<std::size_t>(name.data() - in_.text.data()),
                      str("no index ", name, " is known here.", suggestion(name, names))};
  }

  Dim dim() { return in_.dim(resolve_); }

  int small(std::string_view what) {
    const std::size_t start = in_.skip();
    const std::int64_t number = in_.integer(what);
    constexpr std::int64_t kMost = 1'000'000;
    if (number < 0 || number > kMost) {
      throw SyntaxError{start, str(what, " cannot be ", number)};
    }
    return static_cast<int>(number);
  }

  /// `$r0: 4`, declared.
  KernelIndex index() {
    const std::size_t start = in_.skip();
    std::size_t end = start + 1;
    const auto is_name = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '\'';
    };
    while (end < in_.text.size() && is_name(in_.text[end])) ++end;
    if (in_.peek() != '$' || end == start + 1) in_.expected("an index such as $r0");
    in_.pos = end;
    KernelIndex index{std::string(in_.text.substr(start, end - start)), 0};
    in_.expect(':', "and the extent of an index");
    const std::size_t size = in_.skip();
    index.extent = dim();
    if (index.extent.hi() < 0) throw SyntaxError{size, "an index has a negative extent"};
    if (!indices_.emplace(index.symbol, symbol_of(index)).second) {
      throw SyntaxError{start, str("the index ", index.symbol, " is declared twice")};
    }
    return index;
  }

  void indices(std::vector<KernelIndex>& list) {
    in_.expect('(', "and indices");
    in_.list(')', [&] { list.push_back(index()); });
  }

  /// Whether `b0[` stands next, and not `b0:`.
  bool is_store() {
    Lexer ahead = in_;
    ahead.pos += ahead.bare().size();
    return ahead.peek() == '[';
  }

  void buffer() {
    const std::size_t start = in_.skip();
    const std::string_view word = in_.bare();
    if (*number_in(word, 'b') != static_cast<int>(k_.buffers.size())) {
      throw SyntaxError{start, str("the next buffer is b", k_.buffers.size(), ", not ", word)};
    }
    in_.pos += word.size();
    in_.expect(':', "and the dtype of a buffer");
    const DType dtype = in_.dtype("the dtype of a buffer");
    k_.buffers.push_back({dtype, in_.take_word("written")});
  }

  /// A name that stands next, of those that `count` things of a kind have.
  int known(char mark, std::size_t count, std::string_view kind) {
    const std::size_t start = in_.skip();
    const std::string_view word = in_.bare();
    const auto number = number_in(word, mark);
    if (!number) in_.expected(str(kind, " such as ", mark, "0"));
    if (*number >= static_cast<int>(count)) {
      throw SyntaxError{start, str("no ", kind, " ", word, " is known here, there are ", count)};
    }
    in_.pos += word.size();
    return *number;
  }

  KernelLoad element() {
    KernelLoad e;
    e.buffer = known('b', k_.buffers.size(), "buffer");
    in_.expect('[', "and an offset after a buffer");
    e.offset = dim();
    in_.expect(']', "after an offset");
    return e;
  }

  void store() {
    const KernelLoad place = element();
    in_.expect('=', "and what is stored");
    k_.stores.push_back({known('v', k_.lets.size(), "value"), place.buffer, place.offset});
  }

  Level level() {
    const std::size_t start = in_.skip();
    for (const Level level : {Level::kCall, Level::kRow, Level::kInner}) {
      if (!in_.take_word(name_of(level))) continue;
      if (!k_.stores.empty()) throw SyntaxError{start, "stores stand behind all statements"};
      return level;
    }
    in_.expected(k_.stores.empty()
                     ? "'stage', 'call', 'row', 'inner', an element of a buffer or '}'"
                     : "an element of a buffer or '}'");
  }

  void let(int stage) {
    Let let;
    let.stage = stage;
    let.level = level();
    let.kept = in_.take_word("kept");
    const std::size_t start = in_.skip();
    const auto number = number_in(in_.bare(), 'v');
    if (!number) in_.expected("the name of a value such as v0");
    if (*number != static_cast<int>(k_.lets.size())) {
      throw SyntaxError{start, str("the next value is v", k_.lets.size(), ", not v", *number)};
    }
    in_.pos += in_.bare().size();
    in_.expect(':', "and the dtype of a value");
    let.dtype = in_.dtype("the dtype of a value");
    let.compute = compute_type(let.dtype);
    if (in_.take_word("in")) let.compute = compute();
    const bool is_index = in_.take_word("as");
    KernelIndex loaded;
    if (is_index) loaded = index();
    in_.expect('=', "and what makes a value");
    // Its own index is not known in what makes it.
    const auto own = is_index ? indices_.extract(loaded.symbol) : DimBindings::node_type();
    value(let);
    if (is_index) {
      let.index = loaded.symbol;
      let.index_extent = loaded.extent;
      indices_.emplace(loaded.symbol, own.mapped());
    }
    k_.lets.push_back(std::move(let));
  }

  DType compute() {
    const std::size_t start = in_.skip();
    const DType t = in_.dtype("the dtype that a value is computed in");
    if (t == compute_type(t)) return t;
    throw SyntaxError{start, str("values are computed in f32, f64 or i64, not in ", t)};
  }

  /// `sum of`; a scalar operation may have the same name.
  Reduce reduce() {
    for (const Reduce r : {Reduce::kSum, Reduce::kMax, Reduce::kMin, Reduce::kProd}) {
      Lexer ahead = in_;
      if (!ahead.take_word(name_of(r)) || !ahead.take_word("of")) continue;
      in_.pos = ahead.pos;
      return r;
    }
    return Reduce::kNone;
  }

  void value(Let& let) {
    let.column = in_.take_word("column");
    let.reduce = reduce();
    if (let.column && let.reduce == Reduce::kNone) {
      in_.expected("'sum of', 'max of', 'min of' or 'prod of' after 'column'");
    }
    FormulaReader formula(in_, resolve_);
    const Expr body = formula.read();
    if (const auto acc = formula.acc()) {
      throw SyntaxError{*acc, "the reduced value is known behind 'then' alone"};
    }
    const bool has_finish = in_.take_word("then");
    if (has_finish && let.reduce == Reduce::kNone) {
      throw SyntaxError{in_.pos - 4, "nothing is reduced here: 'then' has nothing to follow"};
    }
    const Expr finish = has_finish ? formula.read() : Expr();
    if (in_.take_word("with")) bindings(let, formula);
    formula.check_names(let.operands.size());
    let.body = formula.settled(body);
    if (has_finish) let.finish = formula.settled(finish);
  }

  void bindings(Let& let, FormulaReader& formula) {
    do {
      const std::size_t start = in_.skip();
      const std::string_view word = in_.bare();
      const auto operand_number = number_in(word, 'x'), shared = number_in(word, 't');
      if (!operand_number && !shared) in_.expected("an operand x0.. or a shared part t0..");
      in_.pos += word.size();
      in_.expect('=', "and what it stands for");
      if (shared) {
        formula.share(*shared, start);
        continue;
      }
      if (*operand_number != static_cast<int>(let.operands.size())) {
        throw SyntaxError{start, str("the next operand is x", let.operands.size(), ", not ", word)};
      }
      let.operands.push_back(operand());
    } while (in_.take(','));
  }

  KernelOperand operand() {
    KernelOperand o;
    if (const auto number = in_.real()) {
      o.kind = KernelOperand::kNumber;
      o.number = *number;
    } else if (in_.take_word("tile")) {
      o.kind = KernelOperand::kTile;
    } else if (number_in(in_.bare(), 'v')) {
      o.kind = KernelOperand::kLet;
      o.let = known('v', k_.lets.size(), "value");
    } else if (number_in(in_.bare(), 'b')) {
      o.kind = KernelOperand::kLoad;
      o.load = element();
    } else {
      in_.expected("an element of a buffer, a value, 'tile' or a number with a '.'");
    }
    if (in_.take_word("if")) {
      do {
        o.guards.push_back(guard());
      } while (in_.take_word("and"));
    }
    if (in_.take_word("else")) {
      const auto otherwise = in_.real();
      if (!otherwise) in_.expected("a number with a '.' after 'else'");
      o.otherwise = *otherwise;
    }
    return o;
  }

  Guard guard() {
    Guard g;
    g.lo = dim();
    in_.expect('<', "in a guard: LO <= INDEX < HI");
    in_.expect('=', "in a guard: LO <= INDEX < HI");
    g.index = dim();
    in_.expect('<', "in a guard: LO <= INDEX < HI");
    g.hi = dim();
    return g;
  }

  Lexer in_;
  DimResolver resolve_;
  DimBindings symbols_, indices_;
  std::size_t stages_start_ = 0;
  Kernel k_;
};

}  // namespace

Kernel parse_kernel(std::string_view text, std::string_view file) {
  return located_in(text, file, [&] { return KernelReader(text).run(); });
}

}  // namespace plait::loop
