// A call of a library's operator, for the sizes of one plan.
#pragma once

#include <tern/custom_op.h>

#include <functional>
#include <string>
#include <vector>

#include "kernels/custom/groups.h"
#include "kernels/kernel.h"
#include "schema/custom_arguments.h"

namespace tern {

class CustomCall {
 public:
  /// Asks the operator for its results' types. Fails where it refuses its arguments, or where the exported program has
  /// other results.
  explicit CustomCall(const KernelCall& c);
  CustomCall(const CustomCall&) = delete;
  CustomCall& operator=(const CustomCall&) = delete;

  const std::string& name() const { return name_; }
  const std::vector<tern_tensor>& results() const { return results_; }
  /// Runs the operator on the host, on elements at these addresses; null for an unused result. It may communicate by
  /// `groups`. Several threads may do so at the same time.
  void run(const std::vector<void*>& in, const std::vector<void*>& out, OperatorGroups& groups) const;
  /// How a device runs it. Only where its library has a kernel for it.
  tern_op_plan plan(const tern_op_kernel& kernel) const;

 private:
  /// What the operator is given: descriptions that point into the lists beside them.
  struct Operands {
    std::vector<tern_tensor> tensors, results;
    std::vector<tern_argument> arguments;
  };
  Operands operands() const;
  void invoke(Operands& operands, const std::function<int(tern_op_call*)>& function, const char* what,
              const OperatorGroups* groups = nullptr) const;

  std::string name_;
  const tern_op* op_ = nullptr;
  std::vector<CustomArgument> arguments_;
  std::vector<std::int64_t> integers_;
  std::vector<double> numbers_;
  std::vector<tern_tensor> tensors_, results_;  ///< without addresses
};

}  // namespace tern
