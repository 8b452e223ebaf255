// What is known of a document before anything is said about it; shared by its page and findings.
#pragma once

#include <string>
#include <vector>

#include "io/aicf/cells.h"
#include "io/aicf/record.h"
#include "ir/graph.h"
#include "report/page.h"

namespace plait::report {

struct AicfStep {
  explicit AicfStep(const io::aicf::Record& record);

  const io::aicf::Record& record;
  std::vector<io::aicf::CellUse> uses;      // by cell
  std::vector<io::aicf::Version> versions;  // every content of every cell
  std::vector<std::size_t> first_version;   // by cell, and one behind the last
  ir::Graph graph;                          // with the document's sizes

  std::int64_t bytes_of(io::aicf::Cell cell) const;
  /// What a node reads from a cell: the latest content above it.
  const io::aicf::Version& version_read(io::aicf::Cell cell, std::int32_t node) const;
  /// `v015 d_x`
  std::string cell_text(io::aicf::Cell cell) const;
  /// `#004 MseGrad`
  std::string node_text(std::size_t index) const;
  /// The node of the document that a node of the graph stands for.
  std::size_t index_of(const ir::Node& node) const;
};

/// A kernel that AICF launches, by the name of its kind.
struct AicfKernel {
  std::string kind;  // `gemm`, `bias_add`...
  std::size_t node;  // of the document
};

/// One kernel after another as AICF lowers the nodes; with `fuse`, a product, its bias and the relu
/// that alone reads it are one.
std::vector<AicfKernel> aicf_kernels(const AicfStep& step, bool fuse);

/// How many kernels are left when dead work and copies are dropped and pointwise work is done by
/// the kernel that makes its operand: what fusion can reach, not what Plait launches.
std::int64_t fewest_kernels(const ir::Graph& graph);

void add_aicf_findings(Page& page, const AicfStep& step);

}  // namespace plait::report
