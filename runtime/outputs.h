// Results that a run writes to memory of the caller's.
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
  /// Results go to `tensors`, on the host or on `device`, where the session runs. Throws invalid_argument if they are
  /// elsewhere, read-only, or not one for each result.
  CallerOutputs(const Function& f, Device& device, std::span<const Tensor> tensors);
  /// Results go to new memory of `place`, the host or `device`, which take() gives.
  CallerOutputs(const Function& f, Device& device, Device& place);
  /// Nothing is written directly that shares memory with inputs of the run.
  void keep_apart(std::span<const TensorView> inputs);
  /// Throws invalid_argument if the host would have to copy a result after the device's work.
  void check_asynchronous() const;
  /// Knows the sizes of the results: throws invalid_argument if dtype or sizes of a tensor are not those of its result,
  /// or makes the new memory.
  void expect(std::span<const Placed> results);
  /// Has kernels write results to the caller's memory where nothing else can notice.
  void place(const Plan& plan, std::span<TensorView> args) const;
  /// Whether the caller's memory holds result `i` without a copy if it is written there at once.
  bool direct(std::size_t i) const { return direct_[i]; }
  /// Whether it is memory of the device.
  bool there(std::size_t i) const { return there_[i]; }
  /// Whether kernels write result `i` there, once place() has been called.
  bool in_place(std::size_t i) const { return direct_[i] && there_[i] != host_memory_; }
  /// The caller's memory for result `i`; `data` is null if the caller does not want the result.
  const TensorView& view(std::size_t i) const { return views_[i]; }
  std::size_t size() const { return views_.size(); }
  /// Whether copies of the results before result `i` overwrite it: it is an input whose memory takes one of them.
  bool loses(std::span<const TensorView> results, std::size_t i) const;
  /// Copies the results that are elsewhere.
  void copy(std::span<const TensorView> results) const;
  /// Of the caller, or the new memory.
  const std::vector<Tensor>& tensors() const { return tensors_; }
  /// The tensors that the caller gave as the session's results; none where it takes the new memory away.
  void show(std::vector<Tensor>& outputs) const;
  std::vector<Tensor> take() { return std::move(tensors_); }

 private:
  void check(std::span<const Placed> results) const;

  const Function& f_;
  Device& device_;
  Device* fresh_ = nullptr;  ///< where results get new memory; null: in tensors_
  bool host_memory_;         ///< of the device: nothing is elsewhere
  std::vector<Tensor> tensors_;
  std::vector<TensorView> views_;
  std::vector<bool> direct_, there_;
};

}  // namespace tern
