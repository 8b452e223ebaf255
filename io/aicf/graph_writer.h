// Graph to record: nodes of ours as ops of the format, values as storage cells. Updates are written
// last, so that every reader of a parameter stands above the line that overwrites it.
#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "io/aicf/layer_gradients.h"
#include "io/aicf/pattern.h"
#include "io/aicf/record.h"
#include "io/aicf/record_cells.h"
#include "ir/graph.h"

namespace plait::io::aicf {

class GraphWriter {
 public:
  /// The graph must outlive this; its sizes are numbers, its constants folded.
  explicit GraphWriter(const ir::Graph& graph);

  /// UserError naming the first node that the format has no word for. Call once.
  Record record();

 private:
  [[noreturn]] void no_word(const ir::Node& node, const std::string& why) const;
  /// Marks nodes as part of something written.
  void speak(const Match& match);
  void note_uses();
  /// The cell that an operand is read from.
  Cell cell(ir::ValueId value);
  const std::string& name_of(Cell c) const { return record_.value(c).name; }
  void emit(std::string_view op, std::vector<Cell> inputs, std::vector<Cell> outputs,
            std::vector<Attr> attrs = {});
  static std::vector<Attr> layer_attrs(bool bias);
  void add_backward(std::size_t index);

  // Nodes in order; updates are kept for the end.
  void add_node(ir::NodeId id);
  /// `d_` and the name of what relu was given, where `saved` is its result.
  std::string masked_name(ir::ValueId saved, Cell dy);
  /// A state plus one, which is its next value.
  bool is_counted(ir::NodeId id) const;
  /// Adam in single ops, whose result is the next value of p.
  bool is_adam(ir::NodeId id) const;
  void add_mse_grad(const Patterns::MseGrad& mse, ir::ValueId result);
  /// A loss that is differentiated is left out: the format holds its gradient alone.
  void add_losses();

  // Updates.
  /// Of the state whose content this is; kNone where it has none.
  ir::ValueId next_value(ir::ValueId before) const;
  /// The cell of a state whose next value is result `output` of the node: written in place.
  Cell updated_cell(const ir::Node& node, ir::ValueId before, int output);
  std::string rate_text(const ir::Node& node, Match& covered) const;
  void add_update(ir::NodeId id);
  void add_adam(const ir::Node& node, const std::string& lr, Match& covered);
  /// The results of BiasCorr for a step and betas, written when they are first asked for.
  std::pair<Cell, Cell> corrections(ir::ValueId count, const std::string& beta1,
                                    const std::string& beta2);
  void add_adam_formula(const ir::Node& node, const Patterns::Adam& adam);
  /// The cell of a moment whose next value is `wide`, as it is or rounded.
  Cell moment_cell(ir::ValueId before, ir::ValueId wide);

  // What must be left: nothing.
  void check_spoken() const;
  void check_ends();
  /// Feeds and states that no node reads; a learning rate is an attribute.
  void add_unread();

  const ir::Graph& g_;
  Patterns patterns_;
  Record record_;
  RecordCells cells_;
  std::vector<bool> spoken_;  // by node: part of something written
  std::map<ir::ValueId, std::string> state_of_;
  std::map<std::string, ir::ValueId> next_of_;
  std::vector<LayerGradients> layers_;
  std::map<ir::NodeId, std::vector<std::size_t>> backward_at_;
  std::vector<ir::NodeId> updates_;
  std::map<std::tuple<ir::ValueId, std::string, std::string>, std::pair<Cell, Cell>> corrections_;
  std::set<std::pair<ir::ValueId, ir::ValueId>> graded_;
  std::set<ir::ValueId> losses_;
};

}  // namespace plait::io::aicf
