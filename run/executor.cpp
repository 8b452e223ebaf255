// Memory, binding and running of a program.
#include "run/executor.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

#include "base/at.h"
#include "base/text.h"
#include "run/culprit.h"

namespace plait {

using program::ViewId;

namespace {

/// Elements of one axis, `from` and `to` so many bytes apart.
template <std::size_t kWidth>
void copy_axis(const std::byte* from, std::int64_t from_step, std::byte* to, std::int64_t to_step,
               std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    std::memcpy(to, from, kWidth);
    from += from_step;
    to += to_step;
  }
}

/// Copies elements between row-major order and a layout, walked in the layout's order, so that one
/// side is sequential.
void permute(const std::byte* from, std::byte* to, const Laid& laid, bool into_layout) {
  struct Axis {
    std::int64_t size, from_step, to_step;  // bytes
  };
  std::vector<Axis> axes;  // the outermost first
  for (int axis : laid.order) {
    std::int64_t plain = laid.width;
    for (std::size_t i = at(axis) + 1; i < laid.sizes.size(); ++i) plain *= laid.sizes[i];
    axes.push_back({laid.sizes[at(axis)], plain, 0});
  }
  std::int64_t step = laid.width;
  for (std::size_t i = axes.size(); i-- > 0; step *= axes[i].size) axes[i].to_step = step;
  if (!into_layout) {
    for (Axis& axis : axes) std::swap(axis.from_step, axis.to_step);
  }
  const auto copy = laid.width == 1   ? copy_axis<1>
                    : laid.width == 2 ? copy_axis<2>
                    : laid.width == 4 ? copy_axis<4>
                                      : copy_axis<8>;
  const auto walk = [&](const auto& self, std::size_t depth, const std::byte* source,
                        std::byte* target) -> void {
    const Axis& axis = axes[depth];
    if (depth + 1 == axes.size()) {
      return copy(source, axis.from_step, target, axis.to_step, axis.size);
    }
    for (std::int64_t i = 0; i < axis.size; ++i) {
      self(self, depth + 1, source + i * axis.from_step, target + i * axis.to_step);
    }
  };
  if (!axes.empty() && laid.bytes() > 0) walk(walk, 0, from, to);
}

bool is_of(const Array& value, const ir::Type& type) {
  return value.dtype() == type.dtype && shape_of(value.sizes()) == type.shape;
}

/// RunError when the device has less than the program takes.
void check_fits(const program::Program& p, std::int64_t free) {
  std::int64_t feeds = 0;  // of two runs
  for (const program::Binding& f : p.feeds) {
    feeds += 2 * p.buffer_of(f.view).bytes;
  }
  const std::int64_t all = p.peak_bytes() + feeds;
  if (all <= free) return;
  throw RunError(str("the program does not fit: it takes ", bytes_text(all), " (states ",
                     bytes_text(p.states_bytes), ", arena ", bytes_text(p.arena_bytes),
                     ", workspace ", bytes_text(p.scratch_bytes), ", feeds of two runs ",
                     bytes_text(feeds), "), the device has ", bytes_text(free),
                     " free. A smaller batch takes less"));
}

}  // namespace

Executor::Executor(program::Program program, std::shared_ptr<const Runtime> runtime)
    : program_(std::make_shared<const program::Program>(std::move(program))),
      runtime_(std::move(runtime)),
      placement_(placement_of(*program_, fence_mode())) {
  const auto start = std::chrono::steady_clock::now();
  code_ = runtime_->load(*program_);
  const std::optional<std::int64_t> before = runtime_->free_bytes();
  if (before) check_fits(*program_, *before);
  states_ = runtime_->allocate(placement_.states.bytes, "states");
  arena_ = runtime_->allocate(placement_.arena.bytes, "the arena");
  scratch_ = runtime_->allocate(placement_.scratch.bytes, "workspace");
  if (before) measured_bytes_ = *before - *runtime_->free_bytes();
  protect_fences(*states_, placement_.states);
  protect_fences(*arena_, placement_.arena);
  protect_fences(*scratch_, placement_.scratch);
  for (const auto& [view, array] : program_->constants) put(view, array);
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
  Memory memory;
  for (std::size_t b = 0; b < program_->buffers.size(); ++b) {
    const program::BufferId id(b);
    memory.buffers.push_back(space_of(id).data() + placement_.offsets[b]);
  }
  memory.shared_bytes = program_->shared_bytes;
  memory.shared = scratch_->data() + placement_.shared;
  memory.side = scratch_->data() + placement_.side;
  memory.side_bytes = placement_.side_bytes;
  memory.threads = scratch_->data() + placement_.threads;
  memory.thread_bytes = placement_.thread_bytes;
  memory.persistent = scratch_->data() + placement_.persistent;
  code_->bind(sizes_, memory);
}

DimBindings Executor::sizes_from(const std::map<std::string, Array>& feeds) const {
  DimBindings sizes;
  for (const program::Binding& feed : program_->feeds) {
    const program::View& wanted = program_->view(feed.view);
    const auto given = feeds.find(feed.name);
    if (given == feeds.end()) continue;
    for (std::size_t d = 0; d < wanted.type.shape.size() && d < given->second.sizes().size(); ++d) {
      const auto symbol = program_->symbols.find(wanted.type.shape[d].text());
      if (symbol != program_->symbols.end()) {
        sizes.emplace(symbol->first, Dim(given->second.sizes()[d]));
      }
    }
  }
  return sizes;
}

Space& Executor::space_of(program::BufferId buffer) const {
  return program_->buffer(buffer).region == program::Region::kArena ? *arena_ : *states_;
}

