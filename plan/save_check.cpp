// Every number of a program against what it counts.
#include "plan/save_check.h"

#include <algorithm>

#include "base/at.h"

namespace plait::plan {
namespace {

/// a + b of bytes, neither negative.
std::int64_t sum(std::int64_t a, std::int64_t b) {
  std::int64_t total = 0;
  if (a < 0 || b < 0 || __builtin_add_overflow(a, b, &total)) {
    fail("there cannot be ", a, " + ", b, " bytes");
  }
  return total;
}

class Checker {
 public:
  explicit Checker(const Program& program) : p_(program) {}

  void run() const {
    memory();
    for (const Buffer& b : p_.buffers) buffer(b);
    for (const Held& h : p_.values) held(h);
    for (const Step& s : p_.steps) step(s);
    for (const Binding& b : p_.feeds) held_number(b.held, b.name);
    for (const Binding& b : p_.fetches) held_number(b.held, b.name);
    for (const StateBinding& s : p_.states) state(s);
    for (const Binding& b : p_.rounded) rounded(b);
    for (const auto& [number, array] : p_.constants) constant(number, array);
  }

 private:
  void memory() const {
    if (p_.threads < 1) fail("there cannot be ", p_.threads, " threads");
    sum(sum(p_.states_bytes, p_.arena_bytes), p_.scratch_bytes);
    if (p_.lanes < 1) fail("there cannot be ", p_.lanes, " lanes");
    std::int64_t threads_bytes = 0, lanes_bytes = 0;
    if (p_.thread_bytes < 0 || p_.side_bytes < 0 ||
        __builtin_mul_overflow(p_.thread_bytes, std::int64_t{p_.threads}, &threads_bytes) ||
        __builtin_mul_overflow(p_.side_bytes, std::int64_t{p_.lanes - 1}, &lanes_bytes) ||
        sum(sum(sum(p_.shared_bytes, lanes_bytes), threads_bytes), p_.persistent_bytes) >
            p_.scratch_bytes) {
      fail("the workspace is larger than its ", p_.scratch_bytes, " bytes");
    }
  }

  void buffer(const Buffer& b) const {
    const std::int64_t room = b.space == Space::kArena ? p_.arena_bytes : p_.states_bytes;
    if (sum(b.offset, b.bytes) > room) {
      fail("buffer '", b.name, "' ends at ", b.offset + b.bytes, ", its space at ", room);
    }
    if (b.offset % kAlignment != 0) fail("buffer '", b.name, "' begins at ", b.offset);
    if (b.first < 0 || b.last < b.first) {
      fail("buffer '", b.name, "' lives from step ", b.first, " to ", b.last);
    }
  }

  void held(const Held& h) const {
    buffer_number(h.buffer, h.name);
    Layout axes = h.layout;
    std::sort(axes.begin(), axes.end());
    if (axes != default_layout(h.type.shape.size())) {
      fail("the layout of '", h.name, "' is not an order of its ", h.type.rank(), " axes");
    }
    for (const Dim& d : h.type.shape) {
      if (d.lo() < 0) fail("'", h.name, "' cannot have the size ", d);
    }
    const Buffer& b = p_.buffers[at(h.buffer)];
    if (h.type.bytes().hi() > b.bytes) {
      fail("'", h.name, "' is ", h.type, ", its buffer has ", b.bytes, " bytes");
    }
  }

  void state(const StateBinding& s) const {
    held_number(s.held, s.state.name);
    const ir::Type& type = p_.values[at(s.held)].type;
    if (!(s.state.type == type)) fail("state '", s.state.name, "' is not ", type);
  }

  void rounded(const Binding& b) const {
    held_number(b.held, b.name);
    const auto of = std::find_if(p_.states.begin(), p_.states.end(),
                                 [&](const StateBinding& s) { return s.state.name == b.name; });
    const Held& copy = p_.values[at(b.held)];
    if (of == p_.states.end() || of->state.type.shape != copy.type.shape) {
      fail("'", copy.name, "' is no copy of a state '", b.name, "'");
    }
  }

  void constant(int number, const Array& array) const {
    held_number(number, "a constant");
    const Held& h = p_.values[at(number)];
    if (array.dtype() != h.type.dtype || shape_of(array.sizes()) != h.type.shape) {
      fail("the constant '", h.name, "' is ", h.type, ", its content ", type_text(array));
    }
  }

  void step(const Step& s) const {
    for (int b : s.reads) buffer_number(b, s.name);
    for (int b : s.writes) buffer_number(b, s.name);
    if (s.shared_bytes < 0 || s.shared_bytes > p_.shared_bytes || s.thread_bytes < 0 ||
        s.thread_bytes > p_.thread_bytes) {
      fail("step '", s.name, "' has more workspace than there is");
    }
    for (const Call& call : s.calls) {
      std::visit([&](const auto& c) { check_call(c, s.name); }, call);
    }
  }

  void check_call(const LoopCall& c, const std::string& where) const {
    if (c.function.name.empty()) fail("a loop of '", where, "' has no function");
    if (c.kept < 0) fail("a loop of '", where, "' keeps ", c.kept, " rows");
    for (int b : c.buffers) buffer_number(b, where, c.table ? -1 : 0);
  }

  void check_call(const ProductCall& c, const std::string& where) const {
    for (const ProductCall::Part& part : c.parts) {
      if (!part.generated.function.name.empty()) {
        check_call(part.generated, where);
        for (int b : part.buffers) buffer_number(b, where, -1);
        continue;
      }
      buffer_number(c.a, where);
      buffer_number(c.b, where);
      if (part.buffers.empty()) buffer_number(c.c, where);
      for (int b : part.buffers) buffer_number(b, where, -1);
    }
    for (int b : {c.a, c.b, c.c}) buffer_number(b, where, -1);
  }

  void check_call(const HandCall& c, const std::string& where) const {
    if (c.inputs.size() != c.input_buffers.size() || c.outputs.size() != c.output_buffers.size()) {
      fail("the operands of '", where, "' and their buffers differ in number");
    }
    for (int b : c.input_buffers) buffer_number(b, where, -1);
    for (int b : c.output_buffers) buffer_number(b, where, -1);
  }

  void buffer_number(int number, const std::string& where, int least = 0) const {
    if (number < least || number >= static_cast<int>(p_.buffers.size())) {
      fail("'", where, "' names buffer ", number, ", there are ", p_.buffers.size());
    }
  }

  void held_number(int number, const std::string& where) const {
    if (number < 0 || number >= static_cast<int>(p_.values.size())) {
      fail("'", where, "' names value ", number, ", there are ", p_.values.size());
    }
  }

  const Program& p_;
};

}  // namespace

void check_program(const Program& program) { Checker(program).run(); }

}  // namespace plait::plan
