// Reads the note that the linker left in the file that this code was loaded from.
#include "base/build_id.h"

#include <link.h>
#include <sys/stat.h>

#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/error.h"

namespace plait {
namespace {

/// The build id among the notes of one segment; empty when there is none.
std::string id_in(const char* notes, std::size_t bytes) {
  const auto padded = [](std::size_t n) { return (n + 3) & ~std::size_t{3}; };
  constexpr std::string_view kOwner("GNU", 4);
  std::size_t pos = 0;
  ElfW(Nhdr) note;
  while (pos + sizeof note <= bytes) {
    std::memcpy(&note, notes + pos, sizeof note);
    const std::size_t name = pos + sizeof note, content = name + padded(note.n_namesz);
    pos = content + padded(note.n_descsz);
    if (pos > bytes) break;
    if (note.n_type == NT_GNU_BUILD_ID && std::string_view(notes + name, note.n_namesz) == kOwner) {
      return std::string(notes + content, note.n_descsz);
    }
  }
  return "";
}

std::string stamp_of(const char* file) {
  struct stat s {};
  if (stat(file, &s) != 0) return "";
  return str(s.st_size, " ", s.st_mtim.tv_sec, ".", s.st_mtim.tv_nsec);
}

bool holds(const dl_phdr_info& object, std::uintptr_t address) {
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const auto& segment = object.dlpi_phdr[i];
    const std::uintptr_t start = object.dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && address >= start && address - start < segment.p_memsz) {
      return true;
    }
  }
  return false;
}

/// Called for each loaded file; 1 ends the walk.
int visit(dl_phdr_info* object, std::size_t, void* out) {
  if (!holds(*object, reinterpret_cast<std::uintptr_t>(&id_in))) return 0;
  std::string& id = *static_cast<std::string*>(out);
  for (int i = 0; i < object->dlpi_phnum && id.empty(); ++i) {
    const auto& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    id = id_in(reinterpret_cast<const char*>(object->dlpi_addr + segment.p_vaddr), segment.p_memsz);
  }
  if (id.empty()) id = stamp_of(*object->dlpi_name ? object->dlpi_name : "/proc/self/exe");
  return 1;
}

}  // namespace

const std::string& build_id() {
  static const std::string id = [] {
    std::string found;
    dl_iterate_phdr(visit, &found);
    return found;
  }();
  return id;
}

}  // namespace plait
