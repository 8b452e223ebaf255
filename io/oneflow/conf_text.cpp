// Printing op confs.
#include "base/text.h"
#include "io/oneflow/conf.h"
#include "io/oneflow/proto.h"
#include "io/oneflow/words.h"

namespace plait::io::oneflow {
namespace {

/// Protobuf's text form under construction.
struct ProtoText {
  std::string out;
  int depth = 0;

  void line(const std::string& text) {
    out += std::string(2 * static_cast<std::size_t>(depth), ' ') + text + "\n";
  }
  void open(std::string_view key) {
    line(str(key, " {"));
    ++depth;
  }
  void close() {
    --depth;
    line("}");
  }
  void field(std::string_view key, const std::string& value) { line(str(key, ": ", value)); }
  void string(std::string_view key, std::string_view value) { field(key, proto_quoted(value)); }

  void list(std::string_view key, std::string_view item, const Sizes& values) {
    open(key);
    for (std::int64_t v : values) field(item, str(v));
    close();
  }

  void layouts(const Layouts& layouts, bool as_strings) {
    if (layouts.empty()) return;
    if (as_strings) {
      for (const ir::Layout& l : layouts) string("nd_sbp", layout_text(l));
      return;
    }
    open("nd_sbp");
    for (const ir::Layout& l : layouts) {
      open("sbp_parallel");
      open(l.kind == ir::Layout::kSplit       ? "split_parallel"
           : l.kind == ir::Layout::kBroadcast ? "broadcast_parallel"
                                              : "partial_sum_parallel");
      if (l.kind == ir::Layout::kSplit) field("axis", str(l.axis));
      close();
      close();
    }
    close();
  }

  void blob(const Blob& blob, bool layouts_as_strings) {
    list("shape", "dim", blob.shape);
    field("data_type", std::string(proto_name(blob.dtype)));
    layouts(blob.layouts, layouts_as_strings);
  }

  void port(std::string_view key, const Port& port) {
    open(key);
    string("key", port.key);
    open("value");
    for (const std::string& tensor : port.tensors) string("s", tensor);
    close();
    close();
  }

  void attribute(const Attribute& a) {
    open("attr");
    string("key", a.key);
    open("value");
    std::visit([&](const auto& value) { attribute_value(a.kind, value); }, a.value);
    close();
    close();
  }

  void attribute_value(const std::string& kind, bool v) { field(kind, v ? "true" : "false"); }
  void attribute_value(const std::string& kind, std::int64_t v) { field(kind, str(v)); }
  void attribute_value(const std::string& kind, double v) { field(kind, real_text(v)); }
  void attribute_value(const std::string& kind, const std::string& v) { string(kind, v); }
  void attribute_value(const std::string& kind, DType v) {
    field(kind, std::string(proto_name(v)));
  }
  void attribute_value(const std::string& kind, const Sizes& v) {
    list(kind, kind == "at_shape" ? "dim" : "val", v);
  }
  void attribute_value(const std::string& kind, const std::vector<double>& v) {
    open(kind);
    for (double x : v) field("val", real_text(x));
    close();
  }
  void attribute_value(const std::string& kind, const std::vector<std::string>& v) {
    open(kind);
    for (const std::string& x : v) string("val", x);
    close();
  }

  void user(const TracedOp& op) {
    string("op_type_name", op.type);
    for (const Port& p : op.inputs) port("input", p);
    for (const Port& p : op.outputs) port("output", p);
    for (const Attribute& a : op.attributes) attribute(a);
    for (const Port& p : op.inputs) string("input_order", p.key);
    for (const Port& p : op.outputs) string("output_order", p.key);
  }
};

std::string out_name(const TracedOp& op) {
  return op.outputs[0].tensors[0].substr(op.name.size() + 1);
}

}  // namespace

std::string conf_text(const TracedOp& op) {
  ProtoText text;
  text.string("name", op.name);
  text.string("device_tag", op.device);
  text.field("scope_symbol_id", str(op.scope));
  if (!op.loc.empty()) text.string("loc", op.loc);
  switch (op.kind) {
    case OpKind::kUser:
      text.open("user_conf");
      text.user(op);
      break;
    case OpKind::kVariable:
      text.open("variable_conf");
      text.string("out", out_name(op));
      text.blob(*op.blob, true);
      break;
    case OpKind::kInput:
    case OpKind::kOutput:
      text.open(op.kind == OpKind::kInput ? "input_conf" : "output_conf");
      if (op.kind == OpKind::kOutput) text.string("in", op.inputs[0].tensors[0]);
      text.string("out", out_name(op));
      text.open("blob_conf");
      text.blob(*op.blob, false);
      text.close();
      break;
  }
  text.close();
  return text.out + "\n";
}

}  // namespace plait::io::oneflow
