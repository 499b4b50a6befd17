// Loops compiled for the instruction sets of dtypes/cpu_level.h. Codes and scales do not depend on which one runs.
#pragma once

#include <type_traits>

#include "dtypes/cpu_level.h"

#define TERN_INLINE [[gnu::always_inline]] inline

namespace tern::quantize {

#if TERN_X86_LEVELS
template <class F>
[[gnu::target("avx512f,avx512bw,avx512vl,avx512dq,fma")]] void run_avx512(const F& f) {
  f(std::true_type{});
}
template <class F>
[[gnu::target("avx2,fma")]] void run_avx2(const F& f) {
  f(std::true_type{});
}
#endif

/// Runs f, whose call operator must be always_inline, with the widest instructions of this processor. Its argument says
/// whether these multiply and add in one.
template <class F>
void at_cpu_level(const F& f) {
#if TERN_X86_LEVELS
  if (cpu_level() >= CpuLevel::avx512) return run_avx512(f);
  if (cpu_level() >= CpuLevel::avx2) return run_avx2(f);
#endif
#if defined(__FMA__) || defined(__aarch64__)
  f(std::true_type{});
#else
  f(std::false_type{});
#endif
}

}  // namespace tern::quantize
