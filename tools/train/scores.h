// Metrics of held-out samples besides loss and accuracy (`tern train --metric`), with scikit-learn's definitions.
#pragma once

#include <tern/tern.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tools/train/ranks.h"

namespace tern::train {

/// | name | value |
/// |---|---|
/// | f1 | mean over the classes of 2 TP / (2 TP + FP + FN); classes without targets and predictions do not count |
/// | iou | mean over the classes of TP / (TP + FP + FN) (Jaccard index) |
/// | auc | area under the ROC curve; of several classes the mean of one class against the rest, by softmax; of logits
/// of |     | bce_with_logits the mean over the columns | | perplexity | exp(loss) | | mae, rmse, r2 | mean absolute
/// error, root of the mean square error, coefficient of determination, over all numbers |
class Scores {
 public:
  Scores() = default;
  /// `class_axis`: of losses over classes. Fails (invalid_argument) for unknown names, and for metrics that do not fit
  /// the loss.
  Scores(std::vector<std::string> names, std::optional<std::int64_t> class_axis, const std::string& loss);

  const std::vector<std::string>& names() const { return names_; }
  bool has_scores() const { return !names_.empty(); }
  /// Adds a batch. Targets below 0 of classes do not count. Fails (invalid_argument) if the sizes do not match.
  void add(const Tensor& prediction, const Tensor& target);
  /// Values in the order of names(), NaN if undefined; `loss` is the mean loss of all ranks. Ranks have the same
  /// totals, except for auc, which needs all samples on one rank.
  std::vector<double> values(double loss, const Ranks& ranks);

 private:
  void add_classes(const Tensor& prediction, const Tensor& target);
  void add_numbers(const Tensor& prediction, const Tensor& target);
  double auc() const;

  std::vector<std::string> names_;
  std::optional<std::int64_t> class_axis_;
  bool wants_auc_ = false;
  std::size_t columns_ = 0;                           ///< classes, or columns of logits
  std::vector<double> hits_, false_alarms_, misses_;  ///< TP, FP, FN of each class
  std::vector<std::vector<double>> scores_;           ///< scores for auc, one list per column
  std::vector<std::vector<std::int64_t>> labels_;     ///< 1: positive
  double count_ = 0, absolute_ = 0, square_ = 0, sum_ = 0, sum_of_squares_ = 0;
};

/// Area under the ROC curve, ties counted half; NaN without positive or negative labels.
double area_under_curve(std::span<const double> scores, std::span<const std::int64_t> labels);

}  // namespace tern::train
