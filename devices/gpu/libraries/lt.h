// cuBLASLt or hipBLASLt, loaded on first use.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "devices/gpu/devices.h"
#include "devices/gpu/libraries/lt_api.h"

namespace tern::gpu {

/// Version such as "13.1.0", read by vendor code. Empty if unknown.
struct LtVersion {
  int major = 0;
  std::string text;
};
LtVersion lt_version(void* library, LtHandle handle);

/// Returns the reason for the driver not running this version; empty if it does. Vendor code.
std::string lt_too_new(const LtVersion& version, int driver_number);

/// The library on one device. Never unloaded.
struct Lt {
  LtApi api;
  LtHandle handle = nullptr;
  LtVersion version;
  std::string path;
  std::string why;  ///< reason for being unusable; empty if usable
  std::mutex lock;  ///< guards calls with the handles
  std::map<Stream, LtHandle> stream_handles;
};

/// Loads the library once per device. The device is current.
Lt& lt(const GpuDevice& d);

/// Returns the handle for work on the stream: a hipBLASLt handle owns memory, so concurrent streams must not share a
/// handle. Graphs run on their recording stream and use its handle. The lock is held.
tern_device_status lt_handle(Lt& lt, Stream stream, LtHandle* handle);

/// Returns success, or a status with a message naming the call and the library's error number.
tern_device_status lt_checked(int error, const char* call);

/// An object of the library's create functions.
using LtObject = std::unique_ptr<void, Status (*)(void*)>;

}  // namespace tern::gpu
