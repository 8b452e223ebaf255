// Sections of the log's page that say what stands in it. Each adds nothing where the log is silent.
#pragma once

#include <string>

#include "report/oneflow_findings.h"
#include "report/page.h"

namespace plait::report {

/// Sums beyond it do not fit 64 bits.
inline constexpr double kMostBytes = 4e18;

/// `12.50`
std::string fixed(double value, int digits);

void add_config(Page& page, const io::oneflow::Record& record);
void add_trace(Page& page, const io::oneflow::Record& record);
/// What the passes left, by type.
void add_tree(Page& page, const OneflowFacts& facts);
void add_layouts(Page& page, const OneflowFacts& facts);
void add_passes(Page& page, const io::oneflow::Record& record);
void add_training(Page& page, const io::oneflow::Record& record);

}  // namespace plait::report