std::int64_t Executor::offset_of(ViewId view) const {
  const program::View& v = program_->view(view);
  return placement_.offsets[v.buffer.index()] + v.offset;
}

Laid Executor::laid_of(ViewId view, const Array& value) const {
  return {static_cast<std::int64_t>(size_of(value.dtype())), value.sizes(),
          program_->view(view).layout};
}

void Executor::put(ViewId view, const Array& value) {
  const program::View& to = program_->view(view);
  const auto bytes = static_cast<std::int64_t>(value.byte_count());
  Space& space = space_of(to.buffer);
  const Laid laid_as = laid_of(view, value);
  if (laid_as.plain()) return space.write(offset_of(view), value.data(), bytes);
  if (space.write_laid(offset_of(view), value.data(), laid_as)) return;
  const auto laid_out = [&](char* into) {
    permute(value.data(), reinterpret_cast<std::byte*>(into), laid_as, true);
  };
  if (space.is_host()) return laid_out(space.data() + offset_of(view));
  std::vector<char> laid(value.byte_count());
  laid_out(laid.data());
  space.write(offset_of(view), laid.data(), bytes);
}

Array Executor::take(ViewId view) const {
  const program::View& from = program_->view(view);
  Sizes sizes;
  for (const Dim& d : from.type.shape) sizes.push_back(evaluate(d, sizes_));
  Array out(from.type.dtype, sizes);
  const auto bytes = static_cast<std::int64_t>(out.byte_count());
  if (laid_of(view, out).plain()) {
    space_of(from.buffer).read(offset_of(view), out.data(), bytes);
    return out;
  }
  const Space& space = space_of(from.buffer);
  std::vector<char> copy(space.is_host() ? 0 : out.byte_count());
  if (!space.is_host()) space.read(offset_of(view), copy.data(), bytes);
  const char* laid = space.is_host() ? space.data() + offset_of(view) : copy.data();
  permute(reinterpret_cast<const std::byte*>(laid), out.data(), laid_of(view, out), false);
  return out;
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
  const ViewId view = feed_view(name);
  const ir::Type type = wanted(view);
  if (!is_of(value, type)) {
    fail("feed '", name, "' is ", type_text(value), ", the program wants ", type.dtype,
         shape_text(type.shape));
  }
  if (!code_->feed(view, value.data(), laid_of(view, value))) put(view, value);
}

bool Executor::feed_ahead(const std::string& name, const Array& value) {
  const ViewId view = feed_view(name);
  return is_of(value, wanted(view)) &&
         code_->feed(view, value.data(), laid_of(view, value));
}

ViewId Executor::state_view(const std::string& name) const {
  for (const program::StateBinding& s : program_->states) {
    if (s.state.name == name) return s.view;
  }
  fail("program ", program_->graph_name, " has no state '", name, "'");
}

bool Executor::is_packed(ViewId view) const {
  for (const program::Step& step : program_->steps) {
    for (const program::Call& call : step.calls) {
      const auto* product = std::get_if<ProductCall>(&call);
      if (product && product->b_constant && product->b == view) return true;
    }
  }
  return false;
}

void Executor::set_state(const std::string& name, const Array& value) {
  const ViewId view = state_view(name);
  put(view, value);
  each_copy(name, [&](ViewId copy) { put(copy, value.cast(program_->view(copy).type.dtype)); });
  if (is_packed(view)) code_->constants_changed();
}

void Executor::zero_state(const std::string& name) {
  const ViewId view = state_view(name);
  bool done = !is_packed(view);
  const auto zero = [&](ViewId id) {
    done = done && states_->zero(offset_of(id), program_->buffer_of(id).bytes);
  };
  zero(view);
  each_copy(name, zero);
  const ir::Type& type = program_->view(view).type;
  if (!done) set_state(name, Array(type.dtype, sizes_of(type.shape)));
}

void Executor::fill_state(const std::string& name, const Array& pattern) {
  const ViewId view = state_view(name);
  fill(view, pattern);
  each_copy(name, [&](ViewId copy) {
    const program::View& to = program_->view(copy);
    if (to.layout == program_->view(view).layout) {
      fill(copy, pattern.cast(to.type.dtype));
    } else {
      put(copy, take(view).cast(to.type.dtype));
    }
  });
  if (is_packed(view)) code_->constants_changed();
}

void Executor::fill(ViewId view, const Array& pattern) {
  const program::View& to = program_->view(view);
  const auto width = static_cast<std::int64_t>(size_of(to.type.dtype));
  const std::int64_t bytes = element_count(sizes_of(to.type.shape)) * width;
  const std::int64_t part = std::min(static_cast<std::int64_t>(pattern.byte_count()), bytes);
  const std::int64_t offset = offset_of(view);
  Space& space = space_of(to.buffer);
  space.write(offset, pattern.data(), part);
  if (part == 0 || space.repeat(offset, part, bytes)) return;
  for (std::int64_t i = part; i < bytes; i += part) {
    space.write(offset + i, pattern.data(), std::min(part, bytes - i));
  }
}

Array Executor::state(const std::string& name) const {
  wait();
  return take(state_view(name));
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

void Executor::fill_unset() {
  fill_region(*arena_, placement_.arena);
  fill_region(*scratch_, placement_.scratch);
}

void Executor::run() {
  fill_unset();
  const char* error = nullptr;
  if (code_->run_whole(error)) {
    if (!error) return;
    const std::string by = culprits(*program_, nullptr, error);
    throw RunError(str(error, " (", by, by.empty() ? "" : ", ", "in ", program_->graph_name, ")"));
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

bool Executor::run_row(int runs, double& seconds, bool in_order) {
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

}  // namespace plait
