// Learning rates, against PyTorch's schedulers: values of torch 2.12 with the rate 0.1.
#include "tools/train/schedule.h"

#include <gtest/gtest.h>

#include "tests/tools/support.h"

namespace tern::train {
namespace {

using test::error_of;

TEST(TrainSchedule, Cosine) {
  // CosineAnnealingLR(optimizer, T_max=10, eta_min=0.01)
  const double expected[] = {0.1,  0.09779754323328192, 0.0914057647468726, 0.08145033635316129, 0.06890576474687264,
                             0.055};
  const LearningRateSchedule s("cosine:0.1", 0.1, 10, 0);
  for (std::uint64_t i = 0; i < std::size(expected); ++i) EXPECT_NEAR(s.rate(i), expected[i], 1e-15) << i;
  EXPECT_NEAR(s.rate(10), 0.01, 1e-15);
  EXPECT_NEAR(LearningRateSchedule("cosine", 0.1, 10, 0).rate(5), 0.05, 1e-15);
}

TEST(TrainSchedule, Linear) {
  // LinearLR(optimizer, start_factor=1, end_factor=0.25, total_iters=4)
  const double expected[] = {0.1, 0.08125, 0.0625, 0.04375, 0.025};
  const LearningRateSchedule s("linear:0.25", 0.1, 4, 0);
  for (std::uint64_t i = 0; i < std::size(expected); ++i) EXPECT_NEAR(s.rate(i), expected[i], 1e-15) << i;
}

TEST(TrainSchedule, Step) {
  // StepLR(optimizer, step_size=3, gamma=0.5)
  const double expected[] = {0.1, 0.1, 0.1, 0.05, 0.05, 0.05, 0.025};
  const LearningRateSchedule s("step:3:0.5", 0.1, 100, 0);
  for (std::uint64_t i = 0; i < std::size(expected); ++i) EXPECT_NEAR(s.rate(i), expected[i], 1e-15) << i;
  EXPECT_NEAR(LearningRateSchedule("step:2", 0.1, 100, 0).rate(2), 0.01, 1e-15);
}

TEST(TrainSchedule, WarmUpComesFirst) {
  const LearningRateSchedule s("linear", 1, 12, 2);
  EXPECT_DOUBLE_EQ(s.rate(0), 1.0 / 3);
  EXPECT_DOUBLE_EQ(s.rate(1), 2.0 / 3);
  EXPECT_DOUBLE_EQ(s.rate(2), 1);
  EXPECT_DOUBLE_EQ(s.rate(7), 0.5);
}

TEST(TrainSchedule, Refuses) {
  for (const char* text :
       {"", "Cosine", "constant:1", "cosine:2", "cosine:x", "step", "step:0", "step:3:0.1:1", "linear:"})
    EXPECT_NE(
        error_of([&] { LearningRateSchedule(text, 1, 1, 0); }, ErrorCode::invalid_argument).find("--schedule takes"),
        std::string::npos)
        << text;
}

}  // namespace
}  // namespace tern::train
