// The training graph of a step under construction: forward operations in order, then backward ones.
// What does not fit becomes an opaque node with a note why.
#pragma once

#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "io/chainer/call.h"
#include "io/chainer/links.h"
#include "io/chainer/splice.h"
#include "ops/builder.h"

namespace plait::io::chainer {

/// What the document does not say.
struct Assumptions {
  DType real = DType::f32;
  std::map<int, Sizes> feeds;  // by variable: shapes of feeds that nothing else tells
};

class Step {
 public:
  Step(const Record& record, const Links& links, const Assumptions& assumptions, NamedSizes sizes);

  /// Gives up once there are `enough` misfits. How many operations it built.
  std::int64_t forward(int enough = std::numeric_limits<int>::max());
  void backward();
  /// With its fetches: the loss, gradients of parameters, and what nothing reads.
  ir::Graph take();

  /// Operations of known functions that did not fit.
  int misfits() const { return misfits_; }
  /// Feeds whose shape had to be guessed, in the order they were met.
  const std::vector<int>& asked() const { return asked_; }
  const std::vector<std::string>& notes() const { return notes_; }
  /// The batch as the first feed with rows has it; 0 when there is none.
  std::int64_t rows() const;

 private:
  void add_forward(int index);
  /// Empty, or why not.
  std::string add_known(int index, const Operation& op);
  void commit(Call& call, int index, const std::vector<Tensor>& ys);
  void add_opaque_forward(const Operation& op);
  void add_backward(int index);
  bool add_gradients(int index, const Operation& op, const std::vector<int>& wanted);
  void add_opaque_backward(const Operation& op, const std::vector<int>& wanted);

  ir::ValueId resolve(int variable, const Resolved& as);
  /// The variable's value; its shape is flat if nothing has told it.
  ir::ValueId value_of(int variable);
  ir::Type opaque_type(const Operation& op, int variable) const;
  /// The sum of what backward operations made; kNone for what has none.
  ir::ValueId gradient_of(int variable, const Origin& origin);
  std::string name_of(int variable) const;
  Origin origin_of(const Operation& op) const;
  void note(const Operation& op, const std::string& what);

  const Record& record_;
  const Links& links_;
  NamedSizes sizes_;
  DType real_;
  Builder b_{"step"};
  std::vector<Known> variables_;
  std::vector<ir::ValueId> values_;                      // per variable
  std::vector<NodeRange> nodes_;                         // per operation
  std::vector<bool> opaque_;                             // per operation
  std::vector<int> gradient_makers_, readers_;           // per variable
  std::vector<std::vector<ir::ValueId>> contributions_;  // per variable: its gradient's parts
  std::vector<int> asked_;
  std::set<int> asked_set_;
  std::vector<std::string> notes_;
  int loss_ = -1;
  int misfits_ = 0;
};

}  // namespace plait::io::chainer
