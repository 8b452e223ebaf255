// Trying one folder after the other.
#include "codegen/places.h"

#include <cstdlib>

#include "base/error.h"

namespace plait::codegen {

Places::Places(const std::string& cache, const std::string& why_no_cache)
    : why_left_(why_no_cache) {
  const char* temporary = std::getenv("TMPDIR");
  const std::string parents[] = {cache, temporary != nullptr ? temporary : "", "/tmp", "/dev/shm"};
  for (const std::string& parent : parents) {
    if (parent.starts_with('/')) candidates_.push_back({parent, nullptr});
  }
}

Place Places::current() {
  const std::lock_guard lock(mutex_);
  for (; at_ < candidates_.size(); ++at_) {
    Candidate& candidate = candidates_[at_];
    if (candidate.folder == nullptr) {
      candidate.folder = std::make_unique<cache::WorkFolder>(candidate.parent);
    }
    const cache::WorkFolder& folder = *candidate.folder;
    if (!folder.path().empty()) return {at_, candidate.parent, &folder, folder.anchor()};
    add_reason(candidate.parent, folder.why());
  }
  throw RunError(str("there is no folder to compile kernels in: ", why_left_,
                     ". Free some space or set PLAIT_CACHE=<folder>"));
}

void Places::leave(const Place& place, const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (at_ != place.number) return;  // another thread found out first
  add_reason(place.parent, why);
  ++at_;
}

void Places::remember(const Place& place, const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (why_left_.empty()) add_reason(place.parent, why);
}

std::string Places::why_left() {
  const std::lock_guard lock(mutex_);
  return why_left_;
}

void Places::add_reason(const std::string& parent, const std::string& why) {
  why_left_ += str(why_left_.empty() ? "" : "; ", parent, ": ", why);
}

}  // namespace plait::codegen
