// Gains of --precision auto and --tune: their text and JSON, and a measurement with an error worked out by hand.
#include "tools/gains.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "tests/tools/verify/support.h"

namespace tern {
namespace {

TEST(Gains, TextNamesOptionsThatTakeLessTime) {
  Gains gains;
  EXPECT_EQ(gains_text(gains), "");
  gains.precision = {Precision::bfloat16, 0.02, 0.011, 46.25, 0.004};
  EXPECT_EQ(
      gains_text(gains),
      "  --precision auto          would take 0.55 of the time: 11.000 ms for 20.000, with 46.2 dB and an error of "
      "0.4 % of the largest element\n");
  gains.precision->seconds_after = 0.0195;  // 2.5 % less
  EXPECT_EQ(gains_text(gains), "");
  gains.tune = {0.01, 0.009, 1, false};
  EXPECT_EQ(gains_text(gains),
            "  tern export --tune        would take 0.90 of the time: 9.000 ms for 10.000, with other algorithms for 1 "
            "kind of nodes; more were left\n");
}

TEST(Gains, JsonHasEveryMeasuredGain) {
  Gains gains;
  EXPECT_EQ(gains_json(gains).dump(), R"({"precision":null,"tune":null})");
  gains.precision = {Precision::bfloat16, 0.02, 0.03, std::numeric_limits<double>::infinity(), 0};
  const nlohmann::ordered_json json = gains_json(gains);
  EXPECT_EQ(json["precision"]["type"], "bfloat16");
  EXPECT_EQ(json["precision"]["before_ms"], 20.0);
  EXPECT_EQ(json["precision"]["after_ms"], 30.0);
  EXPECT_TRUE(json["precision"]["sqnr_db"].is_null());
}

/// A row times a weight of 1 + 2^-9, whose bfloat16 is 1 on every processor: 64.125 becomes 64.
TEST(Gains, MeasuresTimeAndErrorOfAPrecision) {
  constexpr std::int64_t kGainsWidth = 64;
  testing::TestProgram p;
  const ValueId x = p.input(DType::f32, {1, kGainsWidth});
  const std::vector<float> weight(kGainsWidth * kGainsWidth, 1 + 1 / 512.0F);
  p.output(p.b().matmul(x, p.b().transpose(p.state({kGainsWidth, kGainsWidth}, weight, false), 0, 1)));
  const Side plain = test::sides_of(p, Precision::exported).test;
  const std::vector<Tensor> inputs = {testing::floats({1, kGainsWidth}, std::vector<float>(kGainsWidth, 1))};
  const auto gain = measure_precision(plain, Precision::bfloat16, inputs, 1e-5);
  ASSERT_TRUE(gain);
  EXPECT_EQ(gain->precision, Precision::bfloat16);
  EXPECT_NEAR(gain->sqnr, 20 * std::log10(64.125 / 0.125), 1e-3);
  EXPECT_NEAR(gain->largest_error, 0.125 / 64.125, 1e-9);
  EXPECT_GT(gain->seconds_before, 0);
  EXPECT_GT(gain->seconds_after, 0);
  EXPECT_FALSE(measure_precision(plain, Precision::bfloat16, inputs, 5)) << "a long run is not cheap";
  EXPECT_FALSE(measure_precision(plain, Precision::exported, inputs, 1e-5));
}

TEST(Gains, ChoiceOfGains) {
  testing::TestProgram p;
  const ValueId x = p.input(DType::f32, {4});
  p.output(p.b().expr("x + 1", {{"x", x}}, DType::f32));
  const Side plain = test::sides_of(p, Precision::exported).test;
  const std::vector<Tensor> inputs = {testing::floats({4}, {1, 2, 3, 4})};
  for (const GainsChoice choice : {GainsChoice::none, GainsChoice::cheap}) {
    const Gains gains = measure_gains(plain, choice, inputs, 1e-5);
    EXPECT_FALSE(gains.precision) << "without a product";
    EXPECT_FALSE(gains.tune);
  }
  const Gains all = measure_gains(plain, GainsChoice::full, inputs, 1e-5);
  ASSERT_TRUE(all.tune);
  EXPECT_EQ(all.tune->kinds, 0u);
  EXPECT_GT(all.tune->seconds_before, 0);
}

}  // namespace
}  // namespace tern
