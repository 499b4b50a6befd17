// Which of the instruction sets that loops are compiled for this processor has. TERN_CPU in the environment (baseline,
// avx2, avx512) takes no more than that, for tests.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__) && !defined(TERN_ONE_CPU_LEVEL)  // TERN_CPU_LEVELS of CMake
#define TERN_X86_LEVELS 1
#include <cpuid.h>

#include <cstdlib>
#include <string_view>
#else
#define TERN_X86_LEVELS 0
#endif

namespace tern {

enum class CpuLevel { baseline, avx2, avx512 };  // avx2 includes f16c; avx512 is F, BW, VL and DQ

inline CpuLevel cpu_level() {
#if TERN_X86_LEVELS
  static const CpuLevel level = [] {
    const char* wanted = std::getenv("TERN_CPU");
    const std::string_view most = wanted != nullptr ? wanted : "";
    unsigned a = 0, b = 0, c = 0, d = 0;
    const bool f16c = __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
    __builtin_cpu_init();
    if (!f16c || !__builtin_cpu_supports("avx2") || most == "baseline") return CpuLevel::baseline;
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

// TERN_SET_FOR_LEVEL(set, out...) fills a table of loops: with set_baseline, then with those of this processor's level,
// set_avx2 or set_avx512. On other architectures the baseline is the only level.
#if TERN_X86_LEVELS
#define TERN_SET_FOR_LEVEL(set, ...)                                                \
  do {                                                                              \
    set##_baseline(__VA_ARGS__);                                                    \
    if (::tern::cpu_level() == ::tern::CpuLevel::avx2) set##_avx2(__VA_ARGS__);     \
    if (::tern::cpu_level() == ::tern::CpuLevel::avx512) set##_avx512(__VA_ARGS__); \
  } while (false)
#else
#define TERN_SET_FOR_LEVEL(set, ...) set##_baseline(__VA_ARGS__)
#endif
