// Oracles of the contractions: brute force over all indices, in double.
#include <map>
#include <string>

#include "ops/contract.h"
#include "tests/ops/index_walk.h"
#include "tests/ops/oracle.h"

namespace plait {
namespace {

using Inputs = std::vector<const Array*>;

/// The index of a matrix among broadcast batches.
Sizes matrix_index(const Array& array, const Sizes& out, std::int64_t row, std::int64_t column) {
  const std::size_t rank = array.sizes().size(), lead = out.size() - rank;
  Sizes index(rank);
  for (std::size_t d = 0; d + 2 < rank; ++d) index[d] = array.sizes()[d] == 1 ? 0 : out[lead + d];
  index[rank - 2] = row;
  index[rank - 1] = column;
  return index;
}

std::vector<Array> matmul(const NodeView& node, const Inputs& inputs) {
  const auto t = node.as<ops::Matmul>();
  const Array &a = *inputs[0], &b = *inputs[1];
  Array y = result_array(node);
  const std::int64_t inner = a.sizes()[a.sizes().size() - (t.transpose_a ? 2 : 1)];
  for_each_index(y.sizes(), [&](const Sizes& at) {
    const std::int64_t m = at[at.size() - 2], n = at[at.size() - 1];
    double sum = 0;
    for (std::int64_t k = 0; k < inner; ++k) {
      const Sizes x = t.transpose_a ? matrix_index(a, at, k, m) : matrix_index(a, at, m, k);
      const Sizes z = t.transpose_b ? matrix_index(b, at, n, k) : matrix_index(b, at, k, n);
      sum += read(a, x) * read(b, z);
    }
    y.set(offset_of(y, at), sum);
  });
  return {y};
}

std::vector<Array> linear(const NodeView& node, const Inputs& inputs) {
  const Array &x = *inputs[0], &w = *inputs[1];
  const Array* bias = inputs.size() > 2 ? inputs[2] : nullptr;
  Array y = result_array(node);
  for_each_index(y.sizes(), [&](const Sizes& at) {
    Sizes from = at;
    double sum = bias ? bias->real(at.back()) : 0;
    for (std::int64_t k = 0; k < w.sizes()[1]; ++k) {
      from.back() = k;
      sum += read(x, from) * read(w, {at.back(), k});
    }
    y.set(offset_of(y, at), sum);
  });
  return {y};
}

/// Cuts the equation into the letters of the operands, then those of the result.
std::vector<std::string> terms_of(std::string equation) {
  std::erase(equation, ' ');
  const auto arrow = equation.find("->");
  std::vector<std::string> terms(1);
  for (char c : equation.substr(0, arrow)) {
    if (c == ',') {
      terms.emplace_back();
    } else {
      terms.back() += c;
    }
  }
  std::string result;
  if (arrow != std::string::npos) {
    result = equation.substr(arrow + 2);
  } else {
    std::map<char, int> uses;
    for (const std::string& term : terms) {
      for (char c : term) ++uses[c];
    }
    for (const auto& [letter, count] : uses) {
      if (count == 1) result += letter;
    }
  }
  terms.push_back(result);
  return terms;
}

std::vector<Array> einsum(const NodeView& node, const Inputs& inputs) {
  const std::vector<std::string> terms = terms_of(node.as<ops::Einsum>().equation);
  std::string letters;
  Sizes box;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    for (std::size_t d = 0; d < terms[i].size(); ++d) {
      if (letters.find(terms[i][d]) != std::string::npos) continue;
      letters += terms[i][d];
      box.push_back(inputs[i]->sizes()[d]);
    }
  }
  Array y = result_array(node);
  for_each_index(box, [&](const Sizes& at) {
    const auto index_for = [&](const std::string& term) {
      Sizes index;
      for (char c : term) index.push_back(at[letters.find(c)]);
      return index;
    };
    double product = 1;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      product *= read(*inputs[i], index_for(terms[i]));
    }
    const std::int64_t place = offset_of(y, index_for(terms.back()));
    y.set(place, y.real(place) + product);
  });
  return {y};
}

}  // namespace

std::vector<Oracle> contract_oracles() {
  return {{"matmul", matmul}, {"linear", linear}, {"einsum", einsum}};
}

}  // namespace plait
