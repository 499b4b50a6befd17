// Metrics of held-out samples, with the values that scikit-learn 1.9 gives for the same numbers.
#include "tools/train/scores.h"

#include <gtest/gtest.h>
#include <tern/error.h>

#include <cmath>

#include "tests/runtime/support.h"

namespace tern::train {
namespace {

const std::vector<float> kLogits = {1.5F,  0.5F,  0,     -1,   -0.75F, -2,   -1.75F, -2,    -1.5F, 1.25F,
                                    0.75F, 1.75F, 0,     0.5F, 2,      1,    0.5F,   0.25F, 0.25F, 1.75F,
                                    -1,    1.25F, 0.75F, -2,   -0.5F,  1.5F, 0.25F,  -2,    1.25F, 1};
const std::vector<std::int64_t> kLabels = {0, 1, 2, 1, 0, 2, 1, 1, 0, 1};

Tensor labels_of(std::vector<std::int64_t> values) {
  Tensor t(DType::i64, {static_cast<std::int64_t>(values.size())});
  std::ranges::copy(values, t.span<std::int64_t>().begin());
  return t;
}

TEST(TrainScores, OfThreeClasses) {
  Scores scores({"f1", "iou", "auc", "perplexity"}, 1, "cross_entropy");
  // Two batches.
  scores.add(testing::floats({4, 3}, {kLogits.begin(), kLogits.begin() + 12}), labels_of({0, 1, 2, 1}));
  scores.add(testing::floats({6, 3}, {kLogits.begin() + 12, kLogits.end()}), labels_of({0, 2, 1, 1, 0, 1}));
  const std::vector<double> values = scores.values(0.5, Ranks());
  EXPECT_NEAR(values.at(0), 0.4666666666666666, 1e-12);   // f1_score(average="macro")
  EXPECT_NEAR(values.at(1), 0.31666666666666665, 1e-12);  // jaccard_score(average="macro")
  EXPECT_NEAR(values.at(2), 0.5911904761904762, 1e-12);   // roc_auc_score(multi_class="ovr", average="macro")
  EXPECT_NEAR(values.at(3), std::exp(0.5), 1e-12);
}

TEST(TrainScores, IgnoreAbsentClassesAndTargetsBelowZero) {
  std::vector<float> logits = kLogits;
  std::vector<std::int64_t> labels = kLabels;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    logits[3 * i + 2] = -9;
    labels[i] = std::min<std::int64_t>(labels[i], 1);
  }
  logits.insert(logits.end(), {0, 0, 9});
  labels.push_back(-100);
  Scores scores({"f1"}, 1, "cross_entropy");
  scores.add(testing::floats({11, 3}, logits), labels_of(labels));
  EXPECT_NEAR(scores.values(0, Ranks()).at(0), 0.375, 1e-12);
}

TEST(TrainScores, OfTwoClassesHaveOneCurve) {
  std::vector<float> logits;
  std::vector<std::int64_t> labels;
  for (std::size_t i = 0; i < kLabels.size(); ++i) {
    logits.insert(logits.end(), {kLogits[3 * i], kLogits[3 * i + 1]});
    labels.push_back(kLabels[i] > 0 ? 1 : 0);
  }
  Scores scores({"auc", "f1"}, -1, "nll");
  scores.add(testing::floats({10, 2}, logits), labels_of(labels));
  const std::vector<double> values = scores.values(0, Ranks());
  EXPECT_NEAR(values.at(0), 0.4761904761904762, 1e-12);
  EXPECT_NEAR(values.at(1), 0.375, 1e-12);
}

TEST(TrainScores, OfColumnsAndNumbers) {
  const std::vector<float> targets = {0, 1, 1, 0, 0, 0, 0, 1, 1, 1, 0, 1, 1, 1, 1,
                                      1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 1, 0, 1, 0, 0};
  Scores columns({"auc"}, std::nullopt, "bce_with_logits");
  columns.add(testing::floats({10, 3}, kLogits), testing::floats({10, 3}, targets));
  EXPECT_NEAR(columns.values(0, Ranks()).at(0), 0.5341666666666667, 1e-12);
  const std::vector<float> numbers = {0.625F, 1.875F, 0.5F,   0.375F, 1.5F,   1.25F,  0,      0.125F, 0.75F,  1.75F,
                                      0.75F,  1.625F, 0.625F, 0.5F,   1.625F, 1.75F,  0.125F, 0,      1.375F, 0.625F,
                                      1.125F, 0.25F,  1.75F,  0.875F, 1.875F, 1.625F, 1.375F, 0.375F, 1.625F, 0};
  Scores regression({"mae", "rmse", "r2"}, std::nullopt, "mse");
  regression.add(testing::floats({10, 3}, kLogits), testing::floats({10, 3}, numbers));
  const std::vector<double> values = regression.values(0, Ranks());
  EXPECT_NEAR(values.at(0), 1.1791666666666667, 1e-12);
  EXPECT_NEAR(values.at(1), 1.4791960090986365, 1e-12);
  EXPECT_NEAR(values.at(2), -4.3518196101745295, 1e-12);
}

TEST(TrainScores, HaveNoCurveOfOneLabel) {
  const std::vector<double> scores = {1, 2};
  const std::vector<std::int64_t> labels = {1, 1};
  EXPECT_TRUE(std::isnan(area_under_curve(scores, labels)));
  const std::vector<double> nan = {std::nan(""), 1};
  EXPECT_TRUE(std::isnan(area_under_curve(nan, labels)));
}

TEST(TrainScores, AreRefusedForOtherLosses) {
  EXPECT_THROW(Scores({"f2"}, 1, "cross_entropy"), Error);
  EXPECT_THROW(Scores({"f1"}, std::nullopt, "mse"), Error);
  EXPECT_THROW(Scores({"auc"}, std::nullopt, "mse"), Error);
  EXPECT_THROW(Scores({"r2"}, 1, "cross_entropy"), Error);
  Scores scores({"f1"}, 1, "cross_entropy");
  EXPECT_THROW(scores.add(testing::floats({2, 3}, std::vector<float>(6)), labels_of({0, 3})), Error);
  EXPECT_THROW(scores.add(testing::floats({2, 3}, std::vector<float>(6)), labels_of({0})), Error);
}

}  // namespace
}  // namespace tern::train
