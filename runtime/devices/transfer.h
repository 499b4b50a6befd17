// A session's tensors between the host and its device. Where the device's memory is the host's, they stay.
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

  /// Copies the inputs of kind user to the device: their views then point there. Those that are there already serve
  /// where they lie if they are contiguous and aligned. Recorded during a capture, as are the copies of take_back.
  /// `given`: the inputs of kind user.
  void bring(const Function& f, std::span<const Tensor> given, std::vector<TensorView>& inputs);
  /// Copies what the run wrote to inputs back to the caller's memory, and its results to memory of this object, or to
  /// the caller's `outputs` where that needs no second copy on the host; done when the stream has been synchronised.
  const std::vector<TensorView>& take_back(const Function& f, const std::vector<TensorView>& made,
                                           const CallerOutputs* outputs = nullptr);
  /// A run before may still read the inputs that it was given: waits.
  void settle() noexcept;

  /// Between a view on the device with any strides and a contiguous one on the host; done when it returns.
  void read(const TensorView& from, const TensorView& to);
  void write(const TensorView& from, const TensorView& to);

  /// Of the inputs there.
  std::uint64_t device_bytes() const;
  /// Bytes of a contiguous tensor.
  static std::uint64_t bytes_of(const TensorView& v);

 private:
  /// Copies results away that copies of others to the caller's memory would overwrite.
  const std::vector<TensorView>& keep(const std::vector<TensorView>& results, const CallerOutputs& outputs);

  const SessionContext& context_;
  std::vector<Buffer> inputs_;  ///< on the device
  std::vector<HostBuffer> outputs_;
  std::vector<TensorView> results_;
  std::vector<Buffer> kept_;         ///< results that are inputs, where memory of those takes other results
  std::vector<TensorView> safe_;     ///< the results, with those
  std::vector<TensorView> given_;    ///< the inputs as the caller has them
  std::vector<TensorView> brought_;  ///< and as the run reads them
  std::vector<bool> there_;          ///< which of them the caller has on the device
  bool stays_ = false;               ///< the device's memory is the host's
};

}  // namespace tern
