// Printing the calls of a program as one function.
#include "backends/cpu/single_kernel.h"

#include "base/text.h"

namespace plait {
namespace {

class Calls {
 public:
  void add(const program::LoopCall& call, std::size_t pointers) {
    std::string sizes = "0";
    if (!call.function.parameters.empty()) {
      sizes = str("n", pointer_);
      std::string list;
      for (const Dim& d : call.function.parameters) list += str(d.value(), ", ");
      text_ += str("  static const int64_t ", sizes, "[] = {", list, "};\n");
    }
    text_ += str("  ", call.function.name, "(p + ", pointer_, ", ", sizes, ", 0, ",
                 call.rows.value(), ", 0, scratch, bad);\n");
    if (call.finish_rows.value() > 0) {
      text_ += str("  ", call.function.name, "_finish(p + ", pointer_, ", ", sizes, ", 0, ",
                   call.finish_rows.value(), ", 1);\n");
    }
    pointer_ += pointers;
  }

  const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::size_t pointer_ = 0;
};

}  // namespace

std::string single_kernel_text(const program::Program& program) {
  Calls calls;
  for (const program::Step& step : program.steps) {
    for (const program::Call& call : step.calls) {
      if (const auto* loop = std::get_if<program::LoopCall>(&call)) {
        calls.add(*loop, loop->arguments.size() + loop->column_sizes.size());
        continue;
      }
      for (const auto& part : std::get<program::ProductCall>(call).parts) {
        calls.add(part.generated, part.generated.arguments.size());
      }
    }
  }
  return str("void ", program::kSingleKernel, "(char* const* p, char* scratch, int* bad) {\n",
             calls.text(), "}\n");
}

}  // namespace plait
