#include "tools/train/scores.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "dtypes/convert.h"
#include "tools/text.h"

namespace tern::train {
namespace {

constexpr double kUndefinedScore = std::numeric_limits<double>::quiet_NaN();

enum class ScoreInput : std::uint8_t { classes, ranking, loss, numbers };
struct ScoreRecord {
  std::string_view name;
  ScoreInput input;
};
constexpr ScoreRecord kScores[] = {{"f1", ScoreInput::classes},  {"iou", ScoreInput::classes},
                                   {"auc", ScoreInput::ranking}, {"perplexity", ScoreInput::loss},
                                   {"mae", ScoreInput::numbers}, {"rmse", ScoreInput::numbers},
                                   {"r2", ScoreInput::numbers}};

ScoreInput input_of(const std::string& name) {
  const auto found = std::ranges::find(kScores, name, &ScoreRecord::name);
  if (found != std::end(kScores)) return found->input;
  std::string names;
  for (const ScoreRecord& r : kScores) names += fmt::format("{}{}", names.empty() ? "" : ", ", r.name);
  fail(ErrorCode::invalid_argument, fmt::format("--metric takes {}, not '{}'", names, escape_name(name)));
}

std::vector<double> numbers_of(const Tensor& t) {
  std::vector<double> values(static_cast<std::size_t>(t.numel()));
  convert(t.data(), t.dtype(), values.data(), DType::f64, t.numel());
  return values;
}

[[noreturn]] void refuse_sizes() {
  fail(ErrorCode::invalid_argument, "--metric: the sizes of prediction and target do not match");
}

/// Mean over the classes with targets or predictions.
double class_mean(std::span<const double> hits, std::span<const double> false_alarms, std::span<const double> misses,
                  double weight_of_hits) {
  double sum = 0, count = 0;
  for (std::size_t c = 0; c < hits.size(); ++c) {
    const double others = false_alarms[c] + misses[c];
    if (hits[c] + others == 0) continue;
    sum += weight_of_hits * hits[c] / (weight_of_hits * hits[c] + others);
    ++count;
  }
  return count > 0 ? sum / count : kUndefinedScore;
}

}  // namespace

double area_under_curve(std::span<const double> scores, std::span<const std::int64_t> labels) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return scores[i]; });
  double positives = 0, rank_sum = 0;
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin;
    while (end < order.size() && scores[order[end]] == scores[order[begin]]) ++end;
    if (end == begin) return kUndefinedScore;                        // NaN equals nothing
    const double rank = (static_cast<double>(begin + end) + 1) / 2;  // mean of begin + 1 to end
    for (std::size_t i = begin; i < end; ++i) {
      if (labels[order[i]] == 0) continue;
      rank_sum += rank;
      ++positives;
    }
    begin = end;
  }
  const double negatives = static_cast<double>(order.size()) - positives;
  return positives == 0 || negatives == 0 ? kUndefinedScore
                                          : (rank_sum - positives * (positives + 1) / 2) / (positives * negatives);
}

Scores::Scores(std::vector<std::string> names, std::optional<std::int64_t> class_axis, const std::string& loss)
    : names_(std::move(names)), class_axis_(class_axis) {
  for (const std::string& name : names_) {
    const ScoreInput input = input_of(name);
    wants_auc_ = wants_auc_ || input == ScoreInput::ranking;
    if (input == ScoreInput::classes && !class_axis)
      fail(ErrorCode::invalid_argument,
           fmt::format("--metric {} needs a loss over classes: cross_entropy or nll", name));
    if (input == ScoreInput::ranking && !class_axis && loss != "bce_with_logits") {
      fail(ErrorCode::invalid_argument,
           fmt::format("--metric {} needs the loss cross_entropy, nll or bce_with_logits", name));
    }
    if (input == ScoreInput::numbers && (class_axis || loss.empty() || loss == "none"))
      fail(ErrorCode::invalid_argument,
           fmt::format("--metric {} needs a loss over numbers, such as mse, l1 or huber", name));
  }
}

void Scores::add(const Tensor& prediction, const Tensor& target) {
  if (class_axis_) {
    add_classes(prediction, target);
  } else {
    add_numbers(prediction, target);
  }
}

