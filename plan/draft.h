// Draft: groups as steps with calls, before anything is known of memory. Buffers are still values.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backends/target.h"
#include "plan/lower.h"
#include "plan/program.h"

namespace plait::plan {

struct DraftStep {
  Step step;                          // calls name held values where a program's name buffers
  std::vector<std::shared_ptr<const loop::Kernel>> kernels;  // of the loops or epilogues
  std::vector<std::vector<ir::ValueId>> values;  // per kernel: its buffers
  std::vector<ir::ValueId> reads, writes;        // values in memory, each once
  std::vector<ir::ValueId> whole_reads;  // of these: read as a contraction's or hand's operand
  std::int64_t persistent_bytes = 0;
};

struct Draft {
  std::vector<DraftStep> steps;
  std::map<std::string, std::string> texts;  // functions by name
  std::map<ir::ValueId, ir::ValueId> again;  // numbers below -1: values that are made a second time
  bool whole = false;
};

/// Every buffer, or value that will have one, that a call names.
template <class Visit>
void each_buffer(Call& call, Visit visit) {
  const auto all = [&](std::vector<int>& list) {
    for (int& b : list) visit(b);
  };
  if (auto* loop = std::get_if<LoopCall>(&call)) all(loop->buffers);
  if (auto* hand = std::get_if<HandCall>(&call)) {
    all(hand->input_buffers);
    all(hand->output_buffers);
  }
  if (auto* product = std::get_if<ProductCall>(&call)) {
    for (int* b : {&product->a, &product->b, &product->c}) visit(*b);
    for (ProductCall::Part& part : product->parts) {
      all(part.buffers);
      all(part.generated.buffers);
    }
  }
}

Draft make_draft(const Sight& sight, const Target& target, const DimBindings& largest,
                 Tuning& tuning, DecisionLog& log);

/// Copies one value's elements to another of the same type and layout.
DraftStep copy_step(const ir::Graph& graph, ir::ValueId from, ir::ValueId to, const ir::Type& type,
                    const std::string& name, const Target& target, Draft& draft);

}  // namespace plait::plan
