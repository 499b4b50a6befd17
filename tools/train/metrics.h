// Loss and accuracy on held-out samples.
#pragma once

#include <tern/tern.h>

#include <cstdint>
#include <optional>
#include <span>

#include "tools/train/data.h"
#include "tools/train/method.h"
#include "tools/train/ranks.h"
#include "tools/train/scores.h"

namespace tern::train {

struct Metrics {
  double loss = 0;                 ///< mean over samples
  std::vector<double> scores;      ///< values of Scores, in its order
  std::optional<double> accuracy;  ///< 0 to 1, for losses over classes; targets below 0 do not count
};

/// Runs `loss` on these samples, `batch` at a time. A program of a fixed batch skips the remainder. Ranks alternate
/// between the batches, and all get the totals.
Metrics evaluate(Session& session, const Methods& methods, TrainingData& data, std::span<const std::uint64_t> samples,
                 std::uint64_t batch, const Ranks& ranks, Scores scores = {});

}  // namespace tern::train
