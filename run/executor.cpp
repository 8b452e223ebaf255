// Memory, binding and running of a program.
#include "run/executor.h"

#include <chrono>
#include <cstring>
#include <vector>

#include "base/text.h"

namespace plait {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// Copies elements between row-major order and a layout.
void permute(const std::byte* from, std::byte* to, const Sizes& sizes, const plan::Layout& layout,
             std::size_t width, bool into_layout) {
  const std::size_t rank = sizes.size();
  std::vector<std::int64_t> laid(rank), plain(rank), index(rank, 0);
  std::int64_t step = 1, count = 1;
  for (std::size_t i = rank; i-- > 0;) {
    laid[at(layout[i])] = step;
    step *= sizes[at(layout[i])];
  }
  for (std::size_t i = rank; i-- > 0;) {
    plain[i] = count;
    count *= sizes[i];
  }
  // Walked in the order of the layout, so that one side is sequential.
  for (std::int64_t n = 0; n < count; ++n) {
    std::int64_t a = 0, b = 0;
    for (std::size_t d = 0; d < rank; ++d) {
      a += index[d] * plain[d];
      b += index[d] * laid[d];
    }
    const std::int64_t source = into_layout ? a : b, target = into_layout ? b : a;
    std::memcpy(to + at(target) * width, from + at(source) * width, width);
    for (std::size_t i = rank; i-- > 0;) {
      const auto d = at(layout[i]);
      if (++index[d] < sizes[d]) break;
      index[d] = 0;
    }
  }
}

bool is_default(const plan::Layout& layout) { return std::is_sorted(layout.begin(), layout.end()); }

}  // namespace

