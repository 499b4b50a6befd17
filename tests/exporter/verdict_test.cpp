// Rules for a faster algorithm: artificial measurements with an obvious answer.
#include "exporter/tune/verdict.h"

#include <gtest/gtest.h>

namespace tern {
namespace {

PairedRuns paired_runs(std::vector<double> before, std::vector<double> after, std::vector<double> nodes_before,
                       std::vector<double> nodes_after) {
  return {{std::move(before), std::move(nodes_before)}, {std::move(after), std::move(nodes_after)}};
}

TEST(Verdict, NodesThatSaveMuchAreBetter) {
  // Times jump from turn to turn, but each turn saves half a second of ten.
  EXPECT_TRUE(is_better(
      paired_runs({10, 11, 10, 12, 10}, {9.5, 10.5, 9.5, 11.5, 9.5}, {3, 4, 2, 5, 3}, {2.5, 3.5, 1.5, 4.5, 2.5})));
}

TEST(Verdict, GainsThatComeAndGoAreNot) {
  EXPECT_FALSE(is_better(paired_runs({10, 10, 10, 10, 10}, {9, 11, 9, 11, 9}, {2, 2, 2, 2, 2}, {1, 3, 1, 3, 1})));
}

TEST(Verdict, AWholeThatIsFasterByChanceIsNot) {
  EXPECT_FALSE(
      is_better(paired_runs({10, 10, 10, 10, 10}, {8, 8, 8, 8, 8}, {1, 1, 1, 1, 1}, {1.1, 1.1, 1.1, 1.1, 1.1})));
}

TEST(Verdict, ALittleIsBetterOutsideTheSpreadAlone) {
  const std::vector<double> whole{10, 10.2, 10.1, 10, 10.3}, nodes{1, 1.02, 1, 1.02, 1};
  EXPECT_TRUE(is_better(paired_runs(whole, whole, nodes, {0.95, 0.97, 0.95, 0.97, 0.95})));
  EXPECT_FALSE(is_better(paired_runs(whole, whole, {1, 1.2, 1, 1.2, 1}, {0.95, 1.15, 0.95, 1.15, 0.95})));
}

TEST(Verdict, NotWhereTheWholeIsSlower) {
  EXPECT_FALSE(is_better(paired_runs({10, 10, 10}, {10.2, 10.2, 10.2}, {3, 3, 3}, {2, 2, 2})));
}

TEST(Verdict, TwoTurnsSayNothing) {
  EXPECT_FALSE(is_better(paired_runs({10, 10}, {1, 1}, {1, 1}, {0.1, 0.1})));
  EXPECT_FALSE(is_hopeless(paired_runs({10, 10}, {10.5, 10.5}, {1, 1}, {1, 1})));
  EXPECT_FALSE(is_hopeless(paired_runs({1}, {10}, {1}, {1})));
}

TEST(Verdict, OnlyWhatIsSlowerEachTimeIsHopeless) {
  EXPECT_TRUE(is_hopeless(paired_runs({10, 10, 10}, {11, 10.5, 12}, {1, 1, 1}, {1, 1, 1})));
  EXPECT_TRUE(is_hopeless(paired_runs({10, 10}, {11.5, 12}, {1, 1}, {1, 1})));
  EXPECT_FALSE(is_hopeless(paired_runs({10, 10, 10}, {11, 9.9, 12}, {1, 1, 1}, {1, 1, 1})));
  EXPECT_FALSE(is_hopeless(paired_runs({10, 10, 10}, {10.1, 10.1, 10.1}, {1, 1, 1}, {1, 1, 1})));
}

TEST(Verdict, Median) {
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({}), 0);
}

}  // namespace
}  // namespace tern
