// A weight source that counts reads.
#pragma once

#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "schema/program.h"

namespace tern::testing {

/// Counts reads of the bytes of a storage. All storages are aligned to 64 bytes, as in an archive.
class WatchedSource : public StorageSource {
 public:
  WatchedSource(std::shared_ptr<StorageSource> source, std::uint32_t storage)
      : source_(std::move(source)), storage_(storage) {}
  std::span<const std::byte> bytes(std::uint32_t storage) override {
    read_count_ += storage == storage_ ? 1 : 0;
    return aligned(storage);
  }
  const std::byte* address(std::uint32_t storage) override { return aligned(storage).data(); }
  std::string identity(std::uint32_t storage) const override { return "storage " + std::to_string(storage); }
  int read_count() const { return read_count_; }

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::span<const std::byte> aligned(std::uint32_t storage) {
    const std::span<const std::byte> from = source_->bytes(storage);
    std::vector<Line>& lines = copies_[storage];
    if (lines.empty()) {
      lines.resize(from.size() / sizeof(Line) + 1);
      std::memcpy(lines.data(), from.data(), from.size());
    }
    return std::as_bytes(std::span(lines)).first(from.size());
  }

  std::shared_ptr<StorageSource> source_;
  std::uint32_t storage_;
  std::map<std::uint32_t, std::vector<Line>> copies_;
  std::atomic<int> read_count_{0};
};

}  // namespace tern::testing
