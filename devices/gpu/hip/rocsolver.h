// rocSOLVER and rocBLAS, loaded on first use.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "devices/gpu/devices.h"
#include "devices/gpu/hip/rocsolver_api.h"

namespace tern::gpu {

/// The libraries on one device. Never unloaded.
struct Rocsolver {
  RocsolverApi api;
  std::string version;                             ///< "3.27.0"
  std::string why;                                 ///< reason for being unusable; empty if usable
  std::mutex lock;                                 ///< guards calls with the handles
  RocblasHandle handle = nullptr;                  ///< used for queries
  std::map<Stream, RocblasHandle> stream_handles;  ///< destroyed with their stream
};

/// Loads the libraries once per device. The device is current.
Rocsolver& rocsolver_of(const GpuDevice& d);
/// Returns null before the first use of the libraries.
Rocsolver* opened_rocsolver(const GpuDevice& d);

/// Returns the handle for work on the stream, with `work` as its workspace. The lock is held.
tern_device_status handle_of(Rocsolver& r, Stream stream, Address work, std::uint64_t bytes, RocblasHandle* handle);
/// Destroys the stream's handle. The lock is held.
tern_device_status end_handle(Rocsolver& r, Stream stream);

/// Returns success, or a status with a message naming the call and the library's error number.
tern_device_status rocsolver_checked(int error, const char* call);

}  // namespace tern::gpu
