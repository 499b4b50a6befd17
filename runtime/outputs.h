// Results that a run writes to memory of the caller's.
#pragma once

#include <tern/tensor.h>

#include <span>
#include <vector>

#include "kernels/kernel.h"
#include "runtime/plan/plan.h"
#include "schema/program.h"

namespace tern {

class CallerOutputs {
 public:
  /// `inputs`: those of the run, on the host. Throws invalid_argument if `tensors` are not one for each result, or
  /// read-only.
  CallerOutputs(const Function& f, std::span<const Tensor> tensors, std::span<const TensorView> inputs);
  /// Throws invalid_argument if dtype or sizes of a tensor are not those of its result.
  void check(std::span<const Placed> results) const;
  /// Has kernels write results to the caller's memory where nothing else can notice.
  void place(const Plan& plan, std::span<TensorView> args) const;
  /// Whether the caller's memory holds result `i` without a copy if it is written there at once.
  bool direct(std::size_t i) const { return direct_[i]; }
  /// The caller's memory for result `i`; `data` is null if the caller does not want the result.
  const TensorView& view(std::size_t i) const { return views_[i]; }
  std::size_t size() const { return views_.size(); }
  /// Copies the results that are elsewhere.
  void copy(std::span<const TensorView> results) const;

 private:
  const Function& f_;
  std::vector<TensorView> views_;
  std::vector<bool> direct_;
};

}  // namespace tern
