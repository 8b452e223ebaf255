// A conf's fields, checked and typed.
#include "io/oneflow/conf.h"

#include <algorithm>

#include "base/text.h"
#include "io/import.h"
#include "io/oneflow/proto.h"
#include "io/oneflow/words.h"

namespace plait::io::oneflow {
namespace {

using Fields = std::vector<ProtoField>;

constexpr std::size_t kMaxName = 512;
constexpr std::size_t kMaxList = 128;  // of an attribute: axes, sizes, paddings

/// The fields of one op, with messages that name it.
struct ConfReader {
  const Lines& lines;
  std::string op;

  template <class... Parts>
  [[noreturn]] void wrong(std::int64_t line, const Parts&... parts) const {
    plait::fail(lines.name(), ":", line, ": op ", op.empty() ? "?" : op, ": ", parts...);
  }

  const ProtoField* find(const Fields& fields, std::string_view key) const {
    const ProtoField* found = nullptr;
    for (const ProtoField& f : fields) {
      if (f.key != key) continue;
      if (found) wrong(f.line, key, " stands twice");
      found = &f;
    }
    return found;
  }

  const ProtoField& need(const ProtoField& in, std::string_view key) const {
    const ProtoField* found = find(in.fields, key);
    if (!found) wrong(in.line, in.key, " has no ", key);
    return *found;
  }

  std::string text(const ProtoField& f) const {
    if (!f.quoted) wrong(f.line, f.key, " must be a string in quotes");
    return f.text;
  }

  /// A string that messages repeat.
  std::string name(const ProtoField& f) const {
    const std::string out = text(f);
    if (out.empty()) wrong(f.line, f.key, " is empty");
    if (out.size() > kMaxName)
      wrong(f.line, f.key, " has ", out.size(), " bytes, at most ", kMaxName);
    return out;
  }

  std::int64_t integer(const ProtoField& f) const {
    const auto value = f.message || f.quoted ? std::nullopt : integer_of(f.text);
    if (!value) wrong(f.line, f.key, " must be a whole number, not ", glimpse(f.text));
    return *value;
  }

  double real(const ProtoField& f) const {
    const auto value = f.message || f.quoted ? std::nullopt : real_of(f.text);
    if (!value) wrong(f.line, f.key, " must be a number, not ", glimpse(f.text));
    return *value;
  }

  bool boolean(const ProtoField& f) const {
    if (f.text != "true" && f.text != "false") {
      wrong(f.line, f.key, " must be true or false, not ", glimpse(f.text));
    }
    return f.text == "true";
  }

  DType dtype(const ProtoField& f) const {
    const auto dtype = dtype_of_proto(f.text);
    if (!dtype) wrong(f.line, f.key, " is ", glimpse(f.text), ", which is no data type known here");
    return *dtype;
  }

  Sizes integers(const ProtoField& f, std::string_view key) const {
    Sizes out;
    for (const ProtoField& item : f.fields) {
      if (item.key != key) wrong(item.line, f.key, " holds ", item.key, ", expected ", key);
      out.push_back(integer(item));
      if (out.size() > kMaxList) wrong(item.line, f.key, " has more than ", kMaxList, " numbers");
    }
    return out;
  }

  Sizes shape(const ProtoField& f) const {
    const Sizes sizes = integers(f, "dim");
    const std::string why = sizes.size() > 64 ? "more than 64 sizes" : why_bad_sizes(sizes);
    if (!why.empty()) wrong(f.line, why);
    return sizes;
  }

  /// `nd_sbp: "B"` once per mesh axis, or nd_sbp with a sbp_parallel per axis.
  Layouts layouts(const Fields& fields) const {
    Layouts out;
    for (const ProtoField& f : fields) {
      if (f.key != "nd_sbp") continue;
      if (!f.message) {
        const auto layout = layout_of(text(f));
        if (!layout) wrong(f.line, "nd_sbp is ", glimpse(f.text), ", expected B, P or S(axis)");
        out.push_back(*layout);
        continue;
      }
      for (const ProtoField& axis : f.fields) out.push_back(layout(axis));
    }
    return out;
  }

  ir::Layout layout(const ProtoField& parallel) const {
    if (parallel.fields.size() != 1) wrong(parallel.line, "sbp_parallel must hold one layout");
    const ProtoField& kind = parallel.fields[0];
    if (kind.key == "broadcast_parallel") return {};
    if (kind.key == "partial_sum_parallel") return {ir::Layout::kPartial, 0};
    if (kind.key != "split_parallel") wrong(kind.line, "unknown layout ", kind.key);
    const ProtoField* axis = find(kind.fields, "axis");
    const std::int64_t value = axis ? integer(*axis) : 0;
    if (value < 0 || value > 63) wrong(kind.line, "splits axis ", value);
    return {ir::Layout::kSplit, static_cast<int>(value)};
  }

  Blob blob(const ProtoField& in) const {
    Blob blob;
    blob.shape = shape(need(in, "shape"));
    blob.dtype = dtype(need(in, "data_type"));
    blob.layouts = layouts(in.fields);
    for (const ir::Layout& l : blob.layouts) {
      if (l.kind != ir::Layout::kSplit || l.axis < static_cast<int>(blob.shape.size())) continue;
      wrong(in.line, layout_text(l), " splits an axis that ", shape_text(blob.shape),
            " does not have");
    }
    return blob;
  }

