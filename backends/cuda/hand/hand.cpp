// The table of hand kernels.
#include "backends/cuda/hand/hand.h"

#include "backends/cuda/hand/families.h"

namespace plait::cuda {
namespace {

constexpr HandEntry kTable[] = {
    {"wkv", "hand.wkv", wkv_text, plan_wkv},
    {"wkv_backward", "hand.wkv_backward", wkv_backward_text, plan_wkv_backward},
    {"scatter_add", "hand.scatter_add", scatter_text, plan_scatter_add},
    {"scatter_add_along", "hand.scatter_add_along", scatter_text, plan_scatter_add_along},
    {"scatter_columns", "hand.scatter_columns", scatter_text, plan_scatter_columns},
    {"cumsum", "hand.cumsum", scan_text, plan_scan},
    {"cumprod", "hand.cumprod", scan_text, plan_scan},
    {"linear_scan", "hand.linear_scan", scan_text, plan_scan},
    {"argmax", "hand.argmax", arg_text, plan_arg},
    {"argmin", "hand.argmin", arg_text, plan_arg},
    {"attention_keep", "hand.attention_keep", random_text, plan_attention_keep},
    {"attention", "hand.attention", attention_text, plan_attention, takes_attention},
    {"attention_backward", "hand.attention_backward", attention_text, plan_attention_backward,
     takes_attention},
    {"uniform", "hand.uniform", random_text, plan_random},
    {"normal", "hand.normal", random_text, plan_random},
    {"bernoulli", "hand.bernoulli", random_text, plan_random},
};

}  // namespace

const HandEntry* find_hand(std::string_view op) {
  for (const HandEntry& entry : kTable) {
    if (entry.op == op) return &entry;
  }
  return nullptr;
}

}  // namespace plait::cuda
