#include "kernels/cpu/products/int8/methods.h"

#include <tern/error.h>

#include <vector>

#include "kernels/cpu/products/int8/dot_microkernel.h"

namespace tern::integer {

#if TERN_X86_LEVELS
namespace {

// Intel's manual, volume 2, CPUID leaf 7: edx of subleaf 0, ecx of subleaf 0, eax of subleaf 1.
constexpr unsigned kInt8Tiles = 1u << 25, kAvx512Vnni = 1u << 11, kAvxVnni = 1u << 4;

struct Instructions {
  bool tiles = false, avx512vnni = false, avxvnni = false;
};

Instructions find() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return {};
  Instructions found{.tiles = amx::available() && (d & kInt8Tiles) != 0,
                     .avx512vnni = cpu_level() == CpuLevel::avx512 && (c & kAvx512Vnni) != 0};
  if (a != 0 && __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0)
    found.avxvnni = cpu_level() >= CpuLevel::avx2 && (a & kAvxVnni) != 0;
  return found;
}

const Instructions& instructions() {
  static const Instructions found = find();
  return found;
}

}  // namespace
#endif

std::span<const Method> methods() {
  static const std::vector<Method> found = [] {
    std::vector<Method> list;
#if TERN_X86_LEVELS
    const Instructions& has = instructions();
    if (has.tiles)
      list.push_back({.name = "tiles",
                      .layout = Layout::groups,
                      .tiles = true,
                      .step_cycles = 2 * 16,
                      .multiply = multiply_on_tiles});
    if (has.avx512vnni)
      list.push_back({.name = "avx512vnni",
                      .layout = Layout::groups,
                      .flips = true,
                      .step_cycles = 16 * 16,
                      .multiply = multiply_avx512vnni});
    if (has.avxvnni)
      list.push_back({.name = "avxvnni",
                      .layout = Layout::groups,
                      .flips = true,
                      .step_cycles = 32 * 16,
                      .multiply = multiply_avxvnni});
#endif
    list.push_back({.name = "dots",
                    .layout = Layout::rows,
                    .step_cycles = 128 * 16,
                    .multiply = best_level(multiply_by_dots_levels)});
    return list;
  }();
  return found;
}

Dots best_dots() {
#if TERN_X86_LEVELS
  if (instructions().avx512vnni) return dots_avx512vnni;
#endif
  return best_level(dots_levels);
}

}  // namespace tern::integer
