// Files that can always be made again, kept by content: compiled kernels, plans, measured choices.
// An entry is whole or it is not there: written beside, synced, renamed, checked when read. Any
// number of processes may share the folder, and any of them may be killed at any moment. A folder
// or an entry that somebody else may write is not used (trusted.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/trusted.h"

namespace plait::codegen {

/// $PLAIT_CACHE, else $XDG_CACHE_HOME/plait, else ~/.cache/plait; absolute. It need not exist yet.
/// RunError that says what to set when none of them is known.
std::string cache_folder();

namespace cache {

/// The bytes stored under (kind, key); nothing when there are none or they are damaged; where they
/// are somebody else's, a line says so. `kind` is a word that becomes part of a file name: "plan",
/// "choice". Never raises.
[[nodiscard]] std::optional<std::string> load(const std::string& kind, std::uint64_t key);

/// False when they could not be kept (no folder, full disk, read-only): the caller goes on without.
bool store(const std::string& kind, std::uint64_t key, std::string_view bytes);

/// 128 bits of content as 32 hexadecimal digits. Parts are told apart: {"ab","c"} is not
/// {"a","bc"}.
std::string content_name(const std::vector<std::string_view>& parts);

/// Stands behind the bytes of a file: what proves that it is whole and is the entry `name`.
std::string seal(std::string_view bytes, std::string_view name);

/// The length of the bytes before the seal; nothing unless the whole file is as it was sealed.
[[nodiscard]] std::optional<std::size_t> whole(std::string_view file, std::string_view name);

/// Why a folder that is there is not used: somebody else may write it. Empty when that is not so.
std::string refusal_of(const std::string& folder);

/// An open file, and what it holds.
struct File {
  Descriptor file;      // none: it is not there, damaged or somebody else's
  std::string bytes{};  // without the seal
  std::string refusal{};
  explicit operator bool() const { return static_cast<bool>(file); }
};

/// Opens <folder>/<name>, checks whose it is and its seal, marks it as used now.
[[nodiscard]] File open_entry(const std::string& folder, const std::string& name);

/// Seals and writes <folder>/<name> atomically; 0 or the errno of what failed.
[[nodiscard]] int write_entry(const std::string& folder, const std::string& name,
                              std::string_view bytes);

/// Writes <cache>/<name> atomically as it is, for people to read; its path, empty when it failed.
std::string keep_text(const std::string& name, std::string_view text);

/// A folder of one's own below `parent`, for files that take part in a build; removed with
/// everything in it at the end, or by a later sweep when this process dies first.
class WorkFolder {
 public:
  /// Makes `parent` too. path() is empty when that failed, and why() says why.
  explicit WorkFolder(const std::string& parent);
  ~WorkFolder();
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  const std::string& path() const { return path_; }
  const std::string& why() const { return why_; }
  /// A path by which this process and those it starts reach this very folder, even when somebody
  /// puts another one in its place.
  std::string anchor() const;
  /// A file in it, without a seal.
  File open(const std::string& name) const;

 private:
  std::string path_, why_;
  Descriptor folder_;  // locked: a sweep leaves it alone
};

inline constexpr std::uint64_t kMaxBytes = 512ull << 20;

/// Removes what dead processes left (temporaries older than ten minutes) and, above `max_bytes`,
/// the least recently used entries. Never raises.
void sweep(const std::string& folder, std::uint64_t max_bytes = kMaxBytes);

}  // namespace cache
}  // namespace plait::codegen
