#include <vector>

#include "kernels/cpu/linalg/lanes/lanes.h"

namespace tern::cpu::lanes {

void run_leftover(const AnyJob& job, const Leftover& leftover, Failure& failure) {
  ScratchParts counted;
  job.cut(job.job, counted);
  std::vector<std::byte> memory(counted.used() + 64);
  const auto past = reinterpret_cast<std::uintptr_t>(memory.data()) % 64;
  ScratchParts parts(memory.data() + (64 - past));
  job.cut(job.job, parts);
  const OpenMpScope openmp;
  for (std::int64_t i : leftover.ascending()) job.one(job.job, i, failure);
  if (leftover.failure.any()) failure.report(leftover.failure.matrix(), leftover.failure.info());
}

}  // namespace tern::cpu::lanes
