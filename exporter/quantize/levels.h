// Loops compiled for the instruction sets of dtypes/cpu_level.h. Their results do not depend on which one runs.
#pragma once

#include "dtypes/cpu_level.h"

#define TERN_INLINE [[gnu::always_inline]] inline

namespace tern::quantize {

#if TERN_X86_LEVELS
template <class F>
[[gnu::target("avx512f,avx512bw,avx512vl,avx512dq")]] void run_avx512(const F& f) {
  f();
}
template <class F>
[[gnu::target("avx2")]] void run_avx2(const F& f) {
  f();
}
#endif

/// Runs f, whose call operator must be always_inline, with the widest instructions of this processor.
template <class F>
void at_cpu_level(const F& f) {
#if TERN_X86_LEVELS
  if (cpu_level() >= CpuLevel::avx512) return run_avx512(f);
  if (cpu_level() >= CpuLevel::avx2) return run_avx2(f);
#endif
  f();
}

}  // namespace tern::quantize
