// Copies a session's tensors between the host and its device. Host-memory devices need no copies.
#pragma once

#include <tern/tensor.h>

#include <span>
#include <vector>

#include "kernels/kernel.h"
#include "runtime/context.h"
#include "runtime/memory.h"
#include "schema/program.h"

namespace tern {

class CallerOutputs;

class Transfer {
 public:
  explicit Transfer(const SessionContext& context);
  ~Transfer();
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  /// Copies `arguments`, the inputs of kind user, to the device and points their views to the copies. Inputs on the
  /// device are used in place if contiguous and aligned. A capture records these copies and the copies of take_back.
  void bring(const Function& f, std::span<const Tensor> arguments, std::vector<TensorView>& inputs);
  /// Copies inputs written by the run back to the caller's memory. Copies results to memory of this object, or directly
  /// to the caller's `outputs` unless the host would have to copy them again; done after the stream's synchronisation.
  const std::vector<TensorView>& take_back(const Function& f, const std::vector<TensorView>& produced,
                                           const CallerOutputs* outputs = nullptr);
  /// Waits: an earlier run may still read its inputs.
  void settle() noexcept;

  /// Copies synchronously between a strided view on the device and a contiguous view on the host.
  void read(const TensorView& from, const TensorView& to);
  void write(const TensorView& from, const TensorView& to);

  /// Bytes of the inputs on the device.
  std::uint64_t device_bytes() const;
  /// Bytes of a contiguous tensor.
  static std::uint64_t bytes_of(const TensorView& v);

 private:
  /// Copies results out of the way of write-backs to the caller's memory.
  const std::vector<TensorView>& preserve_overwritten(const std::vector<TensorView>& results,
                                                      const CallerOutputs& outputs);

  const SessionContext& context_;
  std::vector<Buffer> inputs_;  ///< device memory
  std::vector<HostBuffer> outputs_;
  std::vector<TensorView> results_;
  std::vector<Buffer> preserved_;  ///< copies of inputs returned as results and overwritten by other results
  std::vector<TensorView> preserved_results_;  ///< results after substituting these copies
  std::vector<TensorView> caller_inputs_;      ///< inputs as given by the caller
  std::vector<TensorView> device_inputs_;      ///< inputs as read by the run
  std::vector<bool> is_on_device_;             ///< true for inputs given on the device
  bool uses_host_memory_ = false;              ///< true if the device uses host memory
};

}  // namespace tern
