// Tensor: a handle to a value of a graph under construction, with the operators and methods that
// everyone uses. They append nodes; nothing is computed here.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace plait {

struct Op;
class Builder;
class Tensor;

/// What an op call takes: a tensor, a number (it takes the dtype of the first tensor operand, which
/// must hold it: 0.5 beside integers is a UserError), or nothing (`{}`, an optional operand left
/// out). Remembers the line that wrote it.
struct Operand;

/// The line of the caller, as the default of a last parameter.
struct Where {
  const char* file;
  int line;
  Where(const char* file = __builtin_FILE(), int line = __builtin_LINE())
      : file(file), line(line) {}
};

class Tensor {
 public:
  Tensor() = default;
  Tensor(Builder* builder, ir::ValueId id) : builder_(builder), id_(id) {}

  explicit operator bool() const { return builder_ != nullptr; }
  Builder& builder() const { return *builder_; }
  ir::ValueId id() const { return id_; }
  const ir::Type& type() const;
  DType dtype() const { return type().dtype; }
  const Shape& shape() const { return type().shape; }
  int rank() const { return type().rank(); }
  /// Size of an axis; negative axes count from the end.
  const Dim& dim(int axis) const;

  // The basics, as methods; each is one op of the table.
  Tensor cast(DType dtype, Where w = {}) const;
  /// At most one size may be -1: it is what is left.
  Tensor reshape(Shape shape, Where w = {}) const;
  Tensor transpose(std::vector<std::int64_t> order, Where w = {}) const;
  /// The last two axes exchanged.
  Tensor t(Where w = {}) const;
  Tensor broadcast_to(Shape shape, Where w = {}) const;
  Tensor unsqueeze(std::vector<std::int64_t> axes, Where w = {}) const;
  Tensor squeeze(std::vector<std::int64_t> axes, Where w = {}) const;
  /// Elements [start, stop) along one axis.
  Tensor slice(int axis, Dim start, Dim stop, Where w = {}) const;
  /// Over all axes when `axes` is empty.
  Tensor sum(std::vector<std::int64_t> axes = {}, bool keep = false, Where w = {}) const;
  Tensor mean(std::vector<std::int64_t> axes = {}, bool keep = false, Where w = {}) const;
  Tensor max(std::vector<std::int64_t> axes = {}, bool keep = false, Where w = {}) const;
  Tensor exp(Where w = {}) const;
  Tensor log(Where w = {}) const;
  Tensor sqrt(Where w = {}) const;
  Tensor rsqrt(Where w = {}) const;
  Tensor square(Where w = {}) const;

 private:
  Operand at(Where w) const;
  Builder* builder_ = nullptr;
  ir::ValueId id_ = ir::kNone;
};

struct Operand {
  Tensor tensor;
  std::optional<double> number;
  const char* file;
  int line;

  Operand(const Tensor& t, const char* file = __builtin_FILE(), int line = __builtin_LINE())
      : tensor(t), file(file), line(line) {}
  Operand(double x, const char* file = __builtin_FILE(), int line = __builtin_LINE())
      : number(x), file(file), line(line) {}
  Operand(int x, const char* file = __builtin_FILE(), int line = __builtin_LINE())
      : Operand(static_cast<double>(x), file, line) {}
};

Tensor operator+(Operand a, Operand b);
Tensor operator-(Operand a, Operand b);
Tensor operator*(Operand a, Operand b);
Tensor operator/(Operand a, Operand b);
Tensor operator-(Operand a);
Tensor operator<(Operand a, Operand b);
Tensor operator<=(Operand a, Operand b);
Tensor operator>(Operand a, Operand b);
Tensor operator>=(Operand a, Operand b);
/// Elements equal; not `==`, which a reader takes for identity.
Tensor equal(Operand a, Operand b);
Tensor where(Operand condition, Operand a, Operand b);

/// To the type composites compute in (f32 for halves); the tensor itself when it is that already.
Tensor widen(const Tensor& x);
/// To `dtype`; the tensor itself when it has it already.
Tensor narrow(const Tensor& x, DType dtype);
/// Sums over the axes along which `x` was broadcast from `shape`, giving `shape`.
Tensor sum_to(const Tensor& x, const Shape& shape);

}  // namespace plait
