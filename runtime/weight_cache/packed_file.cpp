#include "runtime/weight_cache/packed_file.h"

#include <cstdlib>
#include <ctime>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "platform/error.h"
#include "platform/memory.h"
#include "runtime/weight_cache/file_names.h"
#include "runtime/weight_cache/packed_format.h"

namespace tern {
namespace {

/// Shorter than the period of recent use (room.h): each run of a program protects its files from deletion.
constexpr std::time_t kTimeOfUse = 15 * 60;

/// Files mapped by this process. A mapping keeps its file's number from reuse by another file.
struct Mapped {
  std::mutex mutex;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::weak_ptr<const PackedFile>> files;  // keys: volume, number

  static Mapped& shared() {
    static Mapped mapped;
    return mapped;
  }
};

void note_use(const platform::File& file, const platform::FileInfo& info) {
  if (std::abs(std::time(nullptr) - static_cast<std::time_t>(info.modified.seconds)) >= kTimeOfUse) file.touch();
}

}  // namespace

std::shared_ptr<PackedFile> PackedFile::map(const platform::File& file, std::size_t size) {
  const std::byte* const bytes = platform::map_file(file, size);
  if (bytes == nullptr) return nullptr;
  platform::prefer_large_pages(bytes, size);
  return std::shared_ptr<PackedFile>(new PackedFile({bytes, size}));
}

PackedFile::~PackedFile() {
  platform::unmap_file(file_.data(), file_.size());
}

std::shared_ptr<const PackedFile> PackedFile::open(const CacheFolder& folder, const std::string& key) {
  if (!folder.usable()) return nullptr;
  const std::string name = packed_name(key);
  const platform::File file = folder.folder().open_file(name);
  const auto info = file.is_open() ? file.info() : std::nullopt;
  if (!info) {
    if (platform::is_symbolic_link(platform::last_error())) folder.folder().remove(name);
    return nullptr;
  }
  Mapped& mapped = Mapped::shared();
  const std::pair number(info->volume, info->number);
  {
    const std::lock_guard lock(mapped.mutex);
    const auto found = mapped.files.find(number);
    auto shared = found == mapped.files.end() ? nullptr : found->second.lock();
    if (shared != nullptr && shared->key_ == key) return shared;
  }
  std::shared_ptr<PackedFile> opened;
  if (info->is_own_file() && info->size > 0) {
    opened = map(file, info->size);
    if (opened == nullptr) return nullptr;  // out of memory: the file may be valid
    opened->payload_ = check_payload(opened->file_, key);
  }
  if (opened == nullptr || opened->payload_.empty()) {
    folder.folder().remove(name);
    return nullptr;
  }
  opened->key_ = key;
  note_use(file, *info);
  const std::lock_guard lock(mapped.mutex);
  std::erase_if(mapped.files, [](const auto& entry) { return entry.second.expired(); });
  mapped.files[number] = opened;
  return opened;
}

bool has_packed(const CacheFolder& folder, const std::string& key) {
  if (!folder.usable()) return false;
  const platform::File file = folder.folder().open_file(packed_name(key));
  const auto info = file.is_open() ? file.info() : std::nullopt;
  if (!info || !info->is_own_file()) return false;
  std::vector<std::byte> head(head_size(key));
  if (info->size <= head.size() || file.read_at(0, head) != static_cast<std::int64_t>(head.size())) return false;
  return is_packed_head(head, key, info->size - head.size());
}

}  // namespace tern
