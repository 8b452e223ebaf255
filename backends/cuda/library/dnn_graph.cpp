// Building operation graphs: one convolution, then up to three pointwise operations in f32.
#include "backends/cuda/library/dnn_graph.h"

#include <algorithm>
#include <array>

namespace plait::cuda {
namespace {

cudnnDataType_t type_of(DType t) {
  switch (t) {
    case DType::f16:
      return CUDNN_DATA_HALF;
    case DType::bf16:
      return CUDNN_DATA_BFLOAT16;
    default:
      return CUDNN_DATA_FLOAT;
  }
}

/// The names of one kind's attributes.
struct Names {
  cudnnBackendDescriptorType_t operation;
  cudnnBackendAttributeName_t x, w, y, how, alpha, beta;
};

constexpr Names kNames[] = {
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA}};

class Builder {
 public:
  Builder(const DnnApi& api, const Convolution& convolution, const LibraryProblem& problem)
      : api_(api), c_(convolution), problem_(problem) {}

  DnnGraph run(cudnnHandle_t handle) {
    const bool is_filter = c_.kind == Convolution::kFilter;
    const Placed& a = c_.kind == Convolution::kData ? c_.y : c_.x;
    const Placed& b = is_filter ? c_.y : c_.w;
    const Placed& c = is_filter ? c_.w : c_.kind == Convolution::kData ? c_.x : c_.y;
    const std::size_t in_a = tensor(a, kOperandA, problem_.dtype, false);
    const std::size_t in_b = tensor(b, kOperandB, problem_.dtype, false);
    std::vector<cudnnPointwiseMode_t> steps;
    std::vector<std::size_t> with;
    const LibraryEpilogue& e = problem_.epilogue;
    if (e.any() && is_filter) throw RunError("nothing is fused behind a gradient of weights");
    if (e.residual) {
      steps.push_back(CUDNN_POINTWISE_ADD);
      with.push_back(tensor(c, kOperandResidual, problem_.result, false));
    }
    if (e.bias) {
      const std::int64_t n = c.sizes[1];
      steps.push_back(CUDNN_POINTWISE_ADD);
      with.push_back(tensor({0, {1, n, 1, 1}, {n, 1, n, n}}, kOperandBias, problem_.result, false));
    }
    if (e.relu) {
      steps.push_back(CUDNN_POINTWISE_RELU_FWD);
      with.push_back(0);
    }
    if (steps.empty() && problem_.result != problem_.dtype) {
      // No engine writes another dtype than it reads; those that fuse something do.
      steps.push_back(CUDNN_POINTWISE_IDENTITY);
      with.push_back(0);
    }
    std::size_t last =
        tensor(c, steps.empty() ? kOperandC : kInner, inner(steps.empty()), !steps.empty());
    convolve(in_a, in_b, last);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const bool is_last = i + 1 == steps.size();
      const std::int64_t uid = kInner + 1 + static_cast<std::int64_t>(i);
      const std::size_t next = tensor(c, is_last ? kOperandC : uid, inner(is_last), !is_last);
      pointwise(steps[i], last, with[i], next);
      last = next;
    }
    Descriptor graph(api_, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, handle);
    graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operations_);
    graph.finalize();
    for (Descriptor& d : operations_) pieces_.push_back(std::move(d));
    return {std::move(pieces_), std::move(graph)};
  }

 private:
  static constexpr std::int64_t kInner = 100;

  DType inner(bool is_last) const { return is_last ? problem_.result : DType::f32; }

  /// Its place in pieces_.
  std::size_t tensor(const Placed& p, std::int64_t uid, DType dtype, bool is_inner) {
    Descriptor t(api_, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    const auto bytes = static_cast<std::int64_t>(size_of(dtype));
    t.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, type_of(dtype));
    t.set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, p.sizes.data());
    t.set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, p.strides.data());
    t.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, uid);
    t.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT,
          common_alignment(std::min<std::int64_t>(problem_.options.alignment, 16),
                           {p.offset * bytes}));
    t.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, is_inner);
    t.finalize();
    pieces_.push_back(std::move(t));
    return pieces_.size() - 1;
  }

  void convolve(std::size_t a, std::size_t b, std::size_t c) {
    Descriptor how(api_, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    const Direction &h = c_.high, &w = c_.wide;
    const auto put = [&](cudnnBackendAttributeName_t what, std::int64_t high, std::int64_t wide) {
      const std::array both{high, wide};
      how.set(what, CUDNN_TYPE_INT64, 2, both.data());
    };
    how.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
    how.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, CUDNN_CROSS_CORRELATION);
    how.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, 2);
    put(CUDNN_ATTR_CONVOLUTION_DILATIONS, h.dilation, w.dilation);
    put(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, h.stride, w.stride);
    put(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, h.before, w.before);
    put(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, h.after, w.after);
    how.finalize();

    const Names& names = kNames[c_.kind];
    Descriptor op(api_, names.operation);
    const bool is_data = c_.kind == Convolution::kData, is_filter = c_.kind == Convolution::kFilter;
    const float one = 1, zero = 0;
    op.set(names.x, pieces_[is_data ? c : a]);
    op.set(names.w, pieces_[is_filter ? c : b]);
    op.set(names.y, pieces_[is_data ? a : is_filter ? b : c]);
    op.set(names.how, how);
    op.set(names.alpha, CUDNN_TYPE_FLOAT, one);
    op.set(names.beta, CUDNN_TYPE_FLOAT, zero);
    op.finalize();
    pieces_.push_back(std::move(how));
    operations_.push_back(std::move(op));
  }

  void pointwise(cudnnPointwiseMode_t mode, std::size_t x, std::size_t b, std::size_t y) {
    Descriptor how(api_, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    how.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, mode);
    how.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
    how.finalize();
    Descriptor op(api_, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    op.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, how);
    op.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, pieces_[x]);
    if (mode == CUDNN_POINTWISE_ADD) op.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, pieces_[b]);
    op.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, pieces_[y]);
    op.finalize();
    pieces_.push_back(std::move(how));
    operations_.push_back(std::move(op));
  }

  const DnnApi& api_;
  const Convolution& c_;
  const LibraryProblem& problem_;
  std::vector<Descriptor> pieces_, operations_;
};

}  // namespace

DnnGraph make_dnn_graph(const DnnApi& api, cudnnHandle_t handle, const Convolution& convolution,
                        const LibraryProblem& problem) {
  return Builder(api, convolution, problem).run(handle);
}

}  // namespace plait::cuda
