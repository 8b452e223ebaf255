// What the document says about the number of rows.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/at.h"
#include "io/chainer/call.h"
#include "io/chainer/candidates.h"

namespace plait::io::chainer {
namespace {

constexpr std::int64_t kMaxPossible = 1024;
constexpr std::size_t kMaxTold = 16;

void add_once(Sizes& list, std::int64_t n) {
  if (n > 0 && std::find(list.begin(), list.end(), n) == list.end()) list.push_back(n);
}

class Evidence {
 public:
  Evidence(const Record& record, const Links& links, DType real)
      : record_(record), links_(links), size_(static_cast<std::int64_t>(size_of(real))) {}

  Rows collect() {
    for (const Operation& op : record_.operations) {
      if (op.backward || sure_.size() + weak_.size() > kMaxTold) continue;
      if (op.function == "LinearFunction" && op.inputs.size() > 1) add_linear(op);
      if (op.function == "Deconvolution2DFunction" && op.inputs.size() > 2) add_deconvolution(op);
      if (op.function == "SoftmaxCrossEntropy" && op.inputs.size() == 2) add_labels(op);
      if (op.function == "Reshape") add_first_size(op, "shape");
      if (op.function == "BroadcastTo") add_first_size(op, "_shape");
    }
    Rows rows{std::move(sure_), {}, false};
    for (std::int64_t n : weak_) add_once(rows.told, n);
    const std::int64_t divided = common();
    rows.images = divided > 0;
    for (std::int64_t n = 1; n <= kMaxPossible; ++n) {
      const bool power = (n & (n - 1)) == 0 && n <= 256;
      if (rows.images ? divided % n == 0 : power) rows.possible.push_back(n);
    }
    return rows;
  }

 private:
  std::int64_t bytes(int variable) const { return record_.variables[at(variable)].bytes; }
  std::int64_t floats(int variable) const { return bytes(variable) / size_; }

  /// x [n, in], w [out, in], y [n, out]: n^2 = x * y / w.
  void add_linear(const Operation& op) {
    const auto x = static_cast<double>(floats(op.inputs[0].variable));
    const auto w = static_cast<double>(floats(op.inputs[1].variable));
    const double n = w > 0 ? std::sqrt(x / w * static_cast<double>(floats(op.outputs[0]))) : 0;
    if (n >= 1 && n < 1e9 && std::abs(n - std::round(n)) < 1e-6 * n) {
      add_once(sure_, std::llround(n));
    }
  }

  /// The bias tells the channels, attributes the height and width.
  void add_deconvolution(const Operation& op) {
    double image = static_cast<double>(floats(op.inputs[2].variable));
    for (const char* side : {"outh", "outw"}) {
      const Value* value = find(op.attributes, side);
      const auto n = value ? whole(*value) : std::nullopt;
      image *= n && *n > 0 ? static_cast<double>(*n) : 0;
    }
    const auto all = static_cast<double>(floats(op.outputs[0]));
    if (image >= 1 && image <= all && std::fmod(all, image) == 0) {
      add_once(sure_, std::llround(all / image));
    }
  }

  /// A label for each row; behind a convolution it may be one for each pixel.
  void add_labels(const Operation& op) {
    const bool pixels = made_by_image_function(op.inputs[0].variable);
    add_once(pixels ? weak_ : sure_, bytes(op.inputs[1].variable) / 4);
    add_once(weak_, bytes(op.inputs[1].variable) / 8);
  }

  void add_first_size(const Operation& op, std::string_view attribute) {
    const Value* shape = find(op.attributes, attribute);
    const auto* sizes = shape ? std::get_if<std::vector<Value>>(&shape->data) : nullptr;
    if (sizes && !sizes->empty() && whole(sizes->front())) add_once(weak_, *whole(sizes->front()));
  }

  static bool is_image_function(std::string_view name) {
    constexpr std::string_view kNames[] = {"Convolution2DFunction", "Deconvolution2DFunction",
                                           "MaxPooling2D", "AveragePooling2D"};
    return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
  }

  /// Also through functions that keep the number of elements, such as activations.
  bool made_by_image_function(int variable) const {
    for (int steps = 0; steps < 8 && links_.maker[at(variable)] >= 0; ++steps) {
      const Operation& op = record_.operations[at(links_.maker[at(variable)])];
      if (op.function.find("onvolution2D") != std::string::npos) return true;
      if (op.function == "Reshape" || op.inputs.empty()) return false;
      if (bytes(op.inputs[0].variable) != bytes(variable)) return false;
      variable = op.inputs[0].variable;
    }
    return false;
  }

  /// What the rows of images divide; 0 when the document has no images.
  std::int64_t common() const {
    std::int64_t n = 0;
    for (const Operation& op : record_.operations) {
      if (op.backward || !is_image_function(op.function) || op.inputs.empty()) continue;
      n = std::gcd(n, std::gcd(floats(op.inputs[0].variable), floats(op.outputs[0])));
    }
    return n;
  }

  const Record& record_;
  const Links& links_;
  std::int64_t size_;
  Sizes sure_, weak_;
};

}  // namespace

Rows rows_of(const Record& record, const Links& links, DType real) {
  return Evidence(record, links, real).collect();
}

}  // namespace plait::io::chainer
