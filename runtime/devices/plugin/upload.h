// Uploads storages to a device: reads and hashes the next bytes while the device copies the previous bytes.
#pragma once

#include <tern/device.h>

#include <array>
#include <cstdint>
#include <mutex>
#include <span>

#include "schema/program.h"

namespace tern {

class PluginDevice;
class PluginStream;

/// Two host buffers for DMA copies by the device ("pinned_memory" of tern/device.h). A device has one such pair,
/// allocated on first use.
class UploadBuffers {
 public:
  static constexpr std::uint64_t kBytes = std::uint64_t{4} << 20;  ///< size of each buffer
  explicit UploadBuffers(const PluginDevice& device) : device_(device) {}
  /// Frees the buffers after the current upload.
  void release();

 private:
  friend class Upload;
  struct Buffer {
    void* memory = nullptr;
    tern_device_event copied = nullptr;
    bool busy = false;  ///< a copy from the buffer is pending until `copied`
  };
  /// Returns false if the device has no pinned memory.
  bool open();
  void close() noexcept;

  const PluginDevice& device_;
  std::mutex mutex_;  ///< held by the current upload
  std::array<Buffer, 2> buffers_;
};

class Upload {
 public:
  explicit Upload(PluginStream& stream);
  ~Upload();
  Upload(const Upload&) = delete;
  Upload& operator=(const Upload&) = delete;

  /// Enqueues copies of the first `bytes` bytes of a storage.
  void add(StorageSource& source, std::uint32_t storage, std::uint64_t bytes, std::byte* to);
  /// Waits until all copies have finished.
  void finish();

 private:
  void add(std::span<const std::byte> bytes, std::byte* to);

  PluginStream& stream_;
  UploadBuffers& staging_;
  std::unique_lock<std::mutex> lock_;
  bool staged_ = false;
  std::size_t next_ = 0;  ///< index of the next buffer to fill
};

}  // namespace tern
