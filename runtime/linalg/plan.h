// Decisions shared by nodes with operands of equal types, sizes and strides: results, kernel, kernel state.
#pragma once

#include <tern/tensor.h>

#include <memory>
#include <span>
#include <vector>

#include "kernels/kernel.h"

namespace tern::linalg {

/// A requested node: the complete key of its plan.
struct Request {
  Op op = Op::invalid;
  std::vector<Attr> attrs;
  std::vector<TensorView> operands;  ///< views without data
  unsigned unwanted = 0;             ///< bit k: result k is not computed
  int threads = 1;

  bool operator==(const Request& other) const;
};

struct Plan {
  Request request;
  Node node;
  std::vector<TensorView> in, out;  ///< views without data; `in` as read by the kernel
  unsigned made_dense = 0;          ///< bit i: the kernel cannot read the strides of operand i
  const Kernel* kernel = nullptr;
  std::unique_ptr<KernelState> state;
  std::size_t scratch = 0;  ///< bytes
};

/// Returns this thread's plan for the request: one of the last sixteen, or a new plan. Throws if types or sizes do not
/// fit. The request's thread scope must be current.
std::shared_ptr<const Plan> plan_for(Request request);

/// Creates the call without data. The call refers to all three arguments.
KernelCall call_of(const Plan& plan, std::span<TensorView> in, std::span<TensorView> out);

}  // namespace tern::linalg
