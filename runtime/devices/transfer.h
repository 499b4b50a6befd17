// A session's tensors between the host and its device.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "kernels/kernel.h"
#include "runtime/devices/stream.h"
#include "runtime/memory.h"
#include "schema/program.h"

namespace tern {

class CallerOutputs;

class DeviceTransfer {
 public:
  explicit DeviceTransfer(std::shared_ptr<DeviceStream> stream) : shared_(std::move(stream)), stream_(*shared_) {}
  ~DeviceTransfer() { stream_.settle(); }
  DeviceTransfer(const DeviceTransfer&) = delete;
  DeviceTransfer& operator=(const DeviceTransfer&) = delete;

  /// Copies the inputs of kind user to the device: their views then point there.
  void bring(const Function& f, std::vector<TensorView>& inputs);
  /// Copies what the run wrote to inputs back to the caller's memory, and its results to memory of this object, or to
  /// the caller's `outputs` where that needs no second copy; done when the stream has been synchronised.
  const std::vector<TensorView>& take_back(const Function& f, const std::vector<TensorView>& results,
                                           const CallerOutputs* outputs = nullptr);

  /// Between a view on the device with any strides and a contiguous one on the host.
  void read(const TensorView& from, const TensorView& to);
  void write(const TensorView& from, const TensorView& to);

  /// Bytes of a contiguous tensor.
  static std::uint64_t bytes_of(const TensorView& v);

 private:
  std::shared_ptr<DeviceStream> shared_;
  DeviceStream& stream_;
  std::vector<Buffer> inputs_;   ///< on the device
  std::vector<Buffer> outputs_;  ///< on the host
  std::vector<TensorView> results_;
  std::vector<TensorView> given_;  ///< the inputs on the host
};

}  // namespace tern
