#include "kernels/cpu/processor.h"

#include <bit>

#include "dtypes/cpu_features.h"
#include "kernels/cpu/products/tiles/rows.h"

namespace tern::cpu {

Precision resolved(Precision precision) {
  if (precision != Precision::automatic) return precision;
  // Processors of the least level widen slowly.
  return is_baseline_cpu() && !tiles::rows_possible() ? Precision::exported : Precision::bfloat16;
}

std::string processor() {
#if defined(__aarch64__)
  // Extensions of NEON are levels without loops over vectors.
  const auto level = static_cast<CpuLevel>(std::bit_width(cpu_features().levels) - 1);
#else
  const CpuLevel level = cpu_level(CpuKind::tiles).value_or(cpu_level());
#endif
  return cpu_features().model + ' ' + std::string(name_of(level));
}

}  // namespace tern::cpu
