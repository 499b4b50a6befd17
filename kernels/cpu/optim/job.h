// A step over a list of tensors of any sizes, divided among threads by elements: a tensor may be the work of several
// threads, and a thread may have thousands of tensors.
#pragma once

#include <tern/dtype.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/cpu/optim/settings.h"
#include "schema/optim.h"

namespace tern::cpu {

/// The memory of one parameter's tensors, by OptimList. Large lists have elements side by side.
struct OptimTensors {
  std::array<const std::byte*, kOptimLists> in{};
  std::array<std::byte*, kOptimLists> out{};  ///< null where nobody wants the result
};

/// What a job works on.
class OptimMemory {
 public:
  virtual ~OptimMemory() = default;
  virtual OptimTensors tensors(std::size_t i) const = 0;
};

struct OptimJob {
  OptimOptions options;
  /// Of each list; invalid where there is none. Where states have scales, all parameters have whole blocks of them.
  std::array<DType, kOptimLists> dtypes{};
  std::span<const std::int64_t> ends;  ///< elements of the parameters up to each, running sums
  bool shared_step = true;             ///< one step for all parameters
  const OptimMemory* list = nullptr;
};

/// Runs on the threads of kernels. Numbers that advance are written after all elements.
void run_optim(const OptimJob& job);

}  // namespace tern::cpu
