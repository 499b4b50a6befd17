// A call of a library's operator, for the sizes of a plan.
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
  /// Infers the types of the operator's results. Fails if the operator refuses the arguments, or if the results differ
  /// from the exported program's.
  explicit CustomCall(const KernelCall& c);
  CustomCall(const CustomCall&) = delete;
  CustomCall& operator=(const CustomCall&) = delete;

  const std::string& name() const { return name_; }
  const std::vector<tern_tensor>& results() const { return results_; }
  /// Runs the operator on the host, on elements at these addresses; null for an unused result. The operator may
  /// communicate through `groups`. Several threads may call this at the same time.
  void run(const std::vector<void*>& in, const std::vector<void*>& out, OperatorGroups& groups) const;
  /// The operator's plan on a device. Only for operators with a kernel in their library.
  tern_op_plan plan(const tern_op_kernel& kernel) const;

 private:
  /// The operator's arguments: descriptions pointing into the lists in this struct.
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
