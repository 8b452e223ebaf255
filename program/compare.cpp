// Two programs compared member by member, as they are saved.
#include <utility>
#include <vector>

#include "base/text.h"
#include "program/program.h"
#include "program/writer.h"

namespace plait::program {
namespace {

/// The members of a struct as bytes, by name.
class Members {
 public:
  template <class T>
  explicit Members(const T& x) {
    fields(*this, x);
  }

  template <class T>
  Members& operator()(std::string_view name, const T& member) {
    Writer writer;
    writer.value(member);
    all_.emplace_back(name, writer.take());
    return *this;
  }
  void symbols(const std::map<std::string, Dim>& all) {
    Writer writer;
    writer.symbols(all);
    all_.emplace_back("symbols", writer.take());
  }

  /// The first member that is another there; empty: none is.
  std::string_view first_other(const Members& there) const {
    for (std::size_t i = 0; i < all_.size(); ++i) {
      const std::string_view name = all_[i].first;
      if (name == "log" || name == "seconds" || name == "device") continue;  // costs and clocks
      if (all_[i].second != there.all_[i].second) return name;
    }
    return {};
  }

 private:
  std::vector<std::pair<std::string_view, std::string>> all_;
};

std::string step_difference(const std::vector<Step>& made, const std::vector<Step>& stored) {
  if (made.size() != stored.size()) return str(stored.size(), " steps, not ", made.size());
  for (std::size_t i = 0; i < made.size(); ++i) {
    const std::string_view other = Members(made[i]).first_other(Members(stored[i]));
    if (other.empty()) continue;
    const std::string kernels =
        other == "kernel" ? str(" ", quoted(stored[i].kernel), ", not ", quoted(made[i].kernel))
                          : "";
    return str("step ", i + 1, ", ", quoted(made[i].name), ": ", other, kernels);
  }
  return "steps";
}

}  // namespace

std::string difference(const Program& made, const Program& stored) {
  const std::string_view other = Members(made).first_other(Members(stored));
  if (other == "steps") return step_difference(made.steps, stored.steps);
  if (other == "threads") return str(stored.threads, " threads, not ", made.threads);
  return std::string(other);
}

}  // namespace plait::program
