// A device stream: enqueued work runs in order.
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

/// A position on a stream. The event happens after the work enqueued before.
class DeviceEvent {
 public:
  /// The device's own handle of the event.
  enum class Handle : std::uintptr_t {};
  virtual ~DeviceEvent() = default;
  virtual Handle handle() const = 0;
  /// True if the work has finished; waits if the device cannot query events.
  virtual bool happened() = 0;
  /// Waits. Fails if a kernel of the work has failed.
  virtual void synchronize() = 0;
  /// Requires two past events of one device. Fails (unsupported) if the device has no clock.
  virtual double seconds_until(const DeviceEvent& end) const = 0;
};

/// A destination for the first `bytes` bytes of a storage.
struct StorageLoad {
  std::uint32_t storage;
  std::uint64_t bytes;
  std::byte* destination;
};

class DeviceStream {
 public:
  DeviceStream() = default;
  virtual ~DeviceStream() = default;
  DeviceStream(const DeviceStream&) = delete;
  DeviceStream& operator=(const DeviceStream&) = delete;

  virtual Device& device() = 0;
  /// The stream's share of the device; empty: the whole device.
  virtual StreamShare share() const { return {}; }
  /// Launcher for portable kernels.
  virtual portable::Launcher& launcher() = 0;

  /// Copies between views of one shape and dtype on the device.
  virtual void copy(const TensorView& from, const TensorView& to) = 0;
  /// Copies between the host and the device, done after the stream's synchronisation.
  virtual void enqueue_upload(std::byte* to, const void* from, std::uint64_t bytes) = 0;
  virtual void enqueue_download(void* to, const std::byte* from, std::uint64_t bytes) = 0;
  /// Copies from another device, whose work on the memory has finished. False if the devices cannot: nothing is
  /// enqueued.
  virtual bool enqueue_peer_copy(std::byte* to, Device& device, const std::byte* from, std::uint64_t bytes);
  /// Checks storages and copies their bytes synchronously.
  virtual void load(StorageSource& source, std::span<const StorageLoad> loads) = 0;

  virtual void synchronize() = 0;
  /// True if no work was enqueued since the last synchronisation.
  virtual bool idle() const = 0;
  /// True if all enqueued work has finished; waits if the device cannot query its state.
  virtual bool has_finished() = 0;
  /// Waits. Fails if a kernel has written a failure.
  virtual void finish() = 0;
  /// Like finish, and copies bytes to the host.
  virtual void read(void* to, const std::byte* from, std::uint64_t bytes);
  /// Waits, and keeps a failure for the next reporting call.
  virtual void settle() noexcept = 0;
  /// Recovers from an exception: waits and clears failures, so that the next run can begin.
  virtual void recover() noexcept = 0;

  virtual std::unique_ptr<DeviceEvent> record() = 0;
  /// Makes later work wait for an event of the same device.
  virtual void wait(const DeviceEvent& event) = 0;

  /// The vendor's stream handle, and a wait for another vendor stream. Fail (unsupported) without such a handle.
  virtual void* native();
  virtual void wait_native(void* stream);

  /// True while the application captures the vendor's stream.
  virtual bool is_captured() { return false; }

  /// Optional abilities; null if unsupported.
  virtual GraphRecorder* graphs() { return nullptr; }
  virtual StepClock* clock() { return nullptr; }
  /// Reports all later calls to the watch; null: stops reporting. Streams with synchronous calls need not report.
  virtual void set_watch(StreamWatch*) {}
  virtual DeviceRank* rank() { return nullptr; }
};

}  // namespace tern
