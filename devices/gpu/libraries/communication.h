// A rank's place in a group of devices.
#pragma once

#include <tern/device.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "devices/gpu/libraries/nccl_api.h"

namespace tern::gpu {

/// As the libraries of collectives take addresses of the device.
inline std::byte* pointer(Address address) {
  return reinterpret_cast<std::byte*>(address);  // NOLINT(performance-no-int-to-ptr)
}

/// One thread makes calls; any thread may abort.
struct Communication {
  NcclComm comm = nullptr;  ///< null: it has been aborted
  int rank = 0, ranks = 1;
  bool symmetric = false;  ///< its small calls go through symmetric memory

  /// Why the group has failed; empty where it has not.
  std::string failure();
  /// Calls that wait end. The first reason counts.
  void abort(const std::string& why);
  /// Runs `begin`, which calls the library, and waits until the library has put the work on its stream, or has failed.
  tern_device_status call(const char* what, const std::function<int()>& begin);
  /// Leaves in peace, if all ranks do so soon. Afterwards it has not failed.
  void leave();

 private:
  std::mutex mutex_;
  std::string failure_;
};

}  // namespace tern::gpu

struct tern_device_communicator_s {
  std::shared_ptr<tern::gpu::Communication> communication;
};
