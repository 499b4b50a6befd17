#include "exporter/import/storages.h"

#include <fmt/format.h>
#include <tern/error.h>

namespace tern::importing {

std::uint32_t ArchiveSource::storage_of(const std::string& entry, Program& program) {
  const auto found = storage_indices_.find(entry);
  if (found != storage_indices_.end()) return found->second;
  const pt2::ContainerEntry* found_entry = container_.find(entry);
  if (found_entry == nullptr) fail(ErrorCode::bad_file, fmt::format("entry '{}' is missing", entry));
  const std::uint32_t number = add({container_.data(*found_entry), found_entry, {}}, program);
  storage_indices_.emplace(entry, number);
  return number;
}

std::uint32_t ArchiveSource::add(Region region, Program& program) {
  const auto number = static_cast<std::uint32_t>(program.storages.size());
  regions_.push_back(std::move(region));
  program.storages.push_back({regions_.back().bytes.size()});
  return number;
}

ArchiveSource::SavedEntry& ArchiveSource::saved(const std::string& entry) {
  const auto found = saved_entries_.find(entry);
  if (found != saved_entries_.end()) return found->second;
  const pt2::ContainerEntry* outer = container_.find(entry);
  if (outer == nullptr) fail(ErrorCode::bad_file, fmt::format("entry '{}' is missing", entry));
  container_.verify_crc(*outer);
  const std::string& label = entry;
  SavedEntry saved;
  saved.object = pt2::read_saved_object(container_.data(*outer), outer->offset, label);
  saved.tensor = pt2::read_pickled_tensor(saved.object, label);
  return saved_entries_.emplace(entry, std::move(saved)).first->second;
}

const pt2::PickledTensor& ArchiveSource::pickled(const std::string& entry) {
  return saved(entry).tensor;
}

std::uint32_t ArchiveSource::storage_of(const std::string& entry, std::string_view key, Program& program) {
  SavedEntry& saved_entry = saved(entry);
  const auto found = saved_entry.storage_indices.find(key);
  if (found != saved_entry.storage_indices.end()) return found->second;
  const pt2::SavedPart* saved_part = saved_entry.object.storages.find(key);
  if (saved_part == nullptr)
    fail(ErrorCode::bad_file, fmt::format("storage '{}' is missing from entry '{}'", key, entry));
  const std::uint32_t number = add({saved_part->bytes, nullptr, {}}, program);  // covered by the entry's CRC
  saved_entry.storage_indices.emplace(key, number);
  return number;
}

std::span<const std::byte> ArchiveSource::bytes(std::uint32_t storage) {
  if (storage >= regions_.size()) fail(ErrorCode::internal, fmt::format("storage {} is not in the file", storage));
  Region& region = regions_[storage];
  const std::lock_guard lock(mutex_);
  if (region.unchecked != nullptr) container_.verify_crc(*region.unchecked);
  region.unchecked = nullptr;
  if (reinterpret_cast<std::uintptr_t>(region.bytes.data()) % alignof(std::max_align_t) == 0) return region.bytes;
  if (region.aligned.empty()) region.aligned.assign(region.bytes.begin(), region.bytes.end());
  return region.aligned;
}

}  // namespace tern::importing
