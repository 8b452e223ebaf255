// What the page of a step and its findings both need: the record with its links, sizes of elements,
// and names for people.
#pragma once

#include <string>

#include "io/chainer/links.h"
#include "io/import.h"
#include "report/memory.h"
#include "report/page.h"

namespace plait::report {

struct RecordedStep {
  const io::chainer::Record& record;
  io::chainer::Links links;
  ir::Graph graph;  // as Plait holds it, sizes as in the document
  std::int64_t element_bytes = 4;
  MemoryFigures memory;  // by lifetimes and retain lists

  std::int64_t bytes(int variable) const;
  /// `v12`, `/predictor/fc6/W`
  std::string name(int variable) const;
  /// `predictor.conv1_2 (Convolution2DFunction, line 753)`
  std::string label(const io::chainer::Operation& op) const;
  /// Operations of a record by the rules of counting; a backward of a contraction is as much for
  /// each of its gradients that something reads.
  std::int64_t work(int operation) const;
  /// What an operation needs in memory while it runs, parameters and their gradients left out.
  std::int64_t working_set(int operation) const;
  /// Whether nothing can read the gradient of this variable: it is fed.
  bool is_fed(int variable) const;
};

/// Where a function keeps its elements in place: activations, dropout, arithmetic.
bool is_pointwise(const std::string& function);
bool is_contraction(const std::string& function);

void add_chainer_findings(Page& page, const RecordedStep& step);

}  // namespace plait::report
