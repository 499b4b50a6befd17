// The levels of this processor against the flags that Linux lists.
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

TEST(CpuFeatures, TheLeastLevelServesEverywhere) {
  EXPECT_TRUE(cpu_features().has(CpuLevel{}));
  EXPECT_TRUE(cpu_features().has(cpu_level()));
  EXPECT_EQ(is_baseline_cpu(), cpu_level() == CpuLevel{});
  EXPECT_FALSE(cpu_features().model.empty());
}

TEST(CpuFeatures, FunctionsOfLevelsSumAlike) {
  std::vector<int> numbers(1000, 3);
  int sum = 0;
  at_cpu_level([&](auto) __attribute__((always_inline)) {
    for (const int n : numbers) sum += n;
  });
  EXPECT_EQ(sum, 3000);
}

}  // namespace
}  // namespace tern
