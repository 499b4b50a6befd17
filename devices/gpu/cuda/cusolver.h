// cuSOLVER with cuBLAS, found when the first factorization asks for them.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "devices/gpu/cuda/cusolver_api.h"
#include "devices/gpu/devices.h"

namespace tern::gpu {

/// The libraries on one device. They live as long as the process.
struct Cusolver {
  struct Handles {
    SolverHandle solver = nullptr;
    BlasHandle blas = nullptr;
  };

  CusolverApi api;
  std::string version;  ///< "12.0.4"
  std::string why;      ///< they cannot be used; empty if they can
  std::mutex lock;      ///< of calls with the handles
  Handles handles;      ///< for questions
  /// cuBLAS works in memory of its handle, which work on two streams would share. They end with their stream.
  std::map<Stream, Handles> of_streams;
};

/// The device is current. Tries once for each device.
Cusolver& cusolver_of(const GpuDevice& d);
/// Null where nobody has asked for them yet.
Cusolver* opened_cusolver(const GpuDevice& d);

/// The handles for work on the stream. The lock is held.
tern_device_status handles_of(Cusolver& c, Stream stream, Cusolver::Handles* handles);
/// Destroys them. The lock is held.
tern_device_status end_handles(Cusolver& c, Stream stream);

/// A cuBLAS error among those of cuSOLVER: their numbers mean different things.
constexpr int cublas_error(int error) {
  return -error;
}
/// Success, or a status with a message of the call and the library's number of the error.
tern_device_status cusolver_checked(int error, const char* call);

}  // namespace tern::gpu
