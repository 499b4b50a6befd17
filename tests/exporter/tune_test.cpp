// Tuning of small programs: candidates, reports, and limits of time and inputs. Speed depends on the machine;
// verdict_test.cpp has the rule.
#include "exporter/tune/tune.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/cpu/processor.h"
#include "tests/random_floats.h"
#include "tests/runtime/support.h"

namespace tern {
namespace {

using testing::TestProgram;

constexpr std::int64_t kTuneDepth = 64, kTuneColumns = 48;

/// x [rows, 64] times a weight, with dynamic rows.
TestProgram product(std::int64_t lower, std::int64_t upper) {
  TestProgram p;
  const Dim rows = p.b().pool().symbol("rows", lower, upper);
  const ValueId w = p.state({kTuneColumns, kTuneDepth}, test::random_floats(kTuneColumns * kTuneDepth, 1), false),
                x = p.input(DType::f32, {rows, kTuneDepth});
  p.output(p.b().matmul(x, p.b().transpose(w, 0, 1)));
  return p;
}

TEST(Tune, TriesTheWaysOfAProduct) {
  const TestProgram p = product(1, 100);
  TuneOptions options;
  options.sizes = {{"rows", 40}};
  std::vector<std::string> tried;
  double before = 0;
  options.on_progress = [&](double share, const std::string& what) {
    EXPECT_GE(share, before);
    before = share;
    tried.push_back(what);
  };
  const TuneReport report = tune(p.model(), options);
  EXPECT_TRUE(report.complete);
  EXPECT_TRUE(report.left_out.empty());
  EXPECT_GT(report.trials, 0u);
  EXPECT_GT(report.seconds_before, 0);
  EXPECT_LE(report.seconds_after, report.seconds_before);
  EXPECT_EQ(report.tuning.processor, cpu::processor());
  EXPECT_NE(std::ranges::find(tried, "1 x matmul [40, 64] by [64, 48]: blocks"), tried.end());
  for (const Tuning::Choice& c : report.tuning.choices)
    EXPECT_NE(algorithm_of(c.algorithm), AlgorithmChoice{}) << c.algorithm;
}

TEST(Tune, StopsWhenItsTimeIsUp) {
  const TestProgram p = product(1, 100);
  TuneOptions options;
  options.seconds = 0;
  const TuneReport report = tune(p.model(), options);
  EXPECT_FALSE(report.complete);
  EXPECT_EQ(report.trials, 0u);
  EXPECT_TRUE(report.tuning.choices.empty());
}

TEST(Tune, LeavesOutWhatDoesNotRun) {
  const TestProgram p = product(1, 100);
  TuneOptions options;
  options.sizes = {{"rows", 1000}};  // more than the program was exported for
  const TuneReport report = tune(p.model(), options);
  ASSERT_EQ(report.left_out.size(), 1u);
  EXPECT_NE(report.left_out[0].find("rows"), std::string::npos) << report.left_out[0];
  EXPECT_EQ(report.trials, 0u);
  EXPECT_TRUE(report.tuning.choices.empty());
}

}  // namespace
}  // namespace tern
