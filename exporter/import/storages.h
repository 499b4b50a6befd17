// The storages of a program that is imported: entries of the .pt2 archive, mapped and never copied.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "exporter/pt2/container.h"
#include "schema/program.h"

namespace tern::importing {

/// Entries of an archive as storages. Keeps the archive mapped.
class ArchiveSource : public StorageSource {
 public:
  explicit ArchiveSource(pt2::Container container) : container_(std::move(container)) {}

  /// The storage of the entry of that full name: adds it to the program when it is new. Throws bad_file when there is
  /// no such entry.
  std::uint32_t storage_of(const std::string& entry, Program& program);
  std::span<const std::byte> bytes(std::uint32_t storage) override;

 private:
  struct Part {
    std::span<const std::byte> bytes;
    const pt2::Entry* unchecked;     ///< until its CRC is checked, when its bytes are first asked for
    std::vector<std::byte> aligned;  ///< a copy, where the file does not align the entry (PyTorch's files do)
  };
  pt2::Container container_;
  std::map<std::string, std::uint32_t, std::less<>> numbers_;
  std::vector<Part> parts_;
  std::mutex mutex_;
};

}  // namespace tern::importing
