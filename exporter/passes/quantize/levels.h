// Loops compiled for the levels of dtypes/cpu_levels.cmake. Codes and scales do not depend on the level that runs.
#pragma once

#include <type_traits>

#include "dtypes/levels.h"

#define TERN_INLINE [[gnu::always_inline]] inline

namespace tern::quantize {

/// Runs f as tern::visit_cpu_level. Its argument says whether the instructions multiply and add in one, on the
/// baseline, too.
template <class F>
void run_at_cpu_level(const F& f) {
#if defined(__FMA__) || defined(__aarch64__)
  tern::visit_cpu_level([&](auto) __attribute__((always_inline)) { f(std::true_type{}); });
#else
  tern::visit_cpu_level(f);
#endif
}

}  // namespace tern::quantize
