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

class CallerOutputs {
 public:
  /// Results go to `tensors`. Throws invalid_argument if they are not one for each result, or read-only.
  CallerOutputs(const Function& f, std::span<const Tensor> tensors);
  /// Results go to new memory, which take() gives.
  explicit CallerOutputs(const Function& f)
      : f_(f), views_(f.outputs.size()), direct_(f.outputs.size()), fresh_(true) {}
  /// Nothing is written directly that shares memory with inputs of the run, which are on the host.
  void keep_apart(std::span<const TensorView> inputs);
  /// Knows the sizes of the results: throws invalid_argument if dtype or sizes of a tensor are not those of its result,
  /// or makes the new memory.
  void expect(std::span<const Placed> results);
  /// Has kernels write results to the caller's memory where nothing else can notice.
  void place(const Plan& plan, std::span<TensorView> args) const;
  /// Whether the caller's memory holds result `i` without a copy if it is written there at once.
  bool direct(std::size_t i) const { return direct_[i]; }
  /// The caller's memory for result `i`; `data` is null if the caller does not want the result.
  const TensorView& view(std::size_t i) const { return views_[i]; }
  std::size_t size() const { return views_.size(); }
  /// Copies the results that are elsewhere.
  void copy(std::span<const TensorView> results) const;
  /// The tensors that the caller gave as the session's results; none where it takes the new memory away.
  void show(std::vector<Tensor>& outputs) const;
  std::vector<Tensor> take() { return std::move(tensors_); }

 private:
  void check(std::span<const Placed> results) const;

  const Function& f_;
  std::vector<Tensor> tensors_;
  std::vector<TensorView> views_;
  std::vector<bool> direct_;
  bool fresh_ = false;
};

}  // namespace tern
