// The oracles of all families. An elementwise op needs none: its entry has `exact`.
#pragma once

#include <vector>

#include "tests/ops/oracle.h"

namespace plait {

std::vector<Oracle> attention_oracles();
std::vector<Oracle> contract_oracles();
std::vector<Oracle> conv_oracles();
std::vector<Oracle> index_oracles();
std::vector<Oracle> loss_oracles();
std::vector<Oracle> norm_oracles();
std::vector<Oracle> pool_oracles();
std::vector<Oracle> reduce_oracles();
std::vector<Oracle> shape_oracles();
std::vector<Oracle> update_oracles();
std::vector<Oracle> wkv_oracles();

inline const std::vector<Oracle>& all_oracles() {
  static const std::vector<Oracle> all = [] {
    std::vector<Oracle> list;
    for (auto family :
         {attention_oracles, contract_oracles, conv_oracles, index_oracles, loss_oracles,
          norm_oracles, pool_oracles, reduce_oracles, shape_oracles, update_oracles, wkv_oracles}) {
      for (const Oracle& o : family()) list.push_back(o);
    }
    return list;
  }();
  return all;
}

}  // namespace plait
