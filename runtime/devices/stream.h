// A stream of a device.
#pragma once

#include <memory>

#include "kernels/portable/launcher.h"
#include "runtime/devices/device.h"

namespace tern {

class DeviceStream : public portable::Launcher {
 public:
  explicit DeviceStream(Device& device);
  ~DeviceStream() override;
  DeviceStream(const DeviceStream&) = delete;
  DeviceStream& operator=(const DeviceStream&) = delete;

  Device& device() { return device_; }
  tern_device_stream handle() const { return stream_; }
  /// For functions of the device that put work on it.
  tern_device_stream used() {
    idle_ = false;
    return stream_;
  }
  const portable::Target& target() const override { return device_.target(); }
  portable::KernelHandle kernel(const std::string& key, const std::string& name,
                                const std::function<std::string()>& text) override {
    return device_.kernel(key, name, text);
  }
  void launch(portable::KernelHandle kernel, std::span<const portable::Argument> arguments, std::int64_t items,
              std::uint32_t group) override;
  void copy(std::byte* to, const std::byte* from, std::uint64_t bytes) override;
  void upload(std::byte* to, const void* from, std::uint64_t bytes) override;
  void download(void* to, const std::byte* from, std::uint64_t bytes) override;
  std::unique_ptr<portable::Memory> allocate(std::uint64_t bytes) override;
  std::byte* failure() override;
  DeviceStream* device_stream() override { return this; }

  /// As upload and download, done when the stream has been synchronised.
  void enqueue_upload(std::byte* to, const void* from, std::uint64_t bytes);
  void enqueue_download(void* to, const std::byte* from, std::uint64_t bytes);

  void synchronize();
  /// Nothing was put on it since it was synchronised.
  bool idle() const { return idle_; }
  /// Waits, and fails where a kernel has written a failure.
  void finish();
  /// Enqueues a copy of the failure that kernels may have written: 0, or a number of failure.h.
  void enqueue_failure(std::int32_t* to);
  /// After an exception: waits and clears failures, so that the next run can begin. Never fails.
  void recover() noexcept;
  /// Waits, and keeps a failure for the next call that reports it.
  void settle() noexcept;
  /// Puts work that the device has recorded on the stream.
  void run_graph(tern_device_graph graph);
  std::uint64_t launches() const { return launches_; }

  /// While it lives, the device records the work on the stream (tern_device_graph_functions::begin).
  class Recorded {
   public:
    explicit Recorded(DeviceStream& stream);
    ~Recorded();
    /// False where the device records nothing.
    bool open() const { return open_; }
    /// What was recorded, or null where the device cannot hold it.
    tern_device_graph end();
    Recorded(const Recorded&) = delete;
    Recorded& operator=(const Recorded&) = delete;

   private:
    tern_device_status stop(tern_device_graph* graph);
    DeviceStream& stream_;
    bool open_ = false;
  };

 private:
  void refuse_while_recorded(const char* what) const;
  void set_recorded(bool recorded);

  Device& device_;
  tern_device_stream stream_ = nullptr;
  std::unique_ptr<portable::Memory> failure_;
  bool may_have_failed_ = false, recorded_ = false, idle_ = true;
  std::uint64_t launches_ = 0;
};

}  // namespace tern
