#include "kernels/cpu/processor.h"

#include "dtypes/cpu_features.h"

namespace tern::cpu {

Precision resolved(Precision precision) {
  if (precision != Precision::automatic) return precision;
  // Processors of the least level widen slowly.
  return is_baseline_cpu() ? Precision::exported : Precision::bfloat16;
}

std::string processor() {
  const CpuLevel level = cpu_level(CpuKind::tiles).value_or(cpu_level());
  return cpu_features().model + ' ' + std::string(name_of(level));
}

}  // namespace tern::cpu
