// cuSOLVER and cuBLAS, loaded on first use.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "devices/gpu/cuda/cusolver_api.h"
#include "devices/gpu/devices.h"

namespace tern::gpu {

/// The libraries on one device. Never unloaded.
struct Cusolver {
  struct Handles {
    SolverHandle solver = nullptr;
    BlasHandle blas = nullptr;
  };

  CusolverApi api;
  std::string version;  ///< "12.0.4"
  std::string why;      ///< reason for being unusable; empty if usable
  std::mutex lock;      ///< guards calls with the handles
  Handles handles;      ///< used for queries
  /// Handles per stream: a cuBLAS handle owns memory, so concurrent streams must not share a handle. Destroyed with the
  /// stream.
  std::map<Stream, Handles> stream_handles;
};

/// Loads the libraries once per device. The device is current.
Cusolver& cusolver_of(const GpuDevice& d);
/// Returns null before the first use of the libraries.
Cusolver* opened_cusolver(const GpuDevice& d);

/// Returns the handles for work on the stream. The lock is held.
tern_device_status handles_of(Cusolver& c, Stream stream, Cusolver::Handles* handles);
/// Destroys the stream's handles. The lock is held.
tern_device_status end_handles(Cusolver& c, Stream stream);

/// Encodes a cuBLAS error among cuSOLVER errors: equal numbers have different meanings.
constexpr int cublas_error(int error) {
  return -error;
}
/// Returns success, or a status with a message naming the call and the library's error number.
tern_device_status cusolver_checked(int error, const char* call);

}  // namespace tern::gpu
