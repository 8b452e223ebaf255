// Record to text.
#include "base/error.h"
#include "io/chainer/format.h"

namespace plait::io::chainer {

std::string write(const Record& record) {
  std::string out = str(record.variables.size(), " ", record.operations.size(), "\n");
  const auto id_of = [&](int v) {
    return std::to_string(record.variables[static_cast<std::size_t>(v)].id);
  };
  for (const Variable& v : record.variables) {
    out += str(v.id, " ", v.bytes, " ", v.name, "\n");
  }
  for (const Operation& op : record.operations) {
    out += str(op.backward ? "backward" : "forward", "\n", op.inputs.size(), " ", op.outputs.size(),
               "\n");
    for (const Input& in : op.inputs) {
      out += id_of(in.variable) + " ";
      out += tag_text(in.tag);
      out += "\n";
    }
    for (int v : op.outputs) out += id_of(v) + "\n";
    out += op.function + "\n" + op.text + "\n";
  }
  return out;
}

}  // namespace plait::io::chainer
