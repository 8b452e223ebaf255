// Copying arrays, and turning their axes on the way.
#include "run/transfer.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "base/at.h"

namespace plait {
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
void permute(const std::byte* from, std::byte* to, const HostLayout& laid, bool into_layout) {
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

}  // namespace

HostLayout host_layout_of(const Array& value, const program::Layout& layout) {
  return {static_cast<std::int64_t>(size_of(value.dtype())), value.sizes(), layout};
}

void put(Space& space, std::int64_t offset, const program::Layout& layout, const Array& value) {
  const auto bytes = static_cast<std::int64_t>(value.byte_count());
  const HostLayout laid = host_layout_of(value, layout);
  if (laid.plain()) return space.write(offset, value.data(), bytes);
  if (space.write_in_layout(offset, value.data(), laid)) return;
  const auto lay = [&](char* into) {
    permute(value.data(), reinterpret_cast<std::byte*>(into), laid, true);
  };
  if (space.is_host()) return lay(space.data() + offset);
  std::vector<char> copy(value.byte_count());
  lay(copy.data());
  space.write(offset, copy.data(), bytes);
}

Array take(const Space& space, std::int64_t offset, const program::Layout& layout, DType dtype,
           const Sizes& sizes) {
  Array out(dtype, sizes);
  const auto bytes = static_cast<std::int64_t>(out.byte_count());
  const HostLayout laid = host_layout_of(out, layout);
  if (laid.plain()) {
    space.read(offset, out.data(), bytes);
    return out;
  }
  std::vector<char> copy(space.is_host() ? 0 : out.byte_count());
  if (!space.is_host()) space.read(offset, copy.data(), bytes);
  const char* from = space.is_host() ? space.data() + offset : copy.data();
  permute(reinterpret_cast<const std::byte*>(from), out.data(), laid, false);
  return out;
}

void fill(Space& space, std::int64_t offset, std::int64_t bytes, const Array& pattern) {
  const std::int64_t part = std::min(static_cast<std::int64_t>(pattern.byte_count()), bytes);
  space.write(offset, pattern.data(), part);
  if (part == 0 || space.repeat(offset, part, bytes)) return;
  for (std::int64_t i = part; i < bytes; i += part) {
    space.write(offset + i, pattern.data(), std::min(part, bytes - i));
  }
}

}  // namespace plait
