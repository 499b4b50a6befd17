// Loops that are compiled once for each level of a kind (dtypes/cpu_levels.cmake), and the choice between them.
//
// A family of loops is an .inc file. CMake's tern_levels compiles it once for each level with TERN_LEVEL defined; the
// file names its functions with TERN_AT_LEVEL. The family's header declares them with TERN_LEVEL_FUNCTIONS, and
// best_level takes the processor's. Short loops of one file are lambdas for visit_cpu_level instead.
#pragma once

#include <type_traits>

#include "dtypes/cpu_features.h"

namespace tern {

template <class F>
struct AtLevel {
  CpuLevel level;
  F* call;  ///< null in the first entry, so that no table is empty
};

/// Calls f(call) for each level that this processor has, least first.
template <class Table, class F>
void for_each_level(const Table& table, F&& f) {
  for (const auto& at : table) {
    if (at.call != nullptr && cpu_features().has(at.level)) f(at.call);
  }
}

/// The function of the best level that this processor has; null if none runs here.
template <class Table>
auto best_level(const Table& table) {
  auto best = table[0].call;
  for_each_level(table, [&](auto call) { best = call; });
  return best;
}

/// The loops that the best level's function fills in; as constructed if none runs here.
template <class Loops, class Table>
Loops best_loops(const Table& fill) {
  Loops loops;
  if (const auto best = best_level(fill); best != nullptr) best(&loops);
  return loops;
}

#define TERN_RUN_AT_LEVEL(level, targets)                    \
  template <class F>                                         \
  [[gnu::target(targets)]] void run_at_##level(const F& f) { \
    f(std::true_type{});                                     \
  }
TERN_EACH_CPU_TARGET(TERN_RUN_AT_LEVEL)
#undef TERN_RUN_AT_LEVEL

#if defined(__aarch64__)
using LeastLevelFuses = std::true_type;
#else
using LeastLevelFuses = std::false_type;
#endif

/// Runs f, whose call operator must be always_inline, compiled for the best level of CpuKind::vectors. Its argument
/// says whether that multiplies and adds in one instruction.
template <class F>
void visit_cpu_level(const F& f) {
  switch (cpu_level()) {
#define TERN_CASE_OF_LEVEL(level, targets) \
  case CpuLevel::level: return run_at_##level(f);
    TERN_EACH_CPU_TARGET(TERN_CASE_OF_LEVEL)
#undef TERN_CASE_OF_LEVEL
    default: f(LeastLevelFuses{});
  }
}

#define TERN_LEVEL_OF_TARGET(level, targets) CpuLevel::level,
/// The levels of visit_cpu_level after the least one.
inline constexpr CpuLevel kTargetLevels[] = {CpuLevel{}, TERN_EACH_CPU_TARGET(TERN_LEVEL_OF_TARGET)};
#undef TERN_LEVEL_OF_TARGET

/// The same with the first of these levels as the best one: for large loops of types that are rare.
template <class F>
void visit_first_cpu_level(const F& f) {
#define TERN_RUN_AT_FIRST_LEVEL(level, targets)                        \
  if constexpr (CpuLevel::level == kTargetLevels[1]) {                 \
    if (cpu_features().has(CpuLevel::level)) return run_at_##level(f); \
  }
  TERN_EACH_CPU_TARGET(TERN_RUN_AT_FIRST_LEVEL)
#undef TERN_RUN_AT_FIRST_LEVEL
  f(LeastLevelFuses{});
}

}  // namespace tern

#define TERN_LEVEL_DECLARATION(level, name, ...) void name##_##level(__VA_ARGS__);
#define TERN_LEVEL_ENTRY(level, name) {CpuLevel::level, name##_##level},
/// Declares void name_LEVEL(...) for each level of the kind, and name_levels, a table of them.
#define TERN_LEVEL_FUNCTIONS(kind, name, ...)                                                                   \
  TERN_EACH_LEVEL_##kind(TERN_LEVEL_DECLARATION, name, __VA_ARGS__) inline constexpr AtLevel<void(__VA_ARGS__)> \
      name##_levels[] = {{CpuLevel{}, nullptr}, TERN_EACH_LEVEL_##kind(TERN_LEVEL_ENTRY, name)};

#define TERN_LEVEL_JOIN_TWO(name, level) name##_##level
#define TERN_LEVEL_JOIN(name, level) TERN_LEVEL_JOIN_TWO(name, level)
/// name_LEVEL, in an .inc file.
#define TERN_AT_LEVEL(name) TERN_LEVEL_JOIN(name, TERN_LEVEL)
