// Opens the zip archive of a .pt2 file, checks its structure, and offers its entries as views of the file's bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tern::pt2 {

/// Stored (never compressed) entry.
struct ContainerEntry {
  std::string name;          ///< full name with the root folder: "model/data/weights/weight_0"
  std::uint64_t offset = 0;  ///< file offset of the data; a multiple of 64 in PyTorch's files
  std::uint64_t size = 0;
  std::uint32_t crc = 0;
};

/// Checked archive. Cheap to copy: copies share the mapping, and views stay valid as long as a copy lives. Immutable,
/// hence safe to use from several threads. The file must not shrink while mapped.
class Container {
 public:
  /// Maps the file read-only and checks the archive. Throws Error: io, bad_file, or unsupported for other archives.
  static Container open(const std::string& path);
  /// Opens bytes instead of a file; the bytes must outlive every copy. `label` replaces the path in messages.
  static Container borrow(std::span<const std::byte> bytes, std::string label = "memory");

  /// The path, or the label.
  const std::string& label() const;
  std::span<const std::byte> bytes() const;
  /// Root folder of all entries, without a slash.
  const std::string& root() const;
  /// Entries in file order.
  const std::vector<ContainerEntry>& entries() const;
  /// Names of the programs: torch.export.save writes one, "model".
  const std::vector<std::string>& models() const;

  /// Finds an entry by full name; null if absent.
  const ContainerEntry* find(std::string_view name) const;
  /// Finds an entry by name under the root folder: "data/weights/weight_0".
  const ContainerEntry* find_under_root(std::string_view name) const;
  std::span<const std::byte> data(const ContainerEntry& entry) const;
  /// Data of the entry with the full name. Throws bad_file if absent.
  std::span<const std::byte> data(std::string_view name) const;

  /// Computes the entry's CRC-32 on all cores; throws bad_file on a mismatch. Opening skips the CRCs: users of an
  /// entry's bytes verify them.
  void verify_crc(const ContainerEntry& entry) const;
  void verify_all_crcs() const;

 private:
  struct State;
  explicit Container(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

}  // namespace tern::pt2
