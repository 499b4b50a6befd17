// Storages of an imported program: entries of the .pt2 archive, mapped and never copied.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "exporter/pt2/container.h"
#include "exporter/pt2/pickled_tensor.h"
#include "schema/program.h"

namespace tern::importing {

/// Entries of an archive as storages. Keeps the archive mapped.
class ArchiveSource : public StorageSource {
 public:
  explicit ArchiveSource(pt2::Container container) : container_(std::move(container)) {}

  /// Storage of the entry with the full name; adds new storages to the program. Throws bad_file if the entry is absent.
  std::uint32_t storage_of(const std::string& entry, Program& program);
  /// Tensor written by torch.save into the entry. The first request reads it and checks the entry's CRC.
  const pt2::PickledTensor& pickled(const std::string& entry);
  /// Storage of the key inside such an entry: a range of the file, like others.
  std::uint32_t storage_of(const std::string& entry, std::string_view key, Program& program);
  std::span<const std::byte> bytes(std::uint32_t storage) override;

 private:
  struct Region {
    std::span<const std::byte> bytes;
    const pt2::ContainerEntry* unchecked;  ///< set until the first request for bytes checks the CRC
    std::vector<std::byte> aligned;        ///< a copy of an entry not aligned in the file (rare)
  };
  /// Entry written by torch.save.
  struct SavedEntry {
    pt2::SavedObject object;
    pt2::PickledTensor tensor;
    std::map<std::string, std::uint32_t, std::less<>> storage_indices;  ///< by key
  };
  SavedEntry& saved(const std::string& entry);
  std::uint32_t add(Region region, Program& program);

  pt2::Container container_;
  std::map<std::string, SavedEntry, std::less<>> saved_entries_;
  std::map<std::string, std::uint32_t, std::less<>> storage_indices_;
  std::vector<Region> regions_;
  std::mutex mutex_;
};

}  // namespace tern::importing
