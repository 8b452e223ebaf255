// Anonymous memory of the host, page-aligned, between pages that may be read; pages are present
// once they were touched.
#pragma once

#include <string>

#include "backends/runtime.h"

namespace plait {

class Region : public Space {
 public:
  Region(std::int64_t bytes, const std::string& what);
  ~Region() override;
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;
  char* data() const override { return data_; }
  bool is_host() const override { return true; }
  std::int64_t bytes() const override { return bytes_; }
  void write(std::int64_t offset, const void* from, std::int64_t bytes) override;
  void read(std::int64_t offset, void* to, std::int64_t bytes) const override;
  /// By pages.
  std::int64_t resident_bytes(std::int64_t offset, std::int64_t bytes) const override;

 private:
  char *map_ = nullptr, *data_ = nullptr;
  std::int64_t mapped_ = 0, bytes_ = 0;
};

}  // namespace plait
