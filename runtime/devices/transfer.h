// A session's tensors between the host and its device.
#pragma once

#include <span>
#include <vector>

#include "kernels/kernel.h"
#include "runtime/devices/stream.h"
#include "runtime/memory.h"
#include "schema/program.h"

namespace tern {

class DeviceTransfer {
 public:
  explicit DeviceTransfer(Device& device) : stream_(device) {}
  DeviceStream& stream() { return stream_; }

  /// Copies the inputs of kind user to the device: their views then point there.
  void bring(const Function& f, std::vector<TensorView>& inputs);
  /// Waits for the run, copies what it wrote to inputs back to the caller's memory, and its results to memory of this
  /// object. Fails with what failed on the device.
  const std::vector<TensorView>& take_back(const Function& f, const std::vector<TensorView>& results);

  /// Between a view on the device with any strides and a contiguous one on the host.
  void read(const TensorView& from, const TensorView& to);
  void write(const TensorView& from, const TensorView& to);

 private:
  DeviceStream stream_;
  std::vector<Buffer> inputs_;   ///< on the device
  std::vector<Buffer> outputs_;  ///< on the host
  std::vector<TensorView> results_;
  std::vector<TensorView> given_;  ///< the inputs on the host
};

}  // namespace tern
