// Reductions, normalisations, softmax, pooling, resizing. Images are NHWC.
#include <algorithm>

#include "io/aitemplate/check.h"
#include "io/aitemplate/kernel.h"
#include "ops/activation.h"
#include "ops/norm.h"
#include "ops/pool.h"
#include "ops/reduce.h"
#include "ops/resize.h"
#include "ops/shape.h"
#include "ops/softmax.h"

namespace plait::io::aitemplate {
namespace {

const Op* reduction_named(std::string_view name) {
  if (name == "reduce_sum") return &ops::sum;
  if (name == "reduce_mean") return &ops::mean;
  if (name == "reduce_max") return &ops::max;
  if (name == "reduce_min") return &ops::min;
  return nullptr;
}

Results reduction(Kernel& k, const Op& op) {
  k.want_inputs(1);
  Tensor x = k.in[0];
  if (const PyValue* type = k.op.find("output_type"); type && type->is(PyValue::kText)) {
    const std::optional<DType> dtype = dtype_of(type->text);
    if (!dtype) k.fail("has the unknown output_type '", type->text, "'");
    x = narrow(x, *dtype);
  }
  const ops::Reduction a{.axes = k.wholes("reduction_axes"), .keep = k.flag("keepdim", false)};
  return std::vector<Tensor>{k.add(op, {x}, a)};
}

/// gamma and beta are inputs unless a constant stands for them.
std::vector<Tensor> with_weights(Kernel& k) {
  k.want_inputs(1);
  std::vector<Tensor> operands{k.in[0]};
  std::size_t next = 1;
  for (const char* key : {"gamma_constant", "beta_constant"}) {
    operands.push_back(!k.op.find(key) && next < k.in.size() ? k.in[next++] : Tensor());
    if (operands.back()) k.unify_broadcast(k.in[0], operands.back());
  }
  return operands;
}

Results layer_norm(Kernel& k) {
  const PyValue* over = k.op.find("normalized_shape");
  const bool list = over && (over->is(PyValue::kList) || over->is(PyValue::kTuple));
  const ops::LayerNorm a{.last = list ? static_cast<std::int64_t>(over->items.size()) : 1,
                         .eps = k.real("eps", 1e-5)};
  return std::vector<Tensor>{k.add(ops::layer_norm, with_weights(k), a)};
}

Results group_norm(Kernel& k) {
  const ops::GroupNorm a{
      .groups = k.whole("num_groups"), .eps = k.real("eps", 1e-5), .layout = "NHWC"};
  k.want_inputs(1);
  k.pin(k.in[0], -1);
  Tensor y = k.add(ops::group_norm, with_weights(k), a);
  if (k.op.op == "groupnorm_swish") y = k.add(ops::silu, {y});
  return std::vector<Tensor>{y};
}

Results softmax(Kernel& k) {
  k.want_inputs(1);
  const std::int64_t axis = k.op.find("dim") ? k.whole("dim") : -1;
  return std::vector<Tensor>{k.add(ops::softmax, {k.in[0]}, ops::Axis{.axis = axis})};
}

Results pool(Kernel& k) {
  k.want_inputs(1);
  const Sizes pad = k.pair("pad", 0);
  const Sizes kernel = k.pair("kernel_size", 1), stride = k.pair("stride", 1);
  const Sizes padding{pad[0], pad[0], pad[1], pad[1]};
  for (int i = 0; i < 2; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (pad[at] >= 0)
      k.fit_window(k.in[0], 1 + i, kernel[at], 2 * std::min<std::int64_t>(pad[at], 1 << 20));
  }
  if (k.op.op == "max_pool2d") {
    const ops::MaxPool2d a{
        .kernel = kernel, .stride = stride, .padding = padding, .layout = "NHWC"};
    return std::vector<Tensor>{k.add(ops::max_pool2d, {k.in[0]}, a)};
  }
  const ops::AvgPool2d a{.kernel = kernel, .stride = stride, .padding = padding, .layout = "NHWC"};
  return std::vector<Tensor>{k.add(ops::avg_pool2d, {k.in[0]}, a)};
}

Results upsample(Kernel& k) {
  k.want_inputs(1);
  const double factor = k.real("scale_factor", 0);
  const PyValue* mode = k.op.find("mode");
  const bool nearest = mode && mode->is(PyValue::kText) && mode->text == "nearest";
  if (!nearest || factor != static_cast<double>(static_cast<int>(factor)) || factor < 1 ||
      factor > 64 || k.in[0].rank() != 4) {
    return std::nullopt;
  }
  const Dim times(static_cast<int>(factor));
  const ops::Resize a{.size = {k.in[0].dim(1) * times, k.in[0].dim(2) * times}, .layout = "NHWC"};
  return std::vector<Tensor>{k.add(ops::resize_nearest, {k.in[0]}, a)};
}

}  // namespace

Results layer(Kernel& k) {
  const std::string& op = k.op.op;
  if (const Op* r = reduction_named(op)) return reduction(k, *r);
  if (op == "layernorm") return layer_norm(k);
  if (op == "groupnorm" || op == "groupnorm_swish" || op == "group_norm") return group_norm(k);
  if (op == "softmax") return softmax(k);
  if (op == "max_pool2d" || op == "avg_pool2d") return pool(k);
  if (op == "upsampling2d") return upsample(k);
  return std::nullopt;
}

}  // namespace plait::io::aitemplate
