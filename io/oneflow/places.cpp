// Layouts and placements by tensor.
#include "io/oneflow/places.h"

namespace plait::io::oneflow {

ir::Place place_of(const Placement& placement, const Layouts& layouts) {
  return {placement.device, placement.ranks, placement.mesh, layouts};
}

std::unordered_map<std::string, ir::Place> places_of(const Record& record) {
  std::unordered_map<std::string, ir::Place> places;
  for (const Operator* op : record.operators()) {
    for (const Operand& out : op->outputs) {
      places.emplace(op->tensor_of(out), place_of(op->placement, out.blob.layouts));
    }
  }
  const auto add = [&](const TensorNote& note) {
    places.emplace(note.name + "/out", place_of(note.placement, note.blob.layouts));
  };
  for (const TensorNote& note : record.tensors) add(note);
  if (!record.tree) return places;
  for (const TreeLine& line : record.tree->lines) {
    if (const auto* note = std::get_if<TensorNote>(&line.what)) add(*note);
  }
  return places;
}

}  // namespace plait::io::oneflow
