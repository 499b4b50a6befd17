// The levels of this processor against the flags that Linux lists, and against identification registers of aarch64.
#include "dtypes/cpu_features.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "dtypes/levels.h"

#if defined(__aarch64__) && __has_include(<sys/auxv.h>)
#include <sys/auxv.h>
#endif

namespace tern {
namespace {

/// The flags of the first processor; empty if the system lists none.
std::set<std::string> listed_flags() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("flags", 0) != 0) continue;
    std::istringstream words(line.substr(line.find(':') + 1));
    return {std::istream_iterator<std::string>(words), {}};
  }
  return {};
}

TEST(CpuFeatures, HasTheLevelsOfListedFlags) {
  const std::set<std::string> flags = listed_flags();
  if (flags.empty() || std::getenv("TERN_CPU") != nullptr || TERN_CPU_LEVEL_COUNT == 1)
    GTEST_SKIP() << "no flags listed";
  const std::vector<std::pair<std::string, std::vector<std::string>>> needs{
      {"avx2", {"avx2", "fma", "f16c"}},
      {"avxvnni", {"avx2", "fma", "f16c", "avx_vnni"}},
      {"avx512", {"avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512vl", "avx512dq"}},
      {"avx512vnni", {"avx2", "avx512f", "avx512bw", "avx512vl", "avx512dq", "avx512_vnni"}},
      {"avx512vbmi", {"avx2", "avx512f", "avx512bw", "avx512vl", "avx512dq", "avx512_vnni", "avx512vbmi"}},
      {"avx512bf16", {"avx2", "avx512f", "avx512bw", "avx512vl", "avx512dq", "avx512_bf16"}}};
  std::size_t checked = 0;
#define TERN_LEVEL_COUNTED(level, base) +1
  constexpr unsigned kCount = 0 TERN_EACH_CPU_LEVEL(TERN_LEVEL_COUNTED);
  for (unsigned level = 0; level < kCount; ++level) {
    for (const auto& [name, all] : needs) {
      if (name_of(static_cast<CpuLevel>(level)) != name) continue;
      ++checked;
      const bool listed = std::ranges::all_of(all, [&](const std::string& f) { return flags.contains(f); });
      EXPECT_EQ(cpu_features().has(static_cast<CpuLevel>(level)), listed) << name;
    }
  }
  EXPECT_EQ(checked, needs.size());
}

#if defined(__aarch64__) && __has_include(<sys/auxv.h>)
/// The system gives processes the identification registers. Arm's Architecture Reference Manual has their fields.
TEST(CpuFeatures, HasTheLevelsOfIdentificationRegisters) {
  constexpr unsigned long kCanReadRegisters = 1UL << 11;
  if ((::getauxval(AT_HWCAP) & kCanReadRegisters) == 0 || std::getenv("TERN_CPU") != nullptr)
    GTEST_SKIP() << "no registers to read";
  std::uint64_t first = 0, second = 0;
  __asm__("mrs %0, S3_0_C0_C6_0" : "=r"(first));   // ID_AA64ISAR0_EL1
  __asm__("mrs %0, S3_0_C0_C6_1" : "=r"(second));  // ID_AA64ISAR1_EL1
  const auto field = [](std::uint64_t value, int lowest) { return (value >> lowest & 15) != 0; };
  const bool dots = field(first, 44);
  const std::vector<std::pair<std::string, bool>> expected{
      {"neon", true}, {"dotprod", dots}, {"i8mm", dots && field(second, 52)}, {"bf16", field(second, 44)}};
#define TERN_LEVEL_NUMBER(level, base) static_cast<unsigned>(CpuLevel::level),
  for (const unsigned level : {TERN_EACH_CPU_LEVEL(TERN_LEVEL_NUMBER)}) {
    const auto at = static_cast<CpuLevel>(level);
    const auto found = std::ranges::find(expected, name_of(at), &std::pair<std::string, bool>::first);
    ASSERT_NE(found, expected.end()) << name_of(at);
    EXPECT_EQ(cpu_features().has(at), found->second) << name_of(at);
  }
}
#endif

TEST(CpuFeatures, TheLeastLevelServesEverywhere) {
  EXPECT_TRUE(cpu_features().has(CpuLevel{}));
  EXPECT_TRUE(cpu_features().has(cpu_level()));
  EXPECT_EQ(is_baseline_cpu(), cpu_level() == CpuLevel{});
  EXPECT_FALSE(cpu_features().model.empty());
}

TEST(CpuFeatures, FunctionsOfLevelsSumAlike) {
  std::vector<int> numbers(1000, 3);
  int sum = 0;
  visit_cpu_level([&](auto) __attribute__((always_inline)) {
    for (const int n : numbers) sum += n;
  });
  EXPECT_EQ(sum, 3000);
}

}  // namespace
}  // namespace tern
