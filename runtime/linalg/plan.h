// What is decided about a node once for operands of the same types, sizes and strides: results, kernel, its state.
#pragma once

#include <tern/tensor.h>

#include <memory>
#include <span>
#include <vector>

#include "kernels/kernel.h"

namespace tern::linalg {

/// What a node is asked for, and all that its plan depends on.
struct Request {
  Op op = Op::invalid;
  std::vector<Attr> attrs;
  std::vector<TensorView> operands;  ///< without data
  unsigned unwanted = 0;             ///< bit k: result k is left out
  int threads = 1;

  bool operator==(const Request& other) const;
};

struct Plan {
  Request request;
  Node node;
  std::vector<TensorView> in, out;  ///< without data; `in` as the kernel reads it
  unsigned made_dense = 0;          ///< bit i: operand i has strides that the kernel cannot read
  const Kernel* kernel = nullptr;
  std::unique_ptr<KernelState> state;
  std::size_t scratch = 0;  ///< bytes
};

/// The plan of this thread for the request: one of the last sixteen, or a new one. Throws where types or sizes do not
/// fit. Its scope of threads is in force.
std::shared_ptr<const Plan> plan_for(Request request);

/// The call without data. It refers to all three.
KernelCall call_of(const Plan& plan, std::span<TensorView> in, std::span<TensorView> out);

}  // namespace tern::linalg
