// Two programs compared member by member, as they are saved.
#include <algorithm>
#include <iterator>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/text.h"
#include "program/program.h"
#include "program/writer.h"

namespace plait::program {
namespace {

/// Clocks, and what costs are computed from and come to.
bool is_compared(std::string_view member) {
  constexpr std::string_view kNot[] = {"log", "seconds", "bound", "device"};
  return std::find(std::begin(kNot), std::end(kNot), member) == std::end(kNot);
}

/// The members of a struct as bytes, by name; steps apart.
class Members {
 public:
  template <class T>
  explicit Members(const T& x) {
    fields(*this, x);
  }

  template <class T>
  Members& operator()(std::string_view name, const T& member) {
    Writer writer;
    if constexpr (!std::is_same_v<T, std::vector<Step>>) writer.value(member);
    all_.emplace_back(name, writer.take());
    return *this;
  }
  void symbols(const std::map<std::string, Dim>& all) {
    Writer writer;
    writer.symbols(all);
    all_.emplace_back("symbols", writer.take());
  }

  /// Names of members that are another there, in order; steps always.
  std::vector<std::string_view> others(const Members& there) const {
    std::vector<std::string_view> out;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      const auto& [name, bytes] = all_[i];
      if (name == "steps" || (is_compared(name) && bytes != there.all_[i].second)) {
        out.push_back(name);
      }
    }
    return out;
  }

 private:
  std::vector<std::pair<std::string_view, std::string>> all_;
};

std::string step_difference(const std::vector<Step>& made, const std::vector<Step>& stored) {
  if (made.size() != stored.size()) return str(stored.size(), " steps, not ", made.size());
  for (std::size_t i = 0; i < made.size(); ++i) {
    const std::vector<std::string_view> others = Members(made[i]).others(Members(stored[i]));
    if (others.empty()) continue;
    const std::string kernels =
        others[0] == "kernel" ? str(" ", quoted(stored[i].kernel), ", not ", quoted(made[i].kernel))
                              : "";
    return str("step ", i + 1, ", ", quoted(made[i].name), ": ", others[0], kernels);
  }
  return "";
}

}  // namespace

std::string difference(const Program& made, const Program& stored) {
  for (const std::string_view other : Members(made).others(Members(stored))) {
    if (other == "threads") return str(stored.threads, " threads, not ", made.threads);
    if (other != "steps") return std::string(other);
    if (std::string steps = step_difference(made.steps, stored.steps); !steps.empty()) return steps;
  }
  return "";
}

}  // namespace plait::program