void Scores::add_classes(const Tensor& prediction, const Tensor& target) {
  const std::vector<std::int64_t>& sizes = prediction.sizes();
  const auto axis = static_cast<std::size_t>(*class_axis_ < 0 ? *class_axis_ + std::ssize(sizes) : *class_axis_);
  if (axis >= sizes.size() || target.dtype() != DType::i64 || sizes[axis] < 1) refuse_sizes();
  std::int64_t inner = 1;
  for (std::size_t d = axis + 1; d < sizes.size(); ++d) inner *= sizes[d];
  const auto classes = static_cast<std::size_t>(sizes[axis]);
  const auto labels = target.span<const std::int64_t>();
  if (prediction.numel() / sizes[axis] != std::ssize(labels)) refuse_sizes();
  columns_ = classes;
  for (std::vector<double>* counts : {&hits_, &false_alarms_, &misses_}) counts->resize(classes);
  if (wants_auc_) scores_.resize(classes), labels_.resize(classes);
  const std::vector<double> values = numbers_of(prediction);
  std::vector<double> row(classes);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] < 0) continue;
    const auto label = static_cast<std::size_t>(labels[i]);
    if (label >= classes) refuse_sizes();
    const auto position = static_cast<std::int64_t>(i);
    const auto first = static_cast<std::size_t>(position / inner * sizes[axis] * inner + position % inner);
    for (std::size_t c = 0; c < classes; ++c) row[c] = values[first + c * static_cast<std::size_t>(inner)];
    const auto best = static_cast<std::size_t>(std::ranges::max_element(row) - row.begin());
    if (best == label) {
      ++hits_[label];
    } else {
      ++false_alarms_[best];
      ++misses_[label];
    }
    if (!wants_auc_) continue;
    // Probabilities: one class is ranked over samples.
    const double most = row[best];
    double total = 0;
    for (double& x : row) total += x = std::exp(x - most);
    for (std::size_t c = 0; c < classes; ++c) {
      scores_[c].push_back(row[c] / total);
      labels_[c].push_back(c == label ? 1 : 0);
    }
  }
}

void Scores::add_numbers(const Tensor& prediction, const Tensor& target) {
  if (prediction.numel() != target.numel()) refuse_sizes();
  const std::vector<double> p = numbers_of(prediction), t = numbers_of(target);
  if (wants_auc_) {
    columns_ = prediction.sizes().size() < 2 ? 1 : static_cast<std::size_t>(prediction.sizes().back());
    scores_.resize(columns_), labels_.resize(columns_);
    for (std::size_t i = 0; i < p.size(); ++i) {
      scores_[i % columns_].push_back(p[i]);
      labels_[i % columns_].push_back(t[i] > 0.5 ? 1 : 0);
    }
  }
  for (std::size_t i = 0; i < p.size(); ++i) {
    const double error = p[i] - t[i];
    absolute_ += std::abs(error);
    square_ += error * error;
    sum_ += t[i];
    sum_of_squares_ += t[i] * t[i];
  }
  count_ += static_cast<double>(p.size());
}

/// Two classes have one curve; more have one for each.
double Scores::auc() const {
  if (class_axis_ && columns_ == 2) return area_under_curve(scores_[1], labels_[1]);
  double sum = 0;
  for (std::size_t c = 0; c < columns_; ++c) sum += area_under_curve(scores_[c], labels_[c]);
  return columns_ == 0 ? kUndefinedScore : sum / static_cast<double>(columns_);
}

std::vector<double> Scores::values(double loss, const Ranks& ranks) {
  if (!ranks.alone()) {
    if (wants_auc_) fail(ErrorCode::invalid_argument, "--metric auc needs all samples on one rank: leave out --group");
    // A rank without a batch does not know the number of classes.
    const std::uint64_t mine[] = {columns_};
    const std::vector<std::uint64_t> gathered = ranks.gather(mine);
    columns_ = static_cast<std::size_t>(*std::ranges::max_element(gathered));
    for (std::vector<double>* counts : {&hits_, &false_alarms_, &misses_}) {
      counts->resize(columns_);
      ranks.add(*counts);
    }
    double sums[] = {count_, absolute_, square_, sum_, sum_of_squares_};
    ranks.add(sums);
    count_ = sums[0], absolute_ = sums[1], square_ = sums[2], sum_ = sums[3], sum_of_squares_ = sums[4];
  }
  std::vector<double> all;
  for (const std::string& name : names_) {
    const double spread = sum_of_squares_ - sum_ * sum_ / count_;
    all.push_back(name == "f1"           ? class_mean(hits_, false_alarms_, misses_, 2)
                  : name == "iou"        ? class_mean(hits_, false_alarms_, misses_, 1)
                  : name == "auc"        ? auc()
                  : name == "perplexity" ? std::exp(loss)
                  : name == "mae"        ? absolute_ / count_
                  : name == "rmse"       ? std::sqrt(square_ / count_)
                                         : 1 - square_ / spread);
  }
  return all;
}

}  // namespace tern::train
