// rocSOLVER with rocBLAS, found when the first factorization asks for them.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "devices/gpu/devices.h"
#include "devices/gpu/hip/rocsolver_api.h"

namespace tern::gpu {

/// The libraries on one device. They live as long as the process.
struct Rocsolver {
  RocsolverApi api;
  std::string version;                         ///< "3.27.0"
  std::string why;                             ///< they cannot be used; empty if they can
  std::mutex lock;                             ///< of calls with the handles
  RocblasHandle handle = nullptr;              ///< for questions
  std::map<Stream, RocblasHandle> of_streams;  ///< they end with their stream
};

/// The device is current. Tries once for each device.
Rocsolver& rocsolver_of(const GpuDevice& d);
/// Null where nobody has asked for them yet.
Rocsolver* opened_rocsolver(const GpuDevice& d);

/// The handle for work on the stream, which works in `work`. The lock is held.
tern_device_status handle_of(Rocsolver& r, Stream stream, Address work, std::uint64_t bytes, RocblasHandle* handle);
/// Destroys it. The lock is held.
tern_device_status end_handle(Rocsolver& r, Stream stream);

/// Success, or a status with a message of the call and the library's number of the error.
tern_device_status rocsolver_checked(int error, const char* call);

}  // namespace tern::gpu
