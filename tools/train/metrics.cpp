#include "tools/train/metrics.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <vector>

#include "dtypes/convert.h"

namespace tern::train {
namespace {

struct Hits {
  std::uint64_t correct = 0, total = 0;
};

/// Compares the largest of each class axis with the target.
void count(const Tensor& prediction, const Tensor& target, std::int64_t class_axis, Hits& hits) {
  const std::vector<std::int64_t>& sizes = prediction.sizes();
  const auto axis = static_cast<std::size_t>(class_axis < 0 ? class_axis + std::ssize(sizes) : class_axis);
  if (axis >= sizes.size() || target.dtype() != DType::i64) return;
  std::vector<double> values(static_cast<std::size_t>(prediction.numel()));
  convert(prediction.data(), prediction.dtype(), values.data(), DType::f64, prediction.numel());
  std::int64_t inner = 1;
  for (std::size_t d = axis + 1; d < sizes.size(); ++d) inner *= sizes[d];
  const std::int64_t classes = sizes[axis];
  const auto labels = target.span<const std::int64_t>();
  // Skips a custom loss with mismatched prediction and target.
  if (classes < 1 || prediction.numel() / classes != std::ssize(labels)) return;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] < 0) continue;
    const auto position = static_cast<std::int64_t>(i);
    const std::int64_t first = position / inner * classes * inner + position % inner;
    std::int64_t best = 0;
    for (std::int64_t c = 1; c < classes; ++c) {
      if (values[static_cast<std::size_t>(first + c * inner)] > values[static_cast<std::size_t>(first + best * inner)])
        best = c;
    }
    hits.correct += best == labels[i] ? 1 : 0;
    ++hits.total;
  }
}

/// Adds the samples' names to an error.
template <typename Samples>
const std::vector<Tensor>& run_loss(Session& session, const FunctionInfo& loss, const std::vector<Tensor>& inputs,
                                    const Samples& samples) {
  try {
    return session.run(loss.name, inputs);
  } catch (const Error& e) {
    if (e.code() != ErrorCode::runtime) throw;
    fail(e.code(), fmt::format("held-out {}: {}", samples(), e.what()));
  }
}

}  // namespace

Metrics evaluate(Session& session, const Methods& methods, TrainingData& data, std::span<const std::uint64_t> samples,
                 std::uint64_t batch, const Ranks& ranks, Scores scores) {
  double sum = 0;
  std::uint64_t taken = 0;
  Hits hits;
  for (std::uint64_t turn = 0; !samples.empty(); ++turn) {
    const auto now = samples.first(std::min<std::size_t>(batch, samples.size()));
    samples = samples.subspan(now.size());
    if (data.fixed_batch() > 0 && now.size() != batch) break;
    if (turn % static_cast<std::uint64_t>(ranks.size()) != static_cast<std::uint64_t>(ranks.rank())) continue;
    const std::vector<Tensor>& inputs = data.batch(now);
    const std::vector<Tensor>& results =
        run_loss(session, *methods.loss, inputs, [&] { return data.samples_text(now); });
    double loss = 0;
    convert(results.at(0).data(), results[0].dtype(), &loss, DType::f64, 1);
    sum += loss * static_cast<double>(now.size());
    taken += now.size();
    if (scores.has_scores() && results.size() > 1) scores.add(results[1], inputs.back());
    if (methods.class_axis && results.size() > 1) count(results[1], inputs.back(), *methods.class_axis, hits);
  }
  double sums[] = {sum, static_cast<double>(taken), static_cast<double>(hits.correct), static_cast<double>(hits.total)};
  ranks.add(sums);
  Metrics m;
  if (sums[1] > 0) m.loss = sums[0] / sums[1];
  if (sums[3] > 0) m.accuracy = sums[2] / sums[3];
  if (scores.has_scores()) m.scores = scores.values(m.loss, ranks);
  return m;
}

}  // namespace tern::train
