// Shares, lifetimes, layouts and products of the tree's operators.
#include "report/oneflow_plan.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "base/error.h"
#include "io/oneflow/words.h"

namespace plait::report {
namespace {

using namespace io::oneflow;

/// Ops whose result is their operand's memory, where the layout stays.
bool is_view(const std::string& type) {
  return type == "reshape" || type == "identity" || type == "hierarchical_parallel_cast" ||
         type == "expand_dims" || type == "squeeze";
}

std::string layouts_text(const Layouts& layouts) {
  std::string text = short_layouts_text(layouts);
  return layouts.size() == 1 ? text.substr(1, text.size() - 2) : text;
}

std::string boxing_name(const Layouts& from, const Layouts& to) {
  if (from.size() != 1 || to.size() != 1) return "change of layout";
  const auto a = from[0].kind, b = to[0].kind;
  using ir::Layout;
  if (a == Layout::kBroadcast && b == Layout::kSplit) return "slice";
  if (a == Layout::kSplit && b == Layout::kBroadcast) return "all-gather";
  if (a == Layout::kPartial && b == Layout::kSplit) return "reduce-scatter";
  if (a == Layout::kPartial && b == Layout::kBroadcast) return "all-reduce";
  if (a == Layout::kSplit && b == Layout::kSplit) return "all-to-all";
  return "change of layout";
}

bool is_state(const Operator& op) {
  return op.inputs.empty() && op.outputs.size() == 1 && op.outputs[0].bare;
}

/// Where a tensor's bytes are, and until when they are needed.
struct Tracker {
  const std::string& device;
  std::unordered_map<std::string, std::size_t> owner{};  // tensor -> buffer
  std::unordered_map<std::string, const Operand*> made{};
  std::vector<Buffer> buffers{};

  void touch(const std::string& tensor, std::int64_t step) {
    const auto at = owner.find(tensor);
    if (at != owner.end()) buffers[at->second].last = std::max(buffers[at->second].last, step);
  }

  void own(const std::string& tensor, std::int64_t bytes, std::int64_t step) {
    owner[tensor] = buffers.size();
    buffers.push_back({tensor, bytes, step, step});
  }

  /// The operand in the layout that the reader wants: another buffer where that differs.
  void read(const Operator& op, const Operand& in, std::int64_t step) {
    touch(in.tensor, step);
    const auto at = made.find(in.tensor);
    if (at == made.end() || at->second->blob.layouts == in.blob.layouts) return;
    const std::string changed = in.tensor + " as " + layouts_text(in.blob.layouts);
    if (owner.count(changed)) return touch(changed, step);
    if (op.placement.device == device) own(changed, share_bytes(in.blob, op.placement), step);
  }
};

}  // namespace

std::int64_t share_bytes(const Blob& blob, const Placement& placement) {
  Sizes sizes = blob.shape;
  for (std::size_t i = 0; i < blob.layouts.size() && i < placement.mesh.size(); ++i) {
    const ir::Layout& layout = blob.layouts[i];
    if (layout.kind != ir::Layout::kSplit) continue;
    const auto axis = static_cast<std::size_t>(layout.axis);
    if (axis < sizes.size())
      sizes[axis] = (sizes[axis] + placement.mesh[i] - 1) / placement.mesh[i];
  }
  return element_count(sizes) * static_cast<std::int64_t>(size_of(blob.dtype));
}

std::map<std::string, std::string> types_of(const Record& record) {
  std::map<std::string, std::string> traced, out;
  for (const TracedOp& op : record.ops) {
    if (op.kind == OpKind::kUser) traced.emplace(op.name, op.type);
  }
  if (record.tree) {
    for (const TreeLine& line : record.tree->lines) {
      const auto* note = std::get_if<TensorNote>(&line.what);
      if (note && note->kind == TensorNote::kOutput) traced.emplace(note->name, "output");
    }
  }
  for (const Operator* op : record.operators()) {
    const auto at = traced.find(op->name);
    out.emplace(op->name, at != traced.end() ? at->second : type_by_name(*op));
  }
  return out;
}

OneflowPlan plan_of(const Record& record, const std::vector<const Operator*>& order,
                    const std::vector<HiddenInput>& hidden, const std::string& device) {
  OneflowPlan plan;
  Tracker tracker{device};
  const std::map<std::string, std::string> types = types_of(record);
  std::unordered_map<const Operator*, std::string> extra;
  for (const HiddenInput& h : hidden) extra.emplace(h.op, h.tensor);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Operator& op = *order[i];
    const auto step = static_cast<std::int64_t>(i);
    for (const Operand& in : op.inputs) tracker.read(op, in, step);
    if (const auto at = extra.find(&op); at != extra.end()) tracker.touch(at->second, step);
    for (const Operand& out : op.outputs) {
      const std::string tensor = op.tensor_of(out);
      tracker.made.emplace(tensor, &out);
      if (op.placement.device != device) continue;
      const std::int64_t bytes = share_bytes(out.blob, op.placement);
      if (is_state(op)) {
        if (__builtin_add_overflow(plan.state_bytes, bytes, &plan.state_bytes)) {
          fail("the states of the tree have more than 2^63 bytes");
        }
        continue;
      }
      const bool view = is_view(types.at(op.name)) && !op.inputs.empty() &&
                        op.inputs[0].blob.layouts == out.blob.layouts;
      const auto source = view ? tracker.owner.find(op.inputs[0].tensor) : tracker.owner.end();
      const auto changed =
          view ? tracker.owner.find(op.inputs[0].tensor + " as " + layouts_text(out.blob.layouts))
               : tracker.owner.end();
      if (changed != tracker.owner.end()) {
        tracker.owner[tensor] = changed->second;
      } else if (source != tracker.owner.end()) {
        tracker.owner[tensor] = source->second;
      } else {
        tracker.own(tensor, bytes, step);
      }
    }
  }
  plan.buffers = std::move(tracker.buffers);
  return plan;
}

