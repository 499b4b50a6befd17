// A rank's membership in a group of devices.
#pragma once

#include <tern/device.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "devices/gpu/libraries/nccl_api.h"

namespace tern::gpu {

/// Converts an address for the libraries of collectives.
inline std::byte* pointer(Address address) {
  return reinterpret_cast<std::byte*>(address);  // NOLINT(performance-no-int-to-ptr)
}

/// A single thread makes calls; any thread may abort.
struct Communication {
  NcclComm comm = nullptr;  ///< null after an abort
  int rank = 0, ranks = 1;
  bool symmetric = false;  ///< small calls use symmetric memory

  /// Returns the reason for the group's failure; empty without a failure.
  std::string failure();
  /// Ends waiting calls. Only the first reason is kept.
  void abort(const std::string& reason);
  /// Runs `start`, a library call, and waits until the library has enqueued the work or has failed. `what` names the
  /// call in messages.
  tern_device_status call(const char* what, const std::function<int()>& start);
  /// Leaves the group cleanly if all ranks do so soon. Afterwards the group counts as not failed.
  void leave();

 private:
  std::mutex mutex_;
  std::string failure_;
};

}  // namespace tern::gpu

struct tern_device_communicator_s {
  std::shared_ptr<tern::gpu::Communication> communication;
};
