// The kernels of each family file, for the table in hand.cpp.
#pragma once

#include "backends/cpu/hand/hand.h"

namespace plait::cpu {

std::unique_ptr<HandKernel> make_wkv(const NodeView& node);
std::unique_ptr<HandKernel> make_wkv_backward(const NodeView& node);

std::unique_ptr<HandKernel> make_attention(const NodeView& node);

std::unique_ptr<HandKernel> make_scatter_add(const NodeView& node);
std::unique_ptr<HandKernel> make_scatter_add_along(const NodeView& node);
std::unique_ptr<HandKernel> make_scatter_columns(const NodeView& node);

std::unique_ptr<HandKernel> make_cumsum(const NodeView& node);
std::unique_ptr<HandKernel> make_cumprod(const NodeView& node);
std::unique_ptr<HandKernel> make_linear_scan(const NodeView& node);

std::unique_ptr<HandKernel> make_argmax(const NodeView& node);
std::unique_ptr<HandKernel> make_argmin(const NodeView& node);

std::unique_ptr<HandKernel> make_attention_keep(const NodeView& node);
std::unique_ptr<HandKernel> make_uniform(const NodeView& node);
std::unique_ptr<HandKernel> make_normal(const NodeView& node);
std::unique_ptr<HandKernel> make_bernoulli(const NodeView& node);

}  // namespace plait::cpu
