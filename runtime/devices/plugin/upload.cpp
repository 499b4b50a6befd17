#include "runtime/devices/plugin/upload.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <cstring>

#include "loader/segment_source.h"
#include "runtime/devices/plugin/stream.h"

namespace tern {

bool UploadBuffers::open() {
  const tern_device_pinned_memory_functions* pinned = device_.tables().pinned_memory;
  if (pinned == nullptr) return false;
  if (buffers_.back().memory != nullptr) return true;
  try {
    for (Buffer& b : buffers_) {
      const tern_device_status status = pinned->allocate(device_.index(), kBytes, &b.memory);
      // Copies from the original address if pinned memory is unavailable.
      if (status == TERN_DEVICE_UNSUPPORTED || status == TERN_DEVICE_OUT_OF_MEMORY) {
        b.memory = nullptr;
        close();
        return false;
      }
      device_.check(status, "allocating pinned memory");
      device_.check(device_.plugin().event_create(device_.index(), &b.copied), "making an event");
    }
  } catch (...) {
    close();
    throw;
  }
  return true;
}

void UploadBuffers::close() noexcept {
  for (Buffer& b : buffers_) {
    if (b.memory != nullptr) device_.tables().pinned_memory->free(device_.index(), b.memory);
    if (b.copied != nullptr) device_.plugin().event_destroy(device_.index(), b.copied);
    b = {};
  }
}

void UploadBuffers::release() {
  const std::lock_guard lock(mutex_);
  close();
}

Upload::Upload(PluginStream& stream)
    : stream_(stream), staging_(stream.device().staging()), lock_(staging_.mutex_), staged_(staging_.open()) {}

Upload::~Upload() {
  stream_.settle();  // pending copies may still read the buffers or write to memory about to be freed
  for (UploadBuffers::Buffer& b : staging_.buffers_) b.busy = false;
}

void Upload::add(StorageSource& source, std::uint32_t storage, std::uint64_t bytes, std::byte* to) {
  std::uint64_t given = 0;
  const auto take = [&](std::span<const std::byte> part) {
    add(part.first(std::min<std::uint64_t>(part.size(), bytes - given)), to + given);
    given += std::min<std::uint64_t>(part.size(), bytes - given);
  };
  auto* parts = dynamic_cast<PartedSource*>(&source);
  if (staged_ && parts != nullptr) {
    parts->read(storage, take);
  } else {
    take(source.bytes(storage));
  }
  if (given < bytes) fail(ErrorCode::bad_file, fmt::format("storage {} has fewer bytes than declared", storage));
}

void Upload::add(std::span<const std::byte> bytes, std::byte* to) {
  if (!staged_) return stream_.enqueue_upload(to, bytes.data(), bytes.size());
  const PluginDevice& device = stream_.device();
  for (std::uint64_t at = 0; at < bytes.size(); at += UploadBuffers::kBytes) {
    const std::uint64_t size = std::min<std::uint64_t>(UploadBuffers::kBytes, bytes.size() - at);
    UploadBuffers::Buffer& b = staging_.buffers_[next_];
    next_ = 1 - next_;
    if (b.busy) device.check(device.plugin().event_synchronize(device.index(), b.copied), "waiting for a copy");
    std::memcpy(b.memory, bytes.data() + at, size);
    stream_.enqueue_upload(to + at, b.memory, size);
    device.check(device.plugin().event_record(device.index(), b.copied, stream_.handle()), "recording an event");
    b.busy = true;
  }
}

void Upload::finish() {
  stream_.synchronize();
}

}  // namespace tern
