#include "exporter/import/storages.h"

#include <fmt/format.h>
#include <tern/error.h>

namespace tern::importing {

std::uint32_t ArchiveSource::storage_of(const std::string& entry, Program& program) {
  const auto found = numbers_.find(entry);
  if (found != numbers_.end()) return found->second;
  const auto number = static_cast<std::uint32_t>(program.storages.size());
  const pt2::Entry* found_entry = container_.find(entry);
  if (found_entry == nullptr) fail(ErrorCode::bad_file, fmt::format("there is no entry '{}'", entry));
  parts_.push_back({container_.data(*found_entry), found_entry, {}});
  program.storages.push_back({parts_.back().bytes.size()});
  numbers_.emplace(entry, number);
  return number;
}

std::span<const std::byte> ArchiveSource::bytes(std::uint32_t storage) {
  if (storage >= parts_.size()) fail(ErrorCode::internal, fmt::format("storage {} is not in the file", storage));
  Part& part = parts_[storage];
  const std::lock_guard lock(mutex_);
  if (part.unchecked != nullptr) container_.verify_crc(*part.unchecked);
  part.unchecked = nullptr;
  if (reinterpret_cast<std::uintptr_t>(part.bytes.data()) % alignof(std::max_align_t) == 0) return part.bytes;
  if (part.aligned.empty()) part.aligned.assign(part.bytes.begin(), part.bytes.end());
  return part.aligned;
}

}  // namespace tern::importing
