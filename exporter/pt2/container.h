// Opens the zip archive of a .pt2 file, checks its structure, and gives its entries as views of the file's bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tern::pt2 {

/// One stored (never compressed) entry.
struct Entry {
  std::string name;          ///< in full, with the root folder: "model/data/weights/weight_0"
  std::uint64_t offset = 0;  ///< of its data in the file; a multiple of 64 in files that PyTorch wrote
  std::uint64_t size = 0;
  std::uint32_t crc = 0;
};

/// A checked archive. Cheap to copy: copies share the mapping, and views stay valid as long as one of them lives.
/// Immutable, so safe to use from several threads. A file must not shrink while it is mapped.
class Container {
 public:
  /// Maps the file read-only and checks it. Throws Error: io, bad_file, or unsupported for archives of other kinds.
  static Container open(const std::string& path);
  /// As open, of bytes that outlive every copy. `label` stands for the path in messages.
  static Container borrow(std::span<const std::byte> bytes, std::string label = "memory");

  /// The path, or the label.
  const std::string& label() const;
  std::span<const std::byte> bytes() const;
  /// The folder that every entry is under, without a slash.
  const std::string& root() const;
  /// In the order of the file.
  const std::vector<Entry>& entries() const;
  /// Names of the programs: one, "model", in what torch.export.save writes.
  const std::vector<std::string>& models() const;

  /// By full name; null when there is none.
  const Entry* find(std::string_view name) const;
  /// By name under the root folder: "data/weights/weight_0".
  const Entry* find_under_root(std::string_view name) const;
  std::span<const std::byte> data(const Entry& entry) const;
  /// By full name. Throws bad_file when there is none.
  std::span<const std::byte> data(std::string_view name) const;

  /// Computes the entry's CRC-32 on all cores, and throws bad_file when it is not the recorded one. Opening does not do
  /// this: whoever uses an entry's bytes does.
  void verify_crc(const Entry& entry) const;
  void verify_all_crcs() const;

 private:
  struct State;
  explicit Container(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

}  // namespace tern::pt2
