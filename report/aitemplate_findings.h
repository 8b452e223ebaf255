// What is wrong in an AITemplate document, by rules that hold for any of them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "io/aitemplate/record.h"
#include "io/import.h"
#include "report/page.h"

namespace plait::report {

/// The record with what every rule asks of it: tensors by name, bytes, kinds of operators.
class AitView {
 public:
  explicit AitView(const io::aitemplate::Record& record);
  const io::aitemplate::Record& record;

  const io::aitemplate::TensorRecord& tensor(const std::string& name) const;
  const io::aitemplate::OperatorRecord* writer(const io::aitemplate::TensorRecord& t) const;
  /// At the upper bound of every range.
  std::int64_t elements(const io::aitemplate::TensorRecord& t) const;
  std::int64_t bytes(const io::aitemplate::TensorRecord& t) const;
  /// Inputs read and outputs written.
  std::int64_t bytes(const io::aitemplate::OperatorRecord& op) const;

  static bool is_contraction(const io::aitemplate::OperatorRecord& op);
  static bool is_elementwise(const io::aitemplate::OperatorRecord& op);
  /// Whether it only renames elements: no kernel runs.
  static bool is_view(const io::aitemplate::OperatorRecord& op);

 private:
  std::map<std::string_view, const io::aitemplate::TensorRecord*> tensors_;
  std::map<std::string_view, const io::aitemplate::OperatorRecord*> operators_;
};

/// An operand of an epilogue that is no vector along the last axis.
struct Addend {
  enum Kind { kFull, kColumn, kBroadcast };
  std::string name;
  Kind kind;  // as large as the result, one element per row, or some other part of it
};

/// An elementwise kernel that could be the epilogue of the contraction before it.
struct Epilogue {
  const io::aitemplate::OperatorRecord *contraction, *elementwise;
  const io::aitemplate::TensorRecord* between;
  std::vector<Addend> addends;
};
std::vector<Epilogue> epilogues(const AitView& view);

void add_aitemplate_findings(Page& page, const AitView& view, const io::Import& import);

}  // namespace plait::report
