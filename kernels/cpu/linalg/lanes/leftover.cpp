#include <vector>

#include "kernels/cpu/linalg/lanes/lanes.h"

namespace tern::cpu::lanes {

void run_any_leftover(const AnyJob& job, const Leftover& leftover, Failure& failure) {
  std::vector<std::byte> memory(job.scratch + 64);
  const auto past = reinterpret_cast<std::uintptr_t>(memory.data()) % 64;
  const OpenMpScope openmp;
  for (std::int64_t i : leftover.ascending()) job.matrices(job.job, memory.data() + (64 - past), i, i + 1, failure);
  if (leftover.failure.exists()) failure.report(leftover.failure.matrix(), leftover.failure.kind());
}

}  // namespace tern::cpu::lanes
