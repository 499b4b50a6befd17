// cuBLASLt or hipBLASLt, found when the first product asks for it.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "devices/gpu/devices.h"
#include "devices/gpu/libraries/lt_api.h"

namespace tern::gpu {

/// "13.1.0"; each vendor defines it. Empty if the library does not tell.
struct LtVersion {
  int major = 0;
  std::string text;
};
LtVersion lt_version(void* library, LtHandle handle);

/// Why the driver does not run this version; empty if it does. Each vendor defines it.
std::string lt_too_new(const LtVersion& version, int driver_number);

/// The library on one device. It lives as long as the process.
struct Lt {
  LtApi api;
  LtHandle handle = nullptr;
  LtVersion version;
  std::string path;
  std::string why;  ///< it cannot be used; empty if it can
  std::mutex lock;  ///< of calls with the handles
  std::map<Stream, LtHandle> of_streams;
};

/// The device is current. Tries once for each device.
Lt& lt(const GpuDevice& d);

/// The handle for work on the stream: hipBLASLt keeps memory in a handle, which work on two streams would share. A
/// graph runs on the stream that recorded it, so its work has that stream's. The lock is held.
tern_device_status lt_handle(Lt& lt, Stream stream, LtHandle* handle);

/// Success, or a status with a message of the call and the library's number of the error.
tern_device_status lt_checked(int error, const char* call);

/// What the library's create functions make.
using LtObject = std::unique_ptr<void, Status (*)(void*)>;

}  // namespace tern::gpu
