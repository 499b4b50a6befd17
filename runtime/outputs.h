// Results written to the caller's memory.
#pragma once

#include <tern/tensor.h>

#include <span>
#include <utility>
#include <vector>

#include "kernels/kernel.h"
#include "runtime/plan/plan.h"
#include "schema/program.h"

namespace tern {

class Device;

class CallerOutputs {
 public:
  /// Results go to `tensors`, on the host or on the session's `device`. Throws invalid_argument for other devices,
  /// read-only tensors, or a wrong number of tensors.
  CallerOutputs(const Function& f, Device& device, std::span<const Tensor> tensors);
  /// Results go to new memory of `memory_device` (the host or `device`), returned by release_tensors().
  CallerOutputs(const Function& f, Device& device, Device& memory_device);
  /// Disables direct writes to memory shared with inputs of the run.
  void keep_apart(std::span<const TensorView> inputs);
  /// Throws invalid_argument if a result would need a host copy after the device's work.
  void check_asynchronous() const;
  /// Receives the results' sizes: throws invalid_argument if a tensor's dtype or sizes differ from its result, or
  /// allocates the new memory.
  void expect(std::span<const Placed> results);
  /// Redirects kernels to the caller's memory wherever no other value is affected.
  void redirect_arguments(const SectionPlan& plan, std::span<TensorView> args) const;
  /// True if result `i` may be written directly to the caller's memory.
  bool can_write_directly(std::size_t i) const { return can_write_directly_[i]; }
  /// True if the caller's memory is on the device.
  bool is_on_device(std::size_t i) const { return is_on_device_[i]; }
  /// True if kernels write result `i` directly; valid after redirect_arguments().
  bool is_written_directly(std::size_t i) const { return can_write_directly_[i] && is_on_device_[i] != host_memory_; }
  /// The caller's memory for result `i`; `data` is null for an unwanted result.
  const TensorView& view(std::size_t i) const { return views_[i]; }
  std::size_t size() const { return views_.size(); }
  /// True if copies of earlier results overwrite result `i`: an input whose memory receives another result.
  bool loses(std::span<const TensorView> results, std::size_t i) const;
  /// Copies the results not written directly.
  void copy(std::span<const TensorView> results) const;
  /// The caller's tensors or the new memory.
  const std::vector<Tensor>& tensors() const { return tensors_; }
  /// Shows the caller's tensors as the session's results; none if the caller takes the new memory.
  void expose_results(std::vector<Tensor>& outputs) const;
  std::vector<Tensor> release_tensors() { return std::move(tensors_); }

 private:
  void check(std::span<const Placed> results) const;

  const Function& f_;
  Device& device_;
  Device* new_memory_device_ = nullptr;  ///< device of new memory for results; null: results go to tensors_
  bool host_memory_;                     ///< host and device share memory, so no result needs a copy
  std::vector<Tensor> tensors_;
  std::vector<TensorView> views_;
  std::vector<bool> can_write_directly_, is_on_device_;
};

}  // namespace tern
