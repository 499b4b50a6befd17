#include "dtypes/cpu_features.h"

#include <iterator>

#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>
#endif

#include "platform/environment.h"
#include "platform/machine.h"

namespace tern {
namespace {

struct CpuLevelRecord {
  std::string_view name, base;
};
#define TERN_LEVEL_RECORD(level, base) {#level, #base},
constexpr CpuLevelRecord kCpuLevels[] = {TERN_EACH_CPU_LEVEL(TERN_LEVEL_RECORD)};
#undef TERN_LEVEL_RECORD
constexpr std::size_t kCpuLevelCount = std::size(kCpuLevels);
static_assert(kCpuLevelCount <= 32);

#define TERN_LEVEL_BIT(level) | 1u << static_cast<unsigned>(CpuLevel::level)
#define TERN_KIND_LEVELS(kind) 0u TERN_EACH_LEVEL_##kind(TERN_LEVEL_BIT),
/// The levels of each kind.
constexpr std::uint32_t kCpuKindLevels[] = {TERN_EACH_CPU_KIND(TERN_KIND_LEVELS)};
#undef TERN_KIND_LEVELS
#undef TERN_LEVEL_BIT

#if defined(__x86_64__) && defined(__GNUC__)

struct CpuIdRegisters {
  unsigned a = 0, b = 0, c = 0, d = 0;
};

CpuIdRegisters cpu_id(unsigned leaf, unsigned subleaf = 0) {
  CpuIdRegisters r;
  if (__get_cpuid_count(leaf, subleaf, &r.a, &r.b, &r.c, &r.d) == 0) return {};
  return r;
}

std::string maker_of(const CpuIdRegisters& zero) {
  std::string maker;
  for (const unsigned four : {zero.b, zero.d, zero.c}) {
    for (int i = 0; i < 4; ++i) {
      const char letter = static_cast<char>(four >> 8 * i & 0xff);
      maker += letter > ' ' && letter <= '~' ? letter : '_';
    }
  }
  return maker;
}

/// Adds up CPUID leaf 1 as Intel's and AMD's manuals do: family, model and stepping.
std::string version_of(unsigned a) {
  const unsigned base = a >> 8 & 0xf, family = base + (base == 0xf ? a >> 20 & 0xff : 0),
                 number = (a >> 4 & 0xf) + (base == 0x6 || base == 0xf ? (a >> 16 & 0xf) << 4 : 0);
  return std::to_string(family) + '.' + std::to_string(number) + '.' + std::to_string(a & 0xf);
}

/// True if the system saves the registers with these bits of XCR0 (Intel's manual, volume 1, 13.3).
bool saves_registers(unsigned bits) {
  if ((cpu_id(1).c & bit_OSXSAVE) == 0) return false;
  unsigned low = 0, high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (low & bits) == bits;
}

/// True if the processor, and the system, have the instructions of a level's flags (dtypes/cpu_levels.cmake).
/// CPUID is read here: __builtin_cpu_supports denies all in some compilers' libraries for Windows.
bool has_instructions(std::string_view level) {
  constexpr unsigned kYmm = 0b110, kZmm = 0b1110'0110;
  constexpr unsigned kOne = bit_F16C | bit_FMA | bit_AVX,
                     kSeven = bit_AVX512F | bit_AVX512DQ | bit_AVX512BW | bit_AVX512VL;
  const CpuIdRegisters seven = cpu_id(7), more = seven.a == 0 ? CpuIdRegisters{} : cpu_id(7, 1);
  if (level == "baseline") return true;
  if (level == "avx2") return (cpu_id(1).c & kOne) == kOne && (seven.b & bit_AVX2) != 0 && saves_registers(kYmm);
  if (level == "avxvnni") return has_instructions("avx2") && (more.a & 1u << 4) != 0;
  if (level == "avx512") return has_instructions("avx2") && (seven.b & kSeven) == kSeven && saves_registers(kZmm);
  if (!has_instructions("avx512")) return false;
  if (level == "avx512vnni") return (seven.c & 1u << 11) != 0;
  if (level == "avx512vbmi") return has_instructions("avx512vnni") && (seven.c & 1u << 1) != 0;
  if (level == "avx512bf16") return (more.a & 1u << 5) != 0;
  const bool tiles = (seven.d & 1u << 24) != 0 && (seven.d & 1u << 22) != 0 && has_instructions("avx512bf16") &&
                     platform::variable_is_on("TERN_AMX", true);
  if (level == "amx") return tiles && platform::allow_matrix_tiles();
  if (level == "amxint8") return tiles && (seven.d & 1u << 25) != 0 && platform::allow_matrix_tiles();
  return false;
}

CpuFeatures identified() {
  const CpuIdRegisters zero = cpu_id(0);
  if (zero.a == 0) return {.model = "x86-64"};
  const std::string maker = maker_of(zero);
  return {.model = maker + ' ' + version_of(cpu_id(1).a), .is_intel = maker == "GenuineIntel"};
}

#elif defined(__aarch64__)

bool has_instructions(std::string_view level) {
  if (level == "dotprod") return platform::has_extension("asimddp");
  if (level == "i8mm") return has_instructions("dotprod") && platform::has_extension("i8mm");
  return level == kCpuLevels[0].name || platform::has_extension(level);
}

CpuFeatures identified() {
  return {.model = "aarch64"};
}

#else

bool has_instructions(std::string_view level) {
  return level == kCpuLevels[0].name;
}

CpuFeatures identified() {
  return {.model = "unknown"};
}

#endif

/// The place of a name in the list; that of the last level for names that are not in it.
std::size_t place_of(std::string_view name) {
  std::size_t i = 0;
  while (i + 1 < kCpuLevelCount && kCpuLevels[i].name != name) ++i;
  return i;
}

CpuFeatures found_features() {
  const std::size_t most = place_of(platform::trusted_variable("TERN_CPU").value_or(""));
  CpuFeatures f = identified();
  for (std::size_t i = 1; i < kCpuLevelCount; ++i) {
    if (place_of(kCpuLevels[i].base) <= most && has_instructions(kCpuLevels[i].name)) f.levels |= 1u << i;
  }
  return f;
}

}  // namespace

const CpuFeatures& cpu_features() {
  static const CpuFeatures features = found_features();
  return features;
}

std::optional<CpuLevel> cpu_level(CpuKind kind) {
  const std::uint32_t levels = cpu_features().levels & kCpuKindLevels[static_cast<std::size_t>(kind)];
  if (levels == 0) return std::nullopt;
  return static_cast<CpuLevel>(31 - __builtin_clz(levels));
}

CpuLevel cpu_level() {
  static const CpuLevel level = *cpu_level(CpuKind::vectors);
  return level;
}

std::string_view name_of(CpuLevel level) {
  return kCpuLevels[static_cast<std::size_t>(level)].name;
}

}  // namespace tern
