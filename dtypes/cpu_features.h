// The processor that runs this process: the one place that asks it. dtypes/cpu_levels.cmake lists the instruction sets
// ("levels"). Two variables of the environment limit them, for tests: TERN_CPU (baseline, avx2, avx512; on aarch64
// neon, dotprod, i8mm, bf16) allows that level and what builds on it or on less, TERN_AMX=0 takes matrix tiles away.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "dtypes/cpu_levels.h"

namespace tern {

#define TERN_LEVEL_NAME(level, base) level,
/// The levels that loops are compiled for, least first. `baseline` is the least one of every architecture.
enum class CpuLevel : std::uint8_t { TERN_EACH_CPU_LEVEL(TERN_LEVEL_NAME) };
#undef TERN_LEVEL_NAME

#define TERN_KIND_NAME(kind) kind,
/// The families of loops, by the levels that they are compiled for.
enum class CpuKind : std::uint8_t { TERN_EACH_CPU_KIND(TERN_KIND_NAME) };
#undef TERN_KIND_NAME

struct CpuFeatures {
  std::string model;         ///< maker, family, model and stepping, as "AuthenticAMD 25.17.1"
  bool is_intel = false;     ///< Intel made it
  std::uint32_t levels = 1;  ///< a bit for each CpuLevel

  bool has(CpuLevel level) const { return (levels >> static_cast<unsigned>(level) & 1) != 0; }
};

/// Read once in a process.
const CpuFeatures& cpu_features();

/// The best level of a kind that this processor has; none if loops of that kind do not run here.
std::optional<CpuLevel> cpu_level(CpuKind kind);
/// The best level of CpuKind::vectors.
CpuLevel cpu_level();
/// True if the processor has no more than its architecture promises.
inline bool is_baseline_cpu() {
  return cpu_level() == CpuLevel{};
}

std::string_view name_of(CpuLevel level);

}  // namespace tern
