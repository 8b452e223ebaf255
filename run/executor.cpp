// Memory, binding and running of a program.
#include "run/executor.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include "base/at.h"
#include "base/text.h"
#include "run/culprit.h"
#include "run/transfer.h"

namespace plait {

using program::ViewId;

namespace {

bool is_of(const Array& value, const ir::Type& type) {
  return value.dtype() == type.dtype && shape_of(value.sizes()) == type.shape;
}

/// The states that a program packs once, with none for constants of its own.
std::set<std::string> packed_states(const program::Program& p) {
  std::map<program::BufferId, std::string> states;
  for (const program::StateBinding& s : p.states) {
    states.emplace(p.view(s.view).buffer, s.state.name);
  }
  for (const program::Binding& copy : p.rounded) {
    states.emplace(p.view(copy.view).buffer, copy.name);
  }
  std::set<std::string> out;
  for (const program::Step& step : p.steps) {
    for (const program::Call& call : step.calls) {
      const auto* product = std::get_if<ProductCall>(&call);
      if (!product || !product->b_constant) continue;
      const auto state = states.find(p.view(product->b).buffer);
      if (state != states.end()) out.insert(state->second);
    }
  }
  return out;
}

}  // namespace

Executor::Executor(program::Program program, std::shared_ptr<const Runtime> runtime)
    : Executor(std::move(program), std::make_shared<PackageMemory>(std::move(runtime))) {}

Executor::Executor(program::Program program, std::shared_ptr<PackageMemory> memory)
    : program_(std::make_shared<const program::Program>(std::move(program))),
      memory_(std::move(memory)),
      placement_(placement_of(*program_, fence_mode())) {
  const auto start = std::chrono::steady_clock::now();
  const Runtime& runtime = *memory_->runtime();
  code_ = runtime.load(*program_);
  const std::optional<std::int64_t> before = runtime.free_bytes();
  if (!placement_.work.fences.empty()) {
    fenced_work_ = runtime.allocate(placement_.work.bytes, "the arena and workspace");
    protect_fences(*fenced_work_, placement_.work);
  }
  memory_->add(*program_, placement_);
  constants_ = runtime.allocate(placement_.constants.bytes, "constants");
  protect_fences(*constants_, placement_.constants);
  if (before) measured_bytes_ = *before - *runtime.free_bytes();
  number_ = memory_->join();
  for (const std::string& state : packed_states(*program_)) packed_.emplace_back(state, 0);
  for (const auto& [view, array] : program_->constants) {
    put(*constants_, offset_of(view), program_->view(view).layout, array);
  }
  if (program_->symbols.empty()) set_sizes({});
  load_seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void Executor::set_sizes(const DimBindings& sizes) {
  for (const auto& [name, symbol] : program_->symbols) {
    const auto given = sizes.find(name);
    if (given == sizes.end()) fail("the size ", name, " is not set");
    const std::int64_t value = given->second.value();
    if (value < symbol.lo() || value > symbol.hi()) {
      fail("size ", name, "=", value, " is outside its range ", symbol.lo(), "..", symbol.hi());
    }
  }
  sizes_ = sizes;
  bind();
}

void Executor::bind() {
  moves_ = memory_->moves();
  Memory memory;
  for (std::size_t b = 0; b < program_->buffers.size(); ++b) {
    const program::BufferId id(b);
    memory.buffers.push_back(space_of(id).data() + placement_.offsets[b]);
  }
  memory.shared_bytes = program_->shared_bytes;
  memory.shared = work().data() + placement_.shared;
  memory.side = work().data() + placement_.side;
  memory.side_bytes = placement_.side_bytes;
  memory.threads = work().data() + placement_.threads;
  memory.thread_bytes = placement_.thread_bytes;
  memory.persistent = work().data() + placement_.persistent;
  code_->bind(sizes_, memory);
}

bool Executor::follow_memory() {
  const bool is_sized = program_->symbols.empty() || !sizes_.empty();
  const bool moved = is_sized && moves_ != memory_->moves();
  if (moved) bind();
  return moved;
}

void Executor::begin_run() {
  follow_memory();
  bool is_stale = memory_->take_turn(number_);
  for (auto& [state, times_set] : packed_) {
    const int now = memory_->times_set(state);
    is_stale |= std::exchange(times_set, now) != now;
  }
  if (is_stale && program_->persistent_bytes > 0) code_->constants_changed();
}

Space& Executor::space_of(program::BufferId buffer) const {
  const program::Region region = program_->buffer(buffer).region;
  return region == program::Region::kArena   ? work()
         : region == program::Region::kState ? memory_->states()
                                             : *constants_;
}

std::int64_t Executor::offset_of(ViewId view) const {
  const program::View& v = program_->view(view);
  return placement_.offsets[v.buffer.index()] + v.offset;
}

Array Executor::take(ViewId view) const {
  const program::View& from = program_->view(view);
  return plait::take(space_of(view), offset_of(view), from.layout, from.type.dtype,
                     sizes_of(wanted(view).shape));
}

ViewId Executor::feed_view(const std::string& name) const {
  for (const program::Binding& feed : program_->feeds) {
    if (feed.name == name) return feed.view;
  }
  fail("program ", program_->graph_name, " has no feed '", name, "'");
}

ir::Type Executor::wanted(ViewId view) const {
  ir::Type type = program_->view(view).type;
  for (Dim& d : type.shape) d = Dim(evaluate(d, sizes_));
  return type;
}

void Executor::set_feed(const std::string& name, const Array& value) {
  follow_memory();
  const ViewId view = feed_view(name);
  const ir::Type type = wanted(view);
  if (!is_of(value, type)) {
    fail("feed '", name, "' is ", type_text(value), ", the program wants ", type.dtype,
         shape_text(type.shape));
  }
  const program::Layout& layout = program_->view(view).layout;
  if (code_->feed(view, value.data(), host_layout_of(value, layout))) return;
  put(space_of(view), offset_of(view), layout, value);
}

bool Executor::feed_ahead(const std::string& name, const Array& value) {
  const ViewId view = feed_view(name);
  return is_of(value, wanted(view)) &&
         code_->feed(view, value.data(), host_layout_of(value, program_->view(view).layout));
}

Array Executor::state(const std::string& name) const {
  wait();
  return memory_->state(name);
}

Array Executor::fetch(const std::string& name) const {
  for (const program::Binding& f : program_->fetches) {
    if (f.name != name) continue;
    wait();
    return take(f.view);
  }
  fail("program ", program_->graph_name, " does not fetch '", name, "'");
}

std::map<std::string, Array> Executor::fetches() const {
  wait();
  std::map<std::string, Array> out;
  for (const program::Binding& f : program_->fetches) out.insert_or_assign(f.name, take(f.view));
  return out;
}

void Executor::run(const StepDone& done) {
  begin_run();
  fill_region(work(), placement_.work);
  const char* error = nullptr;
  if (code_->run_whole(error)) {
    if (!error) return;
    const std::string by = culprits(*program_, nullptr, error);
    throw RunError(str(error, " (", by, by.empty() ? "" : ", ", "in ", program_->graph_name, ")"));
  }
  run_steps([](std::size_t) {},
            [&](std::size_t i) {
              if (done) done(*program_, program_->steps[i]);
            });
}

void Executor::wait() const {
  std::size_t step = 0;
  if (const char* error = code_->wait(step)) raise(step, error);
}

bool Executor::run_timed(std::vector<double>& seconds) {
  begin_run();
  if (!code_->run_timed(seconds)) return false;
  wait();
  return true;
}

bool Executor::run_row(int runs, double& seconds, bool in_order) {
  begin_run();
  if (!code_->run_row(runs, &seconds, in_order)) return false;
  wait();
  return true;
}

void Executor::raise(std::size_t step, const char* error) const {
  const program::Step& s = program_->steps[step];
  std::string by = culprits(*program_, &s, error);
  if (by.empty()) by = "%" + s.name + (s.path.empty() ? "" : " @ " + s.path);
  throw RunError(str(error, " (", by, ", kernel ", s.kernel, ")"));
}

DimBindings sizes_from(const program::Program& program, const std::map<std::string, Array>& feeds) {
  DimBindings sizes;
  for (const program::Binding& feed : program.feeds) {
    const program::View& wanted = program.view(feed.view);
    const auto given = feeds.find(feed.name);
    if (given == feeds.end()) continue;
    for (std::size_t d = 0; d < wanted.type.shape.size() && d < given->second.sizes().size(); ++d) {
      const auto symbol = program.symbols.find(wanted.type.shape[d].text());
      if (symbol != program.symbols.end()) {
        sizes.emplace(symbol->first, Dim(given->second.sizes()[d]));
      }
    }
  }
  return sizes;
}

}  // namespace plait
