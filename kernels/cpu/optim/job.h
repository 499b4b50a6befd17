// A step over a list of tensors of any sizes. Threads share the elements: several threads may update a tensor, and a
// thread may update thousands of tensors.
#pragma once

#include <tern/dtype.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/cpu/optim/settings.h"
#include "schema/optim.h"

namespace tern::cpu {

/// The memory of a parameter's tensors, by OptimList. Elements of large lists are adjacent.
struct OptimTensors {
  std::array<const std::byte*, kOptimLists> in{};
  std::array<std::byte*, kOptimLists> out{};  ///< null if unused
};

/// Access to the tensors of a job.
class OptimMemory {
 public:
  virtual ~OptimMemory() = default;
  virtual OptimTensors tensors(std::size_t i) const = 0;
};

struct OptimJob {
  OptimOptions options;
  /// Type of each list; invalid: absent. Lists with scales consist of whole blocks in every parameter.
  std::array<DType, kOptimLists> dtypes{};
  std::span<const std::int64_t> element_ends;  ///< running sums of the parameters' element counts
  bool shared_step = true;                     ///< a common step for all parameters
  const OptimMemory* list = nullptr;
};

/// Runs on the kernel threads. Advanced numbers are written after all elements.
void run_optim(const OptimJob& job);

}  // namespace tern::cpu
