// The table of hand kernels.
#include "backends/cpu/hand/hand.h"

#include "backends/cpu/hand/families.h"

namespace plait::cpu {
namespace {

constexpr HandEntry kTable[] = {
    {"wkv", "hand.wkv", make_wkv},
    {"wkv_backward", "hand.wkv_backward", make_wkv_backward},
    {"attention", "hand.attention", make_attention},
    {"attention_backward", "hand.attention_backward", make_attention},
    {"scatter_add", "hand.scatter_add", make_scatter_add},
    {"scatter_add_along", "hand.scatter_add_along", make_scatter_add_along},
    {"scatter_columns", "hand.scatter_columns", make_scatter_columns},
    {"cumsum", "hand.cumsum", make_cumsum},
    {"cumprod", "hand.cumprod", make_cumprod},
    {"linear_scan", "hand.linear_scan", make_linear_scan},
    {"argmax", "hand.argmax", make_argmax},
    {"argmin", "hand.argmin", make_argmin},
    {"attention_keep", "hand.attention_keep", make_attention_keep},
    {"uniform", "hand.uniform", make_uniform},
    {"normal", "hand.normal", make_normal},
    {"bernoulli", "hand.bernoulli", make_bernoulli},
};

}  // namespace

const HandEntry* find_hand(std::string_view op) {
  for (const HandEntry& entry : kTable) {
    if (entry.op == op) return &entry;
  }
  return nullptr;
}

}  // namespace plait::cpu
