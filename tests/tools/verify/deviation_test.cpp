// Deviations against values worked out by hand.
#include "tools/verify/deviation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace tern {
namespace {

constexpr double kDeviationInfinite = std::numeric_limits<double>::infinity();
const double kDeviationNaN = std::nan("");

Deviation deviation_between(const std::vector<std::pair<double, double>>& reference_and_actual) {
  Deviation d;
  for (const auto& [r, a] : reference_and_actual) d.add(r, a);
  return d;
}

TEST(Deviation, TwoVectors) {
  const Deviation d = deviation_between({{3, 3}, {-4, -5}});
  EXPECT_DOUBLE_EQ(d.cosine(), (9 + 20) / (5 * std::sqrt(34)));
  EXPECT_DOUBLE_EQ(d.sqnr(), 10 * std::log10(25.0 / 1));
  EXPECT_DOUBLE_EQ(d.largest_error, 1);
  EXPECT_DOUBLE_EQ(d.relative(), 0.25);
  EXPECT_EQ(d.elements, 2);
  EXPECT_EQ(d.unequal, 1);
}

/// Noise of a tenth of each element gives 20 dB, noise of a hundredth 40 dB.
TEST(Deviation, NoiseOfKnownSize) {
  for (const double share : {0.1, 0.01}) {
    Deviation d;
    for (int i = 1; i <= 1000; ++i) d.add(i, i * (1 + (i % 2 == 0 ? share : -share)));
    EXPECT_NEAR(d.sqnr(), -20 * std::log10(share), 1e-9);
    EXPECT_NEAR(d.cosine(), 1 / std::sqrt(1 + share * share), 1e-4);
    EXPECT_NEAR(d.relative(), share, 1e-12);
  }
}

TEST(Deviation, EqualVectors) {
  const Deviation d = deviation_between({{0.1, 0.1}, {1e30, 1e30}, {0.0, -0.0}});
  EXPECT_TRUE(d.exact());
  EXPECT_EQ(d.cosine(), 1);
  EXPECT_EQ(d.sqnr(), kDeviationInfinite);
  EXPECT_EQ(d.relative(), 0);
}

TEST(Deviation, NothingIsDividedByZero) {
  const Deviation none, zeros = deviation_between({{0, 0}, {0, 0}}), lost = deviation_between({{2, 0}}),
                        made = deviation_between({{0, 2}});
  for (const Deviation& d : {none, zeros}) {
    EXPECT_EQ(d.cosine(), 1);
    EXPECT_EQ(d.sqnr(), kDeviationInfinite);
    EXPECT_EQ(d.relative(), 0);
    EXPECT_FALSE(d.agreement());
  }
  EXPECT_EQ(lost.cosine(), 0);
  EXPECT_EQ(lost.sqnr(), 0);
  EXPECT_EQ(made.cosine(), 0);
  EXPECT_EQ(made.sqnr(), -kDeviationInfinite);
  EXPECT_EQ(made.relative(), kDeviationInfinite);
}

TEST(Deviation, OppositeVectors) {
  EXPECT_DOUBLE_EQ(deviation_between({{1, -1}, {2, -2}}).cosine(), -1);
  EXPECT_DOUBLE_EQ(deviation_between({{1, 0}, {0, 1}}).cosine(), 0);
}

TEST(Deviation, WhatIsNotFiniteCountsApart) {
  const Deviation same =
      deviation_between({{kDeviationNaN, -kDeviationNaN}, {kDeviationInfinite, kDeviationInfinite}, {3, 3}});
  EXPECT_TRUE(same.exact());
  EXPECT_EQ(same.not_finite, 0);
  const Deviation d = deviation_between({{kDeviationNaN, 1},
                                         {1, kDeviationNaN},
                                         {kDeviationInfinite, -kDeviationInfinite},
                                         {1, kDeviationInfinite},
                                         {4, 2}});
  EXPECT_EQ(d.not_finite, 4);
  EXPECT_EQ(d.unequal, 5);
  EXPECT_EQ(d.elements, 5);
  EXPECT_DOUBLE_EQ(d.largest_error, 2);
  EXPECT_DOUBLE_EQ(d.sqnr(), 10 * std::log10(16.0 / 4));
}

TEST(Deviation, SquaresNeitherOverflowNorVanish) {
  for (const double scale : {1e300, 1e-300}) {
    const Deviation d = deviation_between({{3 * scale, 3 * scale}, {4 * scale, 5 * scale}});
    EXPECT_NEAR(d.sqnr(), 10 * std::log10(25), 1e-9) << scale;
    EXPECT_NEAR(d.cosine(), 29 / (5 * std::sqrt(34)), 1e-9) << scale;
  }
}

TEST(Deviation, CallsAddUp) {
  Deviation sum = deviation_between({{3, 3}});
  sum += deviation_between({{-4, -5}});
  const Deviation whole = deviation_between({{3, 3}, {-4, -5}});
  EXPECT_DOUBLE_EQ(sum.sqnr(), whole.sqnr());
  EXPECT_DOUBLE_EQ(sum.cosine(), whole.cosine());
  EXPECT_DOUBLE_EQ(sum.relative(), whole.relative());
  EXPECT_EQ(sum.elements, 2);
}

double agreement(const std::vector<double>& reference, const std::vector<double>& actual, std::int64_t columns) {
  Deviation d;
  FirstAnswers answers(columns);
  for (std::size_t i = 0; i < reference.size(); ++i) answers.add(reference[i], actual[i], d);
  return d.agreement().value();
}

TEST(FirstAnswers, RowByRow) {
  EXPECT_EQ(agreement({1, 2, 3, 9, 8, 7}, {1, 2, 4, 7, 9, 8}, 3), 0.5);
  EXPECT_EQ(agreement({-1, -2, -5, -3}, {-2, -3, -9, -1}, 2), 1);
}

TEST(FirstAnswers, TheFirstOfEqualNumbers) {
  EXPECT_EQ(agreement({5, 5, 1}, {7, 6, 1}, 3), 1);
  EXPECT_EQ(agreement({5, 5, 1}, {6, 7, 1}, 3), 0);
}

TEST(FirstAnswers, NaNIsTheLargest) {
  EXPECT_EQ(agreement({1, kDeviationNaN, 3}, {9, kDeviationNaN, kDeviationNaN}, 3), 1);
  EXPECT_EQ(agreement({1, kDeviationNaN, 3}, {1, 2, 3}, 3), 0);
}

}  // namespace
}  // namespace tern
