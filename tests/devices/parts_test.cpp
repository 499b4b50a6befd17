// Division of chosen nodes into parts, each runnable as a unit.
#include "runtime/devices/parts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

namespace tern {
namespace {

using NodeInputs = std::vector<std::vector<std::uint32_t>>;
using Numbers = std::vector<std::int32_t>;

/// 0, 1, ... in the order of the first node of each part.
Numbers divided(const NodeInputs& uses, const Numbers& groups) {
  Numbers parts = divide_into_parts(uses, groups);
  std::map<std::int32_t, std::int32_t> names;
  for (std::int32_t& p : parts) {
    if (p >= 0) p = names.try_emplace(p, static_cast<std::int32_t>(names.size())).first->second;
  }
  return parts;
}

TEST(Parts, AChainIsOne) {
  EXPECT_EQ(divided({{}, {0}, {1}}, {0, 0, 0}), (Numbers{0, 0, 0}));
}

TEST(Parts, NodesThatDoNotHangTogetherAreApartUntilSomethingJoinsThem) {
  EXPECT_EQ(divided({{}, {}}, {0, 0}), (Numbers{0, 1}));
  EXPECT_EQ(divided({{}, {}, {0, 1}}, {0, 0, 0}), (Numbers{0, 0, 0}));
}

TEST(Parts, GroupsAreApart) {
  EXPECT_EQ(divided({{}, {0}, {1}}, {0, 1, 1}), (Numbers{0, 1, 1}));
}

TEST(Parts, ANodeOutsideBetweenTwoInsideDividesThem) {
  // 0 -> 1 (outside) -> 2, and 0 -> 2.
  EXPECT_EQ(divided({{}, {0}, {0, 1}}, {0, -1, 0}), (Numbers{0, -1, 1}));
}

TEST(Parts, TwoPartsNeverNeedEachOther) {
  // Groups a: 0, 3 and b: 1, 2, with 0 -> 1 and 2 -> 3; 1 -> 2, 0 -> 3 hold each together.
  const Numbers parts = divided({{}, {0}, {1}, {2, 0}}, {0, 1, 1, 0});
  EXPECT_EQ(parts, (Numbers{0, 1, 1, 2}));
}

/// Simulates the planner's order, each part at its last node, and checks that all operands are ready.
void expect_runnable(const NodeInputs& uses, const Numbers& groups, const Numbers& parts) {
  std::vector<bool> done(uses.size());
  const auto run = [&](std::size_t i) {
    for (std::uint32_t u : uses[i]) EXPECT_TRUE(done[u]) << "node " << i << " needs " << u;
    done[i] = true;
  };
  for (std::size_t i = 0; i < uses.size(); ++i) {
    if (parts[i] < 0) {
      run(i);
      continue;
    }
    EXPECT_GE(groups[i], 0);
    const bool last =
        std::find(parts.begin() + static_cast<std::ptrdiff_t>(i) + 1, parts.end(), parts[i]) == parts.end();
    if (!last) continue;
    // A part is a single launch: operands from outside are ready before the launch.
    for (std::size_t k = 0; k <= i; ++k) {
      if (parts[k] != parts[i]) continue;
      EXPECT_EQ(groups[k], groups[i]);
      for (std::uint32_t u : uses[k]) EXPECT_TRUE(parts[u] == parts[i] || done[u]);
    }
    for (std::size_t k = 0; k <= i; ++k) {
      if (parts[k] == parts[i]) run(k);
    }
  }
  EXPECT_TRUE(std::ranges::all_of(done, [](bool d) { return d; }));
}

TEST(Parts, WhateverTheGraphEveryPartCanRunAsOne) {
  std::mt19937 random(11);
  int joined = 0;
  for (int round = 0; round < 3000; ++round) {
    const std::size_t count = 1 + random() % 24;
    NodeInputs uses(count);
    Numbers groups;
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t k = random() % 3; k > 0 && i > 0; --k)
        uses[i].push_back(static_cast<std::uint32_t>(i - 1 - random() % std::min<std::size_t>(i, 5)));
      groups.push_back(static_cast<std::int32_t>(random() % 4) - 1);
      if (random() % 2 == 0) groups.back() = 0;
    }
    const Numbers parts = divide_into_parts(uses, groups);
    expect_runnable(uses, groups, parts);
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_EQ(parts[i] >= 0, groups[i] >= 0);
      joined += parts[i] >= 0 && std::ranges::count(parts, parts[i]) > 1 ? 1 : 0;
    }
  }
  EXPECT_GT(joined, 10'000);
}

}  // namespace
}  // namespace tern