Executor::Executor(plan::Program program, const Target& target) : program_(std::move(program)) {
  const auto start = std::chrono::steady_clock::now();
  states_ = target.allocate(program_.states_bytes, "states");
  arena_ = target.allocate(program_.arena_bytes, "the arena");
  scratch_ = target.allocate(program_.scratch_bytes, "workspace");
  std::vector<std::vector<Call>> calls;
  for (const plan::Step& s : program_.steps) calls.push_back(s.calls);
  code_ = target.load(calls, program_.texts, program_.whole);
  for (const auto& [held, array] : program_.constants) put(held, array);
  if (program_.symbols.empty()) set_sizes({});
  load_seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void Executor::set_sizes(const DimBindings& sizes) {
  for (const auto& [name, symbol] : program_.symbols) {
    const auto given = sizes.find(name);
    if (given == sizes.end()) fail("the size ", name, " is not set");
    const std::int64_t value = given->second.value();
    if (value < symbol.lo() || value > symbol.hi()) {
      fail("size ", name, "=", value, " is outside its range ", symbol.lo(), "..", symbol.hi());
    }
  }
  sizes_ = sizes;
  Memory memory;
  for (std::size_t b = 0; b < program_.buffers.size(); ++b) {
    memory.buffers.push_back(space_of(static_cast<int>(b)).data() + offset_of(static_cast<int>(b)));
    memory.bytes.push_back(program_.buffers[b].bytes);
  }
  memory.shared_bytes = program_.shared_bytes;
  memory.shared = scratch_->data();
  memory.threads = scratch_->data() + program_.shared_bytes;
  memory.thread_bytes = program_.thread_bytes;
  memory.persistent = memory.threads + program_.thread_bytes * program_.threads;
  code_->bind(sizes_, memory);
}

DimBindings Executor::sizes_from(const std::map<std::string, Array>& feeds) const {
  DimBindings sizes;
  for (const plan::Binding& feed : program_.feeds) {
    const plan::Held& held = program_.values[at(feed.held)];
    const auto given = feeds.find(feed.name);
    if (given == feeds.end()) continue;
    for (std::size_t d = 0; d < held.type.shape.size() && d < given->second.sizes().size(); ++d) {
      const auto symbol = program_.symbols.find(held.type.shape[d].text());
      if (symbol != program_.symbols.end()) {
        sizes.emplace(symbol->first, Dim(given->second.sizes()[d]));
      }
    }
  }
  return sizes;
}

Space& Executor::space_of(int buffer) const {
  return program_.buffers[at(buffer)].space == plan::Space::kArena ? *arena_ : *states_;
}

std::int64_t Executor::offset_of(int buffer) const { return program_.buffers[at(buffer)].offset; }

void Executor::put(int held, const Array& value) {
  const plan::Held& to = program_.values[at(held)];
  const auto bytes = static_cast<std::int64_t>(value.byte_count());
  if (is_default(to.layout)) {
    space_of(to.buffer).write(offset_of(to.buffer), value.data(), bytes);
    return;
  }
  Space& space = space_of(to.buffer);
  const auto laid_out = [&](char* into) {
    permute(value.data(), reinterpret_cast<std::byte*>(into), value.sizes(), to.layout,
            size_of(to.type.dtype), true);
  };
  if (space.is_host()) return laid_out(space.data() + offset_of(to.buffer));
  std::vector<char> laid(value.byte_count());
  laid_out(laid.data());
  space.write(offset_of(to.buffer), laid.data(), bytes);
}

Array Executor::take(int held) const {
  const plan::Held& from = program_.values[at(held)];
  Sizes sizes;
  for (const Dim& d : from.type.shape) sizes.push_back(evaluate(d, sizes_));
  Array out(from.type.dtype, sizes);
  const auto bytes = static_cast<std::int64_t>(out.byte_count());
  if (is_default(from.layout)) {
    space_of(from.buffer).read(offset_of(from.buffer), out.data(), bytes);
    return out;
  }
  const Space& space = space_of(from.buffer);
  std::vector<char> copy(space.is_host() ? 0 : out.byte_count());
  if (!space.is_host()) space.read(offset_of(from.buffer), copy.data(), bytes);
  const char* laid = space.is_host() ? space.data() + offset_of(from.buffer) : copy.data();
  permute(reinterpret_cast<const std::byte*>(laid), out.data(), sizes, from.layout,
          size_of(from.type.dtype), false);
  return out;
}

void Executor::set_feed(const std::string& name, const Array& value) {
  for (const plan::Binding& feed : program_.feeds) {
    if (feed.name != name) continue;
    const ir::Type& type = program_.values[at(feed.held)].type;
    Shape want = type.shape;
    for (Dim& d : want) d = Dim(evaluate(d, sizes_));
    if (value.dtype() != type.dtype || !(shape_of(value.sizes()) == want)) {
      fail("feed '", name, "' is ", type_text(value), ", the program wants ", type.dtype,
           shape_text(want));
    }
    put(feed.held, value);
    return;
  }
  fail("program ", program_.graph_name, " has no feed '", name, "'");
}

int Executor::held_state(const std::string& name) const {
  for (const plan::StateBinding& s : program_.states) {
    if (s.state.name == name) return s.held;
  }
  fail("program ", program_.graph_name, " has no state '", name, "'");
}

bool Executor::is_packed(int held) const {
  const int buffer = program_.values[at(held)].buffer;
  for (const plan::Step& step : program_.steps) {
    for (const Call& call : step.calls) {
      const auto* product = std::get_if<ProductCall>(&call);
      if (product && product->b_constant && product->b == buffer) return true;
    }
  }
  return false;
}

void Executor::set_state(const std::string& name, const Array& value) {
  const int held = held_state(name);
  put(held, value);
  if (is_packed(held)) code_->constants_changed();
}

Array Executor::state(const std::string& name) const {
  wait();
  return take(held_state(name));
}

Array Executor::fetch(const std::string& name) const {
  for (const plan::Binding& f : program_.fetches) {
    if (f.name != name) continue;
    wait();
    return take(f.held);
  }
  fail("program ", program_.graph_name, " does not fetch '", name, "'");
}

void Executor::run() {
  const char* error = nullptr;
  if (code_->run_whole(error)) {
    if (error) throw RunError(str(error, " (in ", program_.graph_name, ")"));
    return;
  }
  run_steps([](std::size_t) {}, [](std::size_t) {});
}

void Executor::wait() const {
  std::size_t step = 0;
  if (const char* error = code_->wait(step)) raise(step, error);
}

bool Executor::run_timed(std::vector<double>& seconds) {
  if (!code_->run_timed(seconds)) return false;
  wait();
  return true;
}

bool Executor::run_row(int runs, double& seconds) {
  if (!code_->run_row(runs, &seconds)) return false;
  wait();
  return true;
}

void Executor::raise(std::size_t step, const char* error) const {
  const plan::Step& s = program_.steps[step];
  throw RunError(
      str(error, " (%", s.name, s.path.empty() ? "" : " @ " + s.path, ", kernel ", s.kernel, ")"));
}

}  // namespace plait
