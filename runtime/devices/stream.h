// A stream of a device: everything that is put on it runs in order.
#pragma once

#include <tern/stream.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "kernels/kernel.h"
#include "kernels/portable/launcher.h"
#include "runtime/devices/abilities.h"
#include "runtime/devices/watch.h"
#include "schema/program.h"

namespace tern {

class Device;

/// What has been on a stream at one time. Ends after its work.
class DeviceEvent {
 public:
  /// The device's own number for it.
  enum class Handle : std::uintptr_t {};
  virtual ~DeviceEvent() = default;
  virtual Handle handle() const = 0;
  /// Whether that work has finished; waits for it where the device cannot tell.
  virtual bool happened() = 0;
  /// Waits. Fails where a kernel of that work has failed.
  virtual void synchronize() = 0;
  /// Both have happened, on one device. Fails (unsupported) where the device has no clock.
  virtual double seconds_until(const DeviceEvent& end) const = 0;
};

/// The first `bytes` of a storage, and where they go.
struct StorageLoad {
  std::uint32_t storage;
  std::uint64_t bytes;
  std::byte* to;
};

class DeviceStream {
 public:
  DeviceStream() = default;
  virtual ~DeviceStream() = default;
  DeviceStream(const DeviceStream&) = delete;
  DeviceStream& operator=(const DeviceStream&) = delete;

  virtual Device& device() = 0;
  /// The part of the device that it has; none of it: the whole.
  virtual StreamShare share() const { return {}; }
  /// What portable kernels are launched with.
  virtual portable::Launcher& launcher() = 0;

  /// Between views of one shape and dtype on the device.
  virtual void copy(const TensorView& from, const TensorView& to) = 0;
  /// Between the host and the device, done when the stream has been synchronised.
  virtual void enqueue_upload(std::byte* to, const void* from, std::uint64_t bytes) = 0;
  virtual void enqueue_download(void* to, const std::byte* from, std::uint64_t bytes) = 0;
  /// Checks storages and copies their bytes; they are there when it returns.
  virtual void load(StorageSource& source, std::span<const StorageLoad> loads) = 0;

  virtual void synchronize() = 0;
  /// Nothing was put on it since it was synchronised.
  virtual bool idle() const = 0;
  /// Whether all that was put on it has finished; waits for it where the device cannot tell.
  virtual bool done() = 0;
  /// Waits, and fails where a kernel has written a failure.
  virtual void finish() = 0;
  /// The same, and brings bytes to the host.
  virtual void read(void* to, const std::byte* from, std::uint64_t bytes);
  /// Waits, and keeps a failure for the next call that reports it.
  virtual void settle() noexcept = 0;
  /// After an exception: waits and clears failures, so that the next run can begin.
  virtual void recover() noexcept = 0;

  virtual std::unique_ptr<DeviceEvent> record() = 0;
  /// Later work waits for an event of the same device.
  virtual void wait(const DeviceEvent& event) = 0;

  /// The vendor's handle, and waiting for another stream of the vendor's. Fail (unsupported) where it has none.
  virtual void* native();
  virtual void wait_native(void* stream);

  /// What not every device can do; null where it cannot.
  virtual GraphRecorder* graphs() { return nullptr; }
  virtual StepClock* clock() { return nullptr; }
  /// Tells it of all calls from now on; null: nobody. Streams whose calls have done their work when they return need
  /// tell nothing.
  virtual void set_watch(StreamWatch*) {}
  virtual DeviceRank* rank() { return nullptr; }
};

}  // namespace tern
