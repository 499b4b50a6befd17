// The storages of a program that is imported: entries of the .pt2 archive, mapped and never copied.
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

  /// The storage of the entry of that full name: adds it to the program when it is new. Throws bad_file when there is
  /// no such entry.
  std::uint32_t storage_of(const std::string& entry, Program& program);
  /// The tensor that torch.save wrote into the entry. Reads it, and checks the entry's CRC, when it is first asked for.
  const pt2::PickledTensor& pickled(const std::string& entry);
  /// The storage of that key inside of such an entry: a part of the file, like others.
  std::uint32_t storage_of(const std::string& entry, std::string_view key, Program& program);
  std::span<const std::byte> bytes(std::uint32_t storage) override;

 private:
  struct Part {
    std::span<const std::byte> bytes;
    const pt2::Entry* unchecked;     ///< until its CRC is checked, when its bytes are first asked for
    std::vector<std::byte> aligned;  ///< a copy, where the file does not align the entry (PyTorch's files do)
  };
  /// An entry that torch.save wrote.
  struct Saved {
    pt2::SavedObject object;
    pt2::PickledTensor tensor;
    std::map<std::string, std::uint32_t, std::less<>> numbers;  ///< by key
  };
  Saved& saved(const std::string& entry);
  std::uint32_t add(Part part, Program& program);

  pt2::Container container_;
  std::map<std::string, Saved, std::less<>> saved_;
  std::map<std::string, std::uint32_t, std::less<>> numbers_;
  std::vector<Part> parts_;
  std::mutex mutex_;
};

}  // namespace tern::importing
