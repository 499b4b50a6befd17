// The instruction sets ("levels") of compiled loops, and detection of the processor's level. TERN_CPU in the
// environment (baseline, avx2, avx512) lowers the level, for tests.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__) && !defined(TERN_ONE_CPU_LEVEL)  // TERN_CPU_LEVELS of CMake
#define TERN_X86_LEVELS 1
#include <cpuid.h>

#include <cstdlib>
#include <string_view>
#else
#define TERN_X86_LEVELS 0
#endif

/// DO(level, ...) for each level of this architecture, lowest first. kernels/CMakeLists.txt has their flags.
#if TERN_X86_LEVELS
#define TERN_EACH_LEVEL(DO, ...) \
  DO(baseline __VA_OPT__(, ) __VA_ARGS__) DO(avx2 __VA_OPT__(, ) __VA_ARGS__) DO(avx512 __VA_OPT__(, ) __VA_ARGS__)
#elif defined(__aarch64__)
#define TERN_EACH_LEVEL(DO, ...) DO(neon __VA_OPT__(, ) __VA_ARGS__)
#else
#define TERN_EACH_LEVEL(DO, ...) DO(baseline __VA_OPT__(, ) __VA_ARGS__)
#endif

namespace tern {

/// avx2 includes fma and f16c; avx512 is F, BW, VL and DQ. Every aarch64 processor has neon.
enum class CpuLevel { baseline, neon = baseline, avx2, avx512 };

inline CpuLevel cpu_level() {
#if TERN_X86_LEVELS
  static const CpuLevel level = [] {
    const char* wanted = std::getenv("TERN_CPU");
    const std::string_view most = wanted != nullptr ? wanted : "";
    unsigned a = 0, b = 0, c = 0, d = 0;
    const bool f16c = __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
    __builtin_cpu_init();
    if (!f16c || !__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || most == "baseline")
      return CpuLevel::baseline;
    const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
    return avx512 && most != "avx2" ? CpuLevel::avx512 : CpuLevel::avx2;
  }();
  return level;
#else
  return CpuLevel::baseline;
#endif
}

}  // namespace tern
