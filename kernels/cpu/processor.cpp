#include "kernels/cpu/processor.h"

#include <fmt/format.h>

#include "dtypes/cpu_level.h"
#include "kernels/cpu/products/tiles/split_microkernel.h"

namespace tern::cpu {
namespace {

/// CPUID leaves 0 and 1, as Intel's and AMD's manuals add family and model up.
std::string model() {
#if TERN_X86_LEVELS
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(0, &a, &b, &c, &d) == 0) return "x86-64";
  std::string maker;
  for (const unsigned four : {b, d, c}) {
    for (int i = 0; i < 4; ++i) {
      const char letter = static_cast<char>(four >> 8 * i & 0xff);
      maker += letter > ' ' && letter <= '~' ? letter : '_';
    }
  }
  __get_cpuid(1, &a, &b, &c, &d);
  const unsigned base = a >> 8 & 0xf, family = base + (base == 0xf ? a >> 20 & 0xff : 0),
                 number = (a >> 4 & 0xf) + (base == 0x6 || base == 0xf ? (a >> 16 & 0xf) << 4 : 0);
  return fmt::format("{} {}.{}.{}", maker, family, number, a & 0xf);
#elif defined(__aarch64__)
  return "aarch64";
#else
  return "unknown";
#endif
}

struct Level {
  CpuLevel level;
  const char* name;
};
#define TERN_LEVEL_NAME(level) {CpuLevel::level, #level},
constexpr Level kLevels[] = {TERN_EACH_LEVEL(TERN_LEVEL_NAME)};

const char* level() {
  if (amx::available()) return "amx";
  const char* name = "";
  for (const Level& l : kLevels) {
    if (l.level <= cpu_level()) name = l.name;
  }
  return name;
}

}  // namespace

Precision resolved(Precision precision) {
  if (precision != Precision::automatic) return precision;
  // Processors without AVX2 widen slowly.
  return cpu_level() == CpuLevel::baseline ? Precision::exported : Precision::bfloat16;
}

std::string processor() {
  return fmt::format("{} {}", model(), level());
}

}  // namespace tern::cpu