std::vector<Reboxing> reboxings(const std::vector<const Operator*>& order) {
  std::vector<Reboxing> out;
  std::unordered_map<std::string, const Operand*> made;
  std::unordered_map<std::string, std::size_t> seen;  // tensor and layout
  for (const Operator* op : order) {
    for (const Operand& in : op->inputs) {
      const auto at = made.find(in.tensor);
      if (at == made.end() || at->second->blob.layouts == in.blob.layouts) continue;
      const std::string from = layouts_text(at->second->blob.layouts),
                        to = layouts_text(in.blob.layouts);
      if (!seen.emplace(in.tensor + " " + to, out.size()).second) continue;
      const std::int64_t bytes =
          element_count(in.blob.shape) * static_cast<std::int64_t>(size_of(in.blob.dtype));
      out.push_back(
          {in.tensor, from, to, boxing_name(at->second->blob.layouts, in.blob.layouts), bytes, op});
    }
    for (const Operand& o : op->outputs) made.emplace(op->tensor_of(o), &o);
  }
  return out;
}

bool is_replicated(const Operator& op) {
  const auto whole = [](const Operand& o) {
    return std::all_of(o.blob.layouts.begin(), o.blob.layouts.end(),
                       [](const ir::Layout& l) { return l.kind == ir::Layout::kBroadcast; });
  };
  return op.placement.ranks.size() > 1 && std::all_of(op.inputs.begin(), op.inputs.end(), whole) &&
         std::all_of(op.outputs.begin(), op.outputs.end(), whole);
}

std::vector<Product> products_of(const Record& record, const std::vector<const Operator*>& order) {
  const std::map<std::string, std::string> types = types_of(record);
  std::vector<Product> out;
  for (const Operator* op : order) {
    const std::string& type = types.at(op->name);
    if (type.find("matmul") == std::string::npos) continue;
    if (op->inputs.size() < 2 || op->outputs.size() != 1) continue;
    const Sizes &a = op->inputs[0].blob.shape, &b = op->inputs[1].blob.shape,
                &y = op->outputs[0].blob.shape;
    // |a| |b| |y| = batch^3 (m k n)^2, where all three have the batch; else it is in m or k.
    double batch = 1;
    if (a.size() == y.size() && b.size() == y.size()) {
      for (std::size_t i = 0; i + 2 < y.size(); ++i) batch *= static_cast<double>(y[i]);
    }
    const double all = static_cast<double>(element_count(a)) *
                       static_cast<double>(element_count(b)) *
                       static_cast<double>(element_count(y));
    const double work = batch > 0 ? 2 * std::sqrt(all / batch) : 0;
    const bool fits = work < 9e18;
    out.push_back(
        {op, type, fits ? static_cast<std::int64_t>(std::llround(work)) : 0, is_replicated(*op)});
  }
  return out;
}

}  // namespace plait::report
