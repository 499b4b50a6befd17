// One function for each level (dtypes/cpu_level.h) of this architecture. A family of loops is an .inc file, which
// CMake's tern_levels compiles once for each level with TERN_LEVEL defined; it names what others call with
// TERN_AT_LEVEL.
#pragma once

#include "dtypes/cpu_level.h"

namespace tern {

template <class F>
struct AtLevel {
  CpuLevel level;
  F* call;
};

/// Calls f(call) for each level that this processor has, least first.
template <class Table, class F>
void for_levels(const Table& table, F&& f) {
  for (const auto& at : table) {
    if (at.level <= cpu_level()) f(at.call);
  }
}

/// The function of the best level that this processor has.
template <class Table>
auto best_level(const Table& table) {
  auto best = table[0].call;
  for_levels(table, [&](auto call) { best = call; });
  return best;
}

}  // namespace tern

#define TERN_LEVEL_DECLARATION(level, name, ...) void name##_##level(__VA_ARGS__);
#define TERN_LEVEL_ENTRY(level, name) {CpuLevel::level, name##_##level},
/// Declares void name_LEVEL(...) for each level, and name_levels, a table of them.
#define TERN_LEVEL_FUNCTIONS(name, ...)                      \
  TERN_EACH_LEVEL(TERN_LEVEL_DECLARATION, name, __VA_ARGS__) \
  inline constexpr AtLevel<void(__VA_ARGS__)> name##_levels[] = {TERN_EACH_LEVEL(TERN_LEVEL_ENTRY, name)};

#define TERN_LEVEL_JOIN_TWO(name, level) name##_##level
#define TERN_LEVEL_JOIN(name, level) TERN_LEVEL_JOIN_TWO(name, level)
/// name_LEVEL, in an .inc file.
#define TERN_AT_LEVEL(name) TERN_LEVEL_JOIN(name, TERN_LEVEL)
