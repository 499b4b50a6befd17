// Messages between the ranks of a run.
#include "tools/train/ranks.h"

#include <gtest/gtest.h>

#include <thread>

namespace tern::train {
namespace {

TEST(TrainRanks, ARunThatContinuesAsksSoonWhetherToStop) {
  constexpr std::uint64_t kContinued = 1'000'000;
  const auto group = local_group(2, std::chrono::seconds(60));
  std::vector<int> stopped(2);
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < 2; ++r) {
    threads.emplace_back([&, r] {
      const Ranks ranks(group[r]);
      CommonStop stop(ranks, kContinued);
      EXPECT_EQ(stop(0, kContinued + 1), 0);
      // The interval grows at most twofold, even for fast steps: the signal comes from rank 1.
      for (std::uint64_t step = 2; step <= 3 && stopped[r] == 0; ++step)
        stopped[r] = stop(r == 1 ? 15 : 0, kContinued + step);
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(stopped, std::vector<int>({15, 15}));
}

TEST(TrainRanks, OtherSettingsAreNamed) {
  const auto group = local_group(2, std::chrono::seconds(60));
  std::string error;
  std::thread first([&] { Ranks(group[0]).require_same({{"seed", "1"}, {"batch", "2"}, {"threads", "1"}}); });
  try {
    Ranks(group[1]).require_same({{"seed", "3"}, {"batch", "4"}, {"threads", "2"}});
  } catch (const std::exception& e) {
    error = e.what();
  }
  first.join();
  EXPECT_NE(error.find(": seed: 1 on rank 0, 3 on rank 1; batch: 2 on rank 0, 4 on rank 1. "), std::string::npos)
      << error;
}

}  // namespace
}  // namespace tern::train