  Port port(const ProtoField& in) const {
    Port out{name(need(in, "key")), {}};
    for (const ProtoField& s : need(in, "value").fields) {
      if (s.key != "s") wrong(s.line, "expected s, found ", s.key);
      out.tensors.push_back(name(s));
    }
    if (out.tensors.empty()) wrong(in.line, in.key, " ", out.key, " holds no tensor");
    return out;
  }

  Attribute attribute(const ProtoField& in) const;
  void sort_ports(const ProtoField& conf, std::string_view order, std::vector<Port>& ports) const;
  void read_user(const ProtoField& conf, TracedOp& out) const;
};

Attribute ConfReader::attribute(const ProtoField& in) const {
  const ProtoField& value = need(in, "value");
  if (value.fields.size() != 1) wrong(value.line, "an attribute must have one value");
  const ProtoField& f = value.fields[0];
  Attribute out{name(need(in, "key")), f.key, false};
  if (f.key == "at_bool") {
    out.value = boolean(f);
  } else if (f.key == "at_int32" || f.key == "at_int64") {
    out.value = integer(f);
  } else if (f.key == "at_float" || f.key == "at_double") {
    out.value = real(f);
  } else if (f.key == "at_string") {
    out.value = text(f);
  } else if (f.key == "at_data_type") {
    out.value = dtype(f);
  } else if (f.key == "at_shape") {
    out.value = shape(f);
  } else if (f.key == "at_list_int32" || f.key == "at_list_int64") {
    out.value = integers(f, "val");
  } else if (f.key == "at_list_float") {
    std::vector<double> list;
    for (const ProtoField& item : f.fields) list.push_back(real(item));
    out.value = std::move(list);
  } else if (f.key == "at_list_string") {
    std::vector<std::string> list;
    for (const ProtoField& item : f.fields) list.push_back(text(item));
    out.value = std::move(list);
  } else {
    wrong(f.line, "attribute ", out.key, " is of the unknown kind ", f.key);
  }
  return out;
}

/// Ports stand by alphabet; the op takes them in the order of input_order or output_order.
void ConfReader::sort_ports(const ProtoField& conf, std::string_view order,
                            std::vector<Port>& ports) const {
  std::vector<Port> sorted;
  for (const ProtoField& f : conf.fields) {
    if (f.key != order) continue;
    const std::string key = text(f);
    const auto at =
        std::find_if(ports.begin(), ports.end(), [&](const Port& p) { return p.key == key; });
    if (at == ports.end()) wrong(f.line, order, " names ", key, ", which is not there");
    sorted.push_back(std::move(*at));
    ports.erase(at);
  }
  for (Port& p : ports) {
    for (const Port& s : sorted) {
      if (s.key == p.key) wrong(conf.line, p.key, " stands twice");
    }
    sorted.push_back(std::move(p));
  }
  ports = std::move(sorted);
}

void ConfReader::read_user(const ProtoField& conf, TracedOp& out) const {
  out.type = name(need(conf, "op_type_name"));
  for (const ProtoField& f : conf.fields) {
    if (f.key == "input") out.inputs.push_back(port(f));
    if (f.key == "output") out.outputs.push_back(port(f));
    if (f.key == "attr") out.attributes.push_back(attribute(f));
    if (std::max(out.inputs.size(), out.outputs.size()) > 1000) wrong(f.line, "over 1,000 ports");
  }
  sort_ports(conf, "input_order", out.inputs);
  sort_ports(conf, "output_order", out.outputs);
}

}  // namespace

TracedOp read_conf(Lines& lines) {
  const std::int64_t first = lines.number() + 1;
  ProtoField root{"the conf", "", false, read_message(lines), true, first};
  ConfReader reader{lines, ""};
  TracedOp out;
  out.line.number = first;
  out.name = reader.name(reader.need(root, "name"));
  reader.op = out.name;
  out.device = reader.name(reader.need(root, "device_tag"));
  out.scope = reader.integer(reader.need(root, "scope_symbol_id"));
  if (const ProtoField* loc = reader.find(root.fields, "loc")) out.loc = reader.text(*loc);
  const ProtoField* conf = nullptr;
  for (const ProtoField& f : root.fields) {
    if (!f.key.ends_with("_conf")) continue;
    if (conf) reader.wrong(f.line, "it has both ", conf->key, " and ", f.key);
    conf = &f;
  }
  if (!conf) reader.wrong(first, "it has no input_conf, variable_conf, output_conf or user_conf");
  if (conf->key == "user_conf") {
    reader.read_user(*conf, out);
    return out;
  }
  const std::string tensor = out.name + "/" + reader.name(reader.need(*conf, "out"));
  out.outputs = {{"out", {tensor}}};
  if (conf->key == "variable_conf") {
    out.kind = OpKind::kVariable;
    out.blob = reader.blob(*conf);
  } else if (conf->key == "input_conf" || conf->key == "output_conf") {
    out.kind = conf->key == "input_conf" ? OpKind::kInput : OpKind::kOutput;
    out.blob = reader.blob(reader.need(*conf, "blob_conf"));
    if (out.kind == OpKind::kOutput) {
      out.inputs = {{"in", {reader.name(reader.need(*conf, "in"))}}};
    }
  } else {
    reader.wrong(conf->line, "unknown kind of op ", conf->key);
  }
  return out;
}

}  // namespace plait::io::oneflow
