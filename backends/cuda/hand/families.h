// The families of hand kernels, for the table in hand.cpp: each op's text and plan.
#pragma once

#include "backends/cuda/hand/hand.h"

namespace plait::cuda {

std::string wkv_text(const HandCall& call);
std::string wkv_backward_text(const HandCall& call);
std::string scatter_text(const HandCall& call);
std::string scan_text(const HandCall& call);
std::string arg_text(const HandCall& call);
std::string attention_text(const HandCall& call);
std::string random_text(const HandCall& call);

Decision takes_attention(const NodeView& node);

HandPlan plan_wkv(const HandCall& call, const DimBindings& sizes);
HandPlan plan_wkv_backward(const HandCall& call, const DimBindings& sizes);
HandPlan plan_scatter_add(const HandCall& call, const DimBindings& sizes);
HandPlan plan_scatter_add_along(const HandCall& call, const DimBindings& sizes);
HandPlan plan_scatter_columns(const HandCall& call, const DimBindings& sizes);
HandPlan plan_scan(const HandCall& call, const DimBindings& sizes);
HandPlan plan_arg(const HandCall& call, const DimBindings& sizes);
HandPlan plan_attention_keep(const HandCall& call, const DimBindings& sizes);
HandPlan plan_attention(const HandCall& call, const DimBindings& sizes);
HandPlan plan_attention_backward(const HandCall& call, const DimBindings& sizes);
HandPlan plan_random(const HandCall& call, const DimBindings& sizes);

}  // namespace plait::cuda
