// Typed numbers of a program's parts: an id of one kind is no index of another.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

namespace plait::program {

template <class Kind>
class Id {
 public:
  /// Names nothing.
  constexpr Id() = default;
  constexpr explicit Id(std::size_t number) : number_(static_cast<std::int32_t>(number)) {}

  constexpr bool valid() const { return number_ >= 0; }
  constexpr std::int32_t number() const { return number_; }
  /// Into the list of its kind; it must be valid.
  constexpr std::size_t index() const { return static_cast<std::size_t>(number_); }

  friend constexpr auto operator<=>(Id, Id) = default;

 private:
  std::int32_t number_ = -1;
};

using BufferId = Id<struct BufferKind>;  // a piece of memory
using ViewId = Id<struct ViewKind>;      // a value in a buffer
using StepId = Id<struct StepKind>;

}  // namespace plait::program
